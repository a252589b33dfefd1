"""MiniWoB-v0: rules that read the page do 51 of its tasks, what has been done is paid, and copies replay."""

import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.vector import AsyncVectorEnv

import toolenvs
from tests.web.chromium.conftest import descendants
from toolenvs import loop
from toolenvs.agents.scripted import Scripted
from toolenvs.env import ToolEnv
from toolenvs.errors import PageError, TaskError
from toolenvs.protocols import Call
from toolenvs.rollout import collect
from toolenvs.tasks.generators.miniwob import TEXT
from toolenvs.tasks.task import Task
from toolenvs.web.chromium import miniwob

BLUEPRINT = toolenvs.load("MiniWoB-v0", timeout_s=60.0)


@pytest.fixture(scope="module")
def script() -> Iterator[ModuleType]:
    import importlib

    sys.path.insert(0, str(Path(__file__).parent))
    try:
        yield importlib.import_module("miniwob_script")
    finally:
        sys.path.remove(str(Path(__file__).parent))


def write(action: str, **arguments: Any) -> str:
    return BLUEPRINT.protocol.write_call(Call("miniwob", {"action": action, **arguments}))


def task(page: str, seed: int) -> Task:
    return Task(id=f"{page}/{seed}", question=f"{page}, seed {seed}", extra={"page": page, "seed": seed})


def test_rules_that_read_the_page_do_its_task(script: ModuleType) -> None:
    assert set(script.RULES) <= set(TEXT)
    tasks = [task(page, 17) for page in script.RULES]
    episodes = loop.run(collect(BLUEPRINT, script.agent(BLUEPRINT), tasks, concurrency=3))
    assert {episode.task: (episode.success, episode.reward, episode.ending) for episode in episodes} == {
        task.id: (1.0, 1.0, "done") for task in tasks
    }


def test_who_only_waits_fails_when_the_time_is_over() -> None:
    [episode] = loop.run(collect(BLUEPRINT, Scripted([write("wait")]), [task("enter-text", 0)]))
    assert (episode.ending, episode.reward, episode.success) == ("done", -1.0, 0.0)
    assert len(episode.turn_rewards) == 19  # and the 20th half second is the one in which the page was opened


@pytest.mark.parametrize(
    ("pays", "reward"),
    [("raw", lambda r: r == 0.1), ("discounted", lambda r: 0 < r < 0.1), ("success", lambda r: r == 0)],
)
def test_a_wrong_card_is_paid_as_the_page_does_and_is_no_success(pays: str, reward: Any) -> None:
    env = ToolEnv("MiniWoB-v0", timeout_s=60.0, pays=pays)
    cards = []
    for place in range(3):
        env.reset(options={"task": task("find-greatest", 1)})
        seen = env.step(write("click", element=place))[0]
        cards.append(int(seen.partition('card-value" "')[2].partition('"')[0]))
    env.reset(options={"task": task("find-greatest", 1)})
    worst = cards.index(min(cards))
    seen = env.step(write("click", element=worst))[0]
    submit = next(line for line in seen.splitlines() if "button" in line)
    _, paid, terminated, _, info = env.step(write("click", element=int(submit[1 : submit.index("]")])))
    assert terminated
    assert reward(paid)
    assert info["success"] == 0.0
    env.close()


def test_a_fork_replays_and_goes_its_own_way() -> None:
    env = ToolEnv("MiniWoB-v0", timeout_s=60.0)
    env.reset(options={"task": task("click-button-sequence", 5)})
    env.step(write("look"))
    before = env.step(write("click", element=0))[0]
    with pytest.warns(UserWarning, match="Chromium .* cannot be copied.*run again"):
        [copy] = env.fork()
    assert copy.step(write("look"))[0] == env.step(write("look"))[0] == before
    assert copy.step(write("click", element=1))[1:4] == (1.0, True, False)
    assert env.step(write("look"))[0] == before
    for one in (env, copy):
        one.close()


def test_a_killed_browser_is_infrastructure_and_the_next_episode_has_a_new_one() -> None:
    env = ToolEnv("MiniWoB-v0", timeout_s=60.0)
    for _ in range(2):
        env.reset(options={"task": task("click-test", 0)})
        assert env.step(write("look"))[0]
        for pid, _ in descendants(os.getpid()):
            with contextlib.suppress(OSError):
                if b'"memory_mb": 1024' in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)
        text, reward, terminated, truncated, info = env.step(write("click", element=0))
        assert (text, reward, terminated, truncated) == ("", 0.0, False, True)
        assert (info["ending"], info["success"]) == ("infrastructure", None)
        assert "click-test" in info["fault"]
    env.reset(options={"task": task("click-test", 0)})
    assert env.step(write("click", element=0))[1] == 1.0
    env.close()


def test_episodes_at_once_have_pages_of_their_own() -> None:
    names = ["click-test-2", "click-color", "enter-text", "click-test-2"]
    tasks = [task(name, seed) for seed, name in enumerate(names)]
    together = loop.run(collect(BLUEPRINT, Scripted([write("look"), write("wait")]), tasks, concurrency=4))
    alone = [loop.run(collect(BLUEPRINT, Scripted([write("look"), write("wait")]), [one]))[0] for one in tasks]
    assert [one.transcript for one in together] == [one.transcript for one in alone]
    assert len({one.transcript.text for one in together}) == 4


def test_the_default_pages_are_of_the_package_and_each_is_drawn() -> None:
    assert set(TEXT) <= set(miniwob.tasks())
    assert len(set(TEXT)) == len(TEXT)
    drawn = [BLUEPRINT.tasks[index].extra["page"] for index in range(1_500)]
    assert set(drawn) == set(TEXT)


def test_no_page_with_its_seed_is_in_two_splits() -> None:
    seen = {}
    for split in ("train", "validation", "test"):
        tasks = toolenvs.load("MiniWoB-v0", tasks={"split": split, "pages": ["click-test"]}).tasks
        seen[split] = {(tasks[index].extra["page"], tasks[index].extra["seed"]) for index in range(300)}
        assert len(seen[split]) == 300
    assert not seen["train"] & seen["test"]
    assert not seen["validation"] & seen["test"]


def test_wrong_names_are_refused() -> None:
    with pytest.raises(PageError, match=r"no task 'click-buton'; did you mean 'click-button'"):
        toolenvs.load("MiniWoB-v0", tasks={"pages": ["click-test", "click-buton"]})
    for names in ([], "click-test", [3]):
        with pytest.raises((TaskError, PageError), match="give a list of pages"):
            assert toolenvs.load("MiniWoB-v0", tasks={"pages": names}).tasks


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_have_browsers_of_their_own_that_show_the_same(context: str) -> None:
    def make() -> gym.Env[str, str]:
        return gym.make(
            "toolenvs:toolenvs/MiniWoB-v0", timeout_s=60.0, tasks={"pages": ["click-test-2", "click-color"]}
        )

    def play(envs: Any) -> list[Any]:
        envs.reset(seed=5)
        played = [envs.step([write("look")] * 2)[0], envs.step([write("click", element=0), write("wait")])[:4]]
        envs.close()
        return [str(one) for one in played]

    ours = gym.make_vec(
        "toolenvs/MiniWoB-v0", num_envs=2, timeout_s=60.0, tasks={"pages": ["click-test-2", "click-color"]}
    )
    expected = play(ours)
    assert play(AsyncVectorEnv([make] * 2, context=context)) == expected
