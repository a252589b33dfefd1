"""The judge in a page: programs of a policy, tests of a task file."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from toolenvs import assets
from toolenvs.env import ToolEnv
from toolenvs.errors import SandboxError, TaskError
from toolenvs.sandbox.local import LocalBox

ROW = {
    "question": "Write double(n).",
    "answer": "def double(n):\n    return 2 * n",
    "tests": [{"call": "double", "args": [n], "expected": 2 * n} for n in (0, 1, 5, -3)],
}


def _make(folder: Path, *rows: dict[str, Any], **overrides: Any) -> ToolEnv:
    """ReTool's page with this judge, over a file of these rows."""
    file, page = folder / "tasks.jsonl", folder / "Code-v0.toml"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    text = assets.page_files()["ReTool-v0"].read_text("utf-8")
    text = re.sub(r"(?ms)^\[judge\].*?(?=^\[)", '[judge]\nname = "unit_tests"\nreads = "answer"\n\n', text)
    page.write_text(re.sub(r"(?ms)^\[tasks\].*", f'[tasks]\nset = "{file}"\n', text), "utf-8")
    return ToolEnv(str(page), **overrides)


def _answer(code: str) -> str:
    return f"I write it.\n<answer>\n```python\n{code}\n```\n</answer>"


@pytest.mark.parametrize(
    ("code", "success", "reward"),
    [("def double(n):\n    return n + n", 1.0, 1.0), ("def double(n):\n    return n * n", 0.25, -1.0)],
)
def test_a_program_is_the_answer(tmp_path: Path, code: str, success: float, reward: float) -> None:
    env = _make(tmp_path, ROW)
    env.reset(seed=0)
    _, paid, terminated, _, info = env.step(_answer(code))
    assert (paid, terminated, info["success"], info["ending"]) == (reward, True, success, "answer")
    env.close()


def test_the_share_that_passed_can_be_paid(tmp_path: Path) -> None:
    outcome = {"term": "outcome", "correct": 1.0, "wrong": 0.0, "graded": True}
    env = _make(tmp_path, ROW, reward=[outcome])
    env.reset(seed=0)
    _, paid, _, _, info = env.step(_answer("def double(n):\n    return n * n if n < 0 else n * n + 1 if n == 1 else 0"))
    assert (paid, info["success"]) == (0.5, 0.5)
    env.close()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"answer": "def double(n):\n    return n"}, "solution 1 passes 1 of its 4 tests; the first failure: failed"),
        ({"answer": "1/0"}, "the first failure: error ZeroDivisionError"),
        ({"tests": [{"input": "", "output": ""}], "answer": "x = 1"}, "a program that does nothing passes the tests"),
        ({"tests": [{"call": "double"}]}, "'expected' is missing"),
        ({"tests": None}, "at least one test"),
    ],
)
def test_tasks_are_held_against_their_tests_when_they_are_loaded(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    env = _make(tmp_path, {**ROW, **change})
    with pytest.raises(TaskError, match=message):
        env.reset(seed=0)
    env.close()


def test_a_sandbox_that_fails_is_infrastructure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = _make(tmp_path, ROW)
    env.reset(seed=0)

    async def broken(*_: Any, **__: Any) -> None:
        raise SandboxError("no answer")

    monkeypatch.setattr(LocalBox, "arun", broken)
    _, paid, terminated, truncated, info = env.step(_answer("def double(n):\n    return n + n"))
    assert (paid, terminated, truncated, info["ending"], info["success"]) == (0.0, False, True, "infrastructure", None)
    assert "the sandbox failed twice" in info["fault"]
    env.close()
