"""Our pages as tasksets of verifiers 0.4. It brings 570 MB and versions of its own, so that these tests run where it is
installed (PYTHON -m pytest -m verifiers tests/adapters/test_verifiers.py); `make` does not install it."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from toolenvs.errors import SandboxError

pytestmark = [pytest.mark.verifiers, pytest.mark.filterwarnings("default")]
CALL = "<code>\n```python\nprint(6 * 7)\n```\n</code>"
ANSWER = "<answer>\n\\boxed{42}\n</answer>"
KEYS = {"tasks.set": "arithmetic", "tasks.size": 10}


@pytest.fixture
def env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """By verifiers' own loader, from a module of two lines."""
    from toolenvs.adapters.verifiers import load_environment

    lines = 'from toolenvs.adapters.verifiers import PageEnv, PageTaskset\n__all__ = ["PageEnv", "PageTaskset"]\n'
    (tmp_path / "my_retool.py").write_text(lines, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("my_retool", None)
    return load_environment("my_retool", page="toolenvs/ReTool-v0", count=3, **KEYS)


class Chat:
    """Stands where an interaction with a model does; its trace is verifiers'."""

    def __init__(self, task: Any, replies: list[str | None]) -> None:
        import verifiers.v1 as vf

        self.replies, self.told = iter(replies), list[str | None]()
        self.trace = vf.Trace.model_construct(rewards={}, metrics={})

    async def turn(self, message: str | None = None) -> Any:
        self.told.append(message)
        reply = next(self.replies)
        return SimpleNamespace(last_reply=reply or "", terminated=reply is None)


def play(env: Any, replies: list[str | None]) -> Chat:
    (task, *_) = list(env.taskset)
    chat = Chat(task, replies)

    @contextlib.asynccontextmanager
    async def interaction(_: Any) -> AsyncIterator[Chat]:
        yield chat

    asyncio.run(env.run(task, SimpleNamespace(agent=SimpleNamespace(interaction=interaction))))
    return chat


def test_a_page_is_a_taskset(env: Any) -> None:
    from toolenvs.adapters.verifiers import PageEnv

    tasks = list(env.taskset)
    assert isinstance(env, PageEnv)
    assert [task.data.idx for task in tasks] == [0, 1, 2]
    assert tasks[0].key == "toolenvs/ReTool-v0/arithmetic/train/0/0"
    assert "<interpreter>" in tasks[0].data.prompt


def test_an_episode_is_played_and_paid(env: Any) -> None:
    chat = play(env, [CALL, ANSWER])
    assert chat.told == [None, "<interpreter>\n42</interpreter>"]
    assert chat.trace.rewards["environment"].score == -1.0
    assert chat.trace.metrics == {"outcome": -1.0, "success": 0.0}


def test_a_run_that_verifiers_ends_is_cut_short(env: Any) -> None:
    assert play(env, [CALL, None]).trace.rewards["environment"].score == -1.0


def test_a_failure_is_an_error_and_no_reward(env: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from verifiers.v1.errors import EnvError

    from toolenvs.episode import Episode

    async def dead(self: Episode, call: Any) -> Any:
        raise SandboxError("the sandbox died")

    monkeypatch.setattr(Episode, "_run", dead)
    with pytest.raises(EnvError, match="the sandbox died"):
        play(env, [CALL, ANSWER])
