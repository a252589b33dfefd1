"""A remote environment is a `gymnasium.Env` like the local one, and says the same."""

import asyncio
import pickle
import warnings
from typing import Any

import gymnasium as gym
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

import toolenvs
from toolenvs import remote
from toolenvs.env import ToolEnv
from toolenvs.errors import ConfigError, InfrastructureError, MissingExtraError, PageError, TaskError
from toolenvs.tasks.task import Task

CODE = "<code>\n```python\n{}\n```\n</code>"
ANSWER = "<answer>\n\\boxed{12}\n</answer>"
ACTIONS: dict[str, list[str]] = {
    "ReTool-v0": [
        "Let me see: " + CODE.format("import random\nprint(random.random(), 'é漢😀\\ud800'[:3])"),
        "",
        ANSWER,
    ],
    "SearchR1-v0": ["<search>a mayor</search>", "<information>forged</information>", "<answer>nobody</answer>"],
    "SQL-v0": ["<sql>SELECT name FROM person LIMIT 2</sql>", "<sql>nonsense</sql>", "<solution>SELECT 1</solution>"],
    "Browse-v0": [
        '<tool_call>\n{"name": "browse", "arguments": {"action": "search", "query": "mayor"}}\n</tool_call>',
        '<tool_call>\n{"name": "browse", "arguments": {"action": "open", "link": 0}}\n</tool_call>',
        '<tool_call>\n{"name": "browse", "arguments": {"action": "find", "text": "a"}}\n</tool_call>',
        "It is nobody.",
    ],
}


def play(env: gym.Env[str, str], actions: list[str], **reset: Any) -> list[Any]:
    """All that an episode says; wall-clock times are equal to any other."""
    text, info = env.reset(**reset)
    said: list[Any] = [(text, info)]
    for action in actions:
        said.append(env.step(action))
        if said[-1][2] or said[-1][3]:
            break
    return said


@pytest.mark.parametrize("page", ACTIONS)
def test_it_says_what_the_local_one_says(served: Any, page: str) -> None:
    local, far = ToolEnv(page), toolenvs.connect(served.url, page)
    for reset in (
        {"seed": 3},
        {},
        {"options": {"task": 5, "progress": 0.5}},
        {"seed": 4, "options": {"prefix": ACTIONS[page][:1]}},
    ):
        here, there = play(local, ACTIONS[page], **reset), play(far, ACTIONS[page], **reset)
        assert len(here) == len(there) > 1
        for one, other in zip(here, there, strict=True):
            assert one == other
            assert {key: type(value) for key, value in one[-1].items()} == {
                key: type(value) for key, value in other[-1].items()
            }
    for mode in ("ansi", "html"):
        local.render_mode = far.render_mode = mode
        assert local.render() == far.render()
    local.close()
    far.close()


@pytest.mark.parametrize("transport", ["websocket", "http"])
def test_check_env_without_warnings(served: Any, transport: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env = gym.make("toolenvs/Remote-v0", url=served.url, page="ReTool-v0", transport=transport, render_mode="ansi")
        check_env(env.unwrapped)
        env.close()


def test_every_episode_is_ended_at_the_server(served: Any) -> None:
    before = served.sessions
    env = toolenvs.connect(served.url, "ReTool-v0")
    for _ in range(3):
        env.reset()
    assert served.sessions == before + 1
    env.close()
    env.close()
    assert served.sessions == before


def test_a_fork_has_the_interpreter_and_goes_its_own_way(served: Any) -> None:
    env = toolenvs.connect(served.url, "ReTool-v0", **{"tools.python.session": "stateful"})
    env.reset(seed=0)
    env.step(CODE.format("x = 40"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where the sandbox cannot fork, calls are replayed, and it says so
        one, other = env.fork(2)
    for copy, add, expected in ((one, 1, "41"), (other, 2, "42"), (env, 3, "43")):
        text = copy.step(CODE.format(f"x += {add}; print(x)"))[0]
        assert f"\n{expected}<" in text
    assert len(one.episode.transcript.segments) == len(env.episode.transcript.segments)
    for each in (one, other, env):
        each.close()


def test_a_copy_that_was_replayed_says_so(served: Any) -> None:
    env = toolenvs.connect(served.url, "ReTool-v0", **{"tools.python.session": "stateful"})
    env.reset(seed=0)
    env.step(CODE.format("import threading\nt = threading.Timer(60, print)\nt.daemon = True\nt.start()\nx = 5"))
    with pytest.warns(UserWarning, match="python cannot be copied"):
        (copy,) = env.fork()
    assert "\n5<" in copy.step(CODE.format("print(x)"))[0]
    copy.close()
    env.close()


def test_tasks_are_the_servers(served: Any) -> None:
    local, far = ToolEnv("ReTool-v0"), toolenvs.connect(served.url, "ReTool-v0")
    tasks = far.blueprint.tasks
    assert (len(tasks), tasks.name) == (len(local.blueprint.tasks), local.blueprint.tasks.name)
    assert [tasks[i] for i in (0, 63, 64, 200)] == [local.blueprint.tasks[i] for i in (0, 63, 64, 200)]
    task = tasks.find(tasks[7].id)
    assert task == tasks[7]
    for which in (7, task.id, task):
        assert far.reset(options={"task": which})[1]["task"] == task.id
    for wrong in ("nothing", -1, len(tasks), 1.5, Task(id="mine", question="?")):
        with pytest.raises(TaskError):
            far.reset(options={"task": wrong})
    with pytest.raises(TaskError, match="another than the one that was given"):
        far.reset(options={"task": Task(id=task.id, question="another")})
    with pytest.raises(TaskError, match="ends the episode"):
        far.reset(options={"prefix": [ANSWER]})
    far.close()


def test_what_the_server_refuses_is_said_at_once(served: Any) -> None:
    assert toolenvs.connect(served.url, "ReTool-v0", max_turns=2).blueprint.page.budget.max_turns == 2
    with pytest.raises(PageError, match="does not let clients set"):
        toolenvs.connect(served.url, "ReTool-v0", **{"tools.python.backend": "docker"})
    with pytest.raises(PageError, match="max_turns"):
        toolenvs.connect(served.url, "ReTool-v0", max_turns="two")
    with pytest.raises(ConfigError, match="did you mean 'ReTool-v0'"):
        toolenvs.connect(served.url, "RTool-v0")
    with pytest.raises(ConfigError, match="no page '/etc/passwd'"):
        toolenvs.connect(served.url, "/etc/passwd")
    with pytest.raises(PageError, match="cannot be sent"):
        toolenvs.connect(served.url, "ReTool-v0", tasks=[Task(id="a", question="b")])
    with pytest.raises(PageError, match="an override of a remote page"):
        toolenvs.connect(served.url, "ReTool-v0", max_turns=object())
    for url, told in (("localhost:1", "is no address"), ("ftp://x", "is no address")):
        with pytest.raises(ConfigError, match=told):
            toolenvs.connect(url, "ReTool-v0")
    with pytest.raises(ConfigError, match="transport = 'carrier pigeon'"):
        toolenvs.connect(served.url, "ReTool-v0", transport="carrier pigeon")
    with pytest.raises(InfrastructureError, match="in vain"):
        toolenvs.connect("http://127.0.0.1:9", "ReTool-v0", deadline_s=0.2)


def test_it_tells_no_place_of_the_servers(served: Any) -> None:
    told = str(remote.load(served.url, "SearchR1-v0").link.ask("describe", {"page": "SearchR1-v0", "overrides": {}}))
    assert "world:" not in told
    blueprint = remote.load(served.url, "SearchR1-v0")
    with pytest.raises(AttributeError, match="stands at the server"):
        _ = blueprint.judge


def test_a_missing_package_names_its_extra(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "websockets.asyncio.client", None)
    with pytest.raises(MissingExtraError, match=r"toolenvs\[remote\]"):
        toolenvs.connect(served.url, "ReTool-v0", deadline_s=61)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_a_vector_of_them(served: Any, mode: str) -> None:
    kind = "toolenvs/Remote-v0"
    far = gym.make_vec(
        kind, num_envs=3, vectorization_mode="vector_entry_point", url=served.url, page="ReTool-v0",
        autoreset_mode=mode,
    )  # fmt: skip
    local = gym.make_vec("toolenvs/ReTool-v0", num_envs=3, vectorization_mode="vector_entry_point", autoreset_mode=mode)
    actions = [CODE.format("print(6*7)"), ANSWER, "<code>"]
    for vector in (far, local):
        vector.reset(seed=1)
    steps = 1 if mode == "Disabled" else 3
    for _ in range(steps):
        one, other = far.step(actions), local.step(actions)
        assert one[0] == other[0]
        assert all((a == b).all() for a, b in zip(one[1:4], other[1:4], strict=True))
    far.close()
    local.close()


@pytest.mark.parametrize("context", ["fork", pytest.param("spawn", marks=pytest.mark.heavy)])
def test_in_gymnasiums_own_vectors(served: Any, context: str) -> None:
    def make() -> gym.Env[str, str]:
        return gym.make("toolenvs:toolenvs/Remote-v0", url=url, page="ReTool-v0")

    url = served.url
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # fork in a process with threads: the server's, in this test
        several = AsyncVectorEnv([make] * 2, context=context)
    alone = SyncVectorEnv([make] * 2)
    for vector in (several, alone):
        vector.reset(seed=[1, 2])
    actions = [CODE.format("print(6*7)"), ANSWER]
    assert tuple(several.step(actions)[0]) == tuple(alone.step(actions)[0])
    several.close()
    alone.close()


def test_it_is_pickled_before_and_between_episodes(served: Any) -> None:
    env = toolenvs.connect(served.url, "ReTool-v0", max_turns=3)
    again = pickle.loads(pickle.dumps(env))
    assert again.reset(seed=2)[0] == env.reset(seed=2)[0]
    with pytest.raises(TaskError, match="cannot be pickled"):
        pickle.dumps(env)
    again.close()
    env.close()


async def test_it_works_where_a_loop_is_running(served: Any) -> None:
    env = toolenvs.connect(served.url, "ReTool-v0")
    await asyncio.sleep(0)
    env.reset(seed=0)
    assert "42" in env.step(CODE.format("print(6*7)"))[0]
    env.close()
