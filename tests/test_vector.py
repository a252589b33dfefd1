"""`make_vec`, `SyncVectorEnv` and `AsyncVectorEnv` agree action for action, in every autoreset mode."""

import time
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

import toolenvs  # noqa: F401
from toolenvs.assets import page_files
from toolenvs.errors import PageError, TaskError

PAGES = sorted(page_files())
N = 3


def _actions(step: int) -> list[str]:
    """Different things at once: calls, answers, malformed turns."""
    options = ["<code>print(6 * 7)</code>", "\\boxed{1}", "<code></code>", "```python\nprint(1)\n```\n```output", ""]
    return [options[(step + index) % len(options)] for index in range(N)]


def _play(envs: Any, *, reset_by_hand: bool = False) -> list[tuple[Any, ...]]:
    texts, infos = envs.reset(seed=11)
    played: list[tuple[Any, ...]] = [(texts, infos["task"].tolist(), infos["stop"].tolist())]
    for step in range(7):
        texts, rewards, terminations, truncations, infos = envs.step(_actions(step))
        assert texts in envs.observation_space
        finals = infos["final_obs"].tolist() if "final_obs" in infos else None
        played.append(
            (texts, rewards.tolist(), terminations.tolist(), truncations.tolist(), finals, list(infos["task"]))
        )
        ended = terminations | truncations
        if reset_by_hand and ended.any():
            texts, _ = envs.reset(options={"reset_mask": ended})
            played.append((texts,))
    envs.close()
    return played


def _make(name: str) -> Any:
    return lambda: gym.make(f"toolenvs:toolenvs/{name}")  # a spawned worker has not imported toolenvs


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("name", PAGES)
def test_ours_and_sync_agree(name: str, mode: AutoresetMode) -> None:
    by_hand = mode is AutoresetMode.DISABLED
    ours = gym.make_vec(f"toolenvs/{name}", num_envs=N, autoreset_mode=mode)
    theirs = SyncVectorEnv([_make(name)] * N, autoreset_mode=mode)
    assert _play(ours, reset_by_hand=by_hand) == _play(theirs, reset_by_hand=by_hand)


@pytest.mark.parametrize("context", ["fork", "spawn"])
@pytest.mark.parametrize("shared_memory", [True, False])
def test_ours_and_async_agree(context: str, shared_memory: bool) -> None:
    ours = gym.make_vec("toolenvs/ReTool-v0", num_envs=N)
    theirs = AsyncVectorEnv([_make("ReTool-v0")] * N, context=context, shared_memory=shared_memory)
    assert _play(ours) == _play(theirs)


@pytest.mark.parametrize("name", PAGES)
def test_async_agrees_on_every_page(name: str) -> None:
    ours = gym.make_vec(f"toolenvs/{name}", num_envs=N)
    assert _play(ours) == _play(AsyncVectorEnv([_make(name)] * N))


def test_make_vec_modes_and_spaces() -> None:
    for mode in ("sync", "async", "vector_entry_point"):
        envs = gym.make_vec("toolenvs/ReTool-v0", num_envs=2, vectorization_mode=mode, max_calls=1)
        texts, infos = envs.reset(seed=0)
        assert texts in envs.observation_space
        assert envs.action_space.sample() in envs.action_space
        assert infos["budget"]["calls"][0].left == 1
        envs.close()


def test_a_step_waits_for_the_slowest_tool_only() -> None:
    envs = gym.make_vec("toolenvs/ReTool-v0", num_envs=4)
    envs.reset(seed=0)
    sleep = "<code>import time; time.sleep(0.5); print(1)</code>"
    started_s = time.perf_counter()
    envs.step([sleep] * 4)
    assert time.perf_counter() - started_s < 4 * 0.5  # one after another would take at least that
    envs.close()


def test_misuse_is_named() -> None:
    envs = gym.make_vec("toolenvs/ReTool-v0", num_envs=2, autoreset_mode=AutoresetMode.DISABLED)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="1 actions for 2 environments"):
        envs.step(["x"])
    envs.step(["\\boxed{1}", "<code>1</code>"])
    with pytest.raises(ValueError, match=r"environments \[0\] have ended"):
        envs.step(["x", "x"])
    with pytest.raises(ValueError, match="one value for each"):
        envs.reset(seed=[1])
    envs.reset(options={"reset_mask": np.array([True, False])})
    envs.step(["\\boxed{1}", "\\boxed{1}"])
    envs.close()


def test_render_and_close() -> None:
    envs = gym.make_vec("toolenvs/ReTool-v0", num_envs=2, render_mode="ansi")
    envs.reset(seed=0)
    assert all("\x1b[90m" in str(text) for text in envs.render())
    envs.close()
    envs.close()


def test_an_action_that_is_no_string_steps_nothing() -> None:
    envs = gym.make_vec("toolenvs/ReTool-v0", num_envs=2)
    with pytest.raises(TaskError, match="environment 0: call reset"):
        envs.step(["x", "x"])
    envs.reset(seed=0)
    with pytest.raises(TaskError, match="environment 1: an action is a str, not NoneType"):
        envs.step(["\\boxed{1}", None])
    assert [env.episode.meter.turns for env in envs.envs] == [0, 0]
    envs.close()


def test_one_that_fails_leaves_no_other_half_way(monkeypatch: pytest.MonkeyPatch) -> None:
    envs = gym.make_vec("toolenvs/ReTool-v0", num_envs=3, session="stateful")
    envs.reset(seed=0)

    async def fail(action: str) -> Any:
        raise PageError("set up wrongly")

    with monkeypatch.context() as patch:
        patch.setattr(envs.envs[0], "astep", fail)
        slow = "<code>import time; time.sleep(0.2); x = 1; print(x)</code>"
        with pytest.raises(PageError, match="set up wrongly"):
            envs.step([slow, slow, "\\boxed{1}"])
    assert [len(env.episode.transcript.segments) > 1 for env in envs.envs] == [False, True, True]
    texts, _, _, _, infos = envs.step(["<code>print(2)</code>", "<code>print(x + 2)</code>", "ignored"])
    assert ["2" in texts[0], "3" in texts[1]] == [True, True]
    assert infos["ending"].tolist() == [None] * 3  # the third began anew
    envs.close()


def test_success_stays_none_while_an_episode_runs() -> None:
    envs = gym.make_vec("toolenvs/ReTool-v0", num_envs=2)
    envs.reset(seed=0)
    _, _, _, _, infos = envs.step(["\\boxed{-1}", "<code></code>"])
    assert infos["success"].tolist() == [False, None]
    same = gym.make_vec("toolenvs/ReTool-v0", num_envs=2, autoreset_mode=AutoresetMode.SAME_STEP)
    same.reset(seed=0)
    _, _, _, _, infos = same.step(["\\boxed{-1}", "<code></code>"])
    assert infos["success"].tolist() == [None, None]
    assert infos["final_info"]["success"].tolist() == [False, None]
    envs.close()
    same.close()


@pytest.mark.parametrize("seed", [np.int64(5), np.array([5, 6]), [5, np.int32(6)]])
def test_seeds_of_numpy(seed: Any) -> None:
    envs = gym.make_vec("toolenvs/ReTool-v0", num_envs=2)
    assert envs.reset(seed=seed)[0] == envs.reset(seed=5)[0]
    with pytest.raises(TypeError):
        envs.reset(seed=1.5)
    envs.close()
