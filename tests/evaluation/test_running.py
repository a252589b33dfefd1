"""Evaluations over several pages: what is written, gone on with, and left out."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from toolenvs.errors import ConfigError, EngineError, TaskError
from toolenvs.evaluation import Prices, Running, Sampling, evaluate
from toolenvs.evaluation import folder as folders
from toolenvs.rollout import Action, read_trajectories

_TIMED = ("seconds", "agent_seconds", "tool_seconds", "tools", "budgets")
"""Of the measures, what holds wall-clock time, which no two runs share."""


def _number(request: Any) -> int:
    return int(request.task.id.rpartition("/")[2])


def _half(request: Any) -> str:
    """Right on every second task of every page."""
    right = _number(request) % 2
    text = request.task.gold if right else "none"
    return f"\\boxed{{{text}}}" if "number_theory" in request.task.id else f"<answer>{text}</answer>"


def _untimed(measures: Any) -> dict[str, Any]:
    return {name: value for name, value in measures.items() if name not in _TIMED}


def test_several_pages_side_by_side(tmp_path: Path) -> None:
    result = evaluate(_half, ["ReTool-v0", "SearchR1-v0"], tasks=4, n=2, out=tmp_path / "out")
    assert {name: measures.success for name, measures in result.pages.items()} == {"ReTool-v0": 0.5, "SearchR1-v0": 0.5}
    assert (result.measures["success"], result.measures["episodes"], result.measures["pages"]) == (0.5, 16, 2)
    assert len({t.key for t in result.trajectories}) == 16
    assert len({t.seed for t in result.trajectories}) == 16
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    assert summary["pages"]["ReTool-v0"]["success"] == 0.5
    assert summary["setting"]["agent"] == "_half"
    assert [page["name"] for page in summary["setting"]["pages"]] == ["ReTool-v0", "SearchR1-v0"]
    table = (tmp_path / "out" / "table.md").read_text().splitlines()
    assert [line.split(" | ")[0] for line in table] == ["| page", "| ---", "| ReTool-v0", "| SearchR1-v0", "| all"]
    assert table == result.table().splitlines()
    alone = evaluate(_half, "SearchR1-v0", tasks=2, n=2)
    assert {t.key: t.seed for t in alone.trajectories} == {
        t.key: t.seed for t in result.trajectories if t.key.startswith("SearchR1-v0/") and t.group[-1] in "01"
    }, "a try's seed does not depend on which others there are"


def test_what_is_there_is_not_run_again(tmp_path: Path) -> None:
    out, asked = tmp_path / "out", []

    def act(request: Any) -> str:
        asked.append(request.key)
        return _half(request)

    first = evaluate(act, "ReTool-v0", tasks=4, out=out)
    again = evaluate(act, "ReTool-v0", tasks=4, out=out)
    assert len(asked) == 4
    assert first.measures == again.measures
    path = out / "trajectories.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]) + lines[2][:50])  # killed while it wrote
    torn = evaluate(act, "ReTool-v0", tasks=4, out=out)
    assert len(asked) == 6
    assert path.read_bytes().startswith(b"".join(lines[:2]))
    assert _untimed(torn.measures) == _untimed(first.measures)


def test_the_order_in_which_episodes_ended_changes_no_measure(tmp_path: Path) -> None:
    first = evaluate(_half, ["ReTool-v0", "SearchR1-v0"], tasks=7, n=2, out=tmp_path)
    path = tmp_path / "trajectories.jsonl"
    path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))
    again = evaluate(_half, ["ReTool-v0", "SearchR1-v0"], tasks=7, n=2, out=tmp_path)
    assert again.to_json() == first.to_json()


_AGENT = """
import os, signal
asked = 0

def act(request):
    global asked
    asked += 1
    if asked == 9 and not os.path.exists("killed"):
        open("killed", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    if request.turn == 1:
        return "<code>print(%d)</code>" % (request.seed % 2)
    return "\\\\boxed{%s}" % (request.task.gold if request.last_result == "1" else "none")
"""


def test_an_evaluation_that_is_killed_gives_the_same_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "killed_agent.py").write_text(_AGENT, "utf-8")

    def run(out: str) -> int:
        program = "from toolenvs.cli import main; main()"
        command = ["eval", "ReTool-v0", "--agent", "killed_agent:act", "--tasks", "5", "--n", "3", "--concurrency", "2"]
        return subprocess.run(
            [sys.executable, "-c", program, *command, "--out", out], cwd=tmp_path, capture_output=True, check=False
        ).returncode

    assert run("broken") == -signal.SIGKILL
    before = (tmp_path / "broken" / "trajectories.jsonl").read_bytes()
    assert 0 < before.count(b"\n") < 15
    assert not (tmp_path / "broken" / "summary.json").exists()
    assert run("broken") == 0
    assert (tmp_path / "broken" / "trajectories.jsonl").read_bytes().startswith(before)
    broken = json.loads((tmp_path / "broken" / "summary.json").read_text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    whole = evaluate("killed_agent:act", "ReTool-v0", tasks=5, n=3).to_json()
    assert _untimed(broken["measures"]) == _untimed(json.loads(json.dumps(whole["measures"])))
    assert 0 < broken["measures"]["success"] < 1
    assert broken["measures"]["pass_at_k"]["3"] != broken["measures"]["pass_at_k"]["1"]


def test_infrastructure_is_tried_again_now_and_by_the_next_run(tmp_path: Path) -> None:
    out, healthy, asked = tmp_path / "out", [False], []

    def act(request: Any) -> str:
        asked.append(_number(request))
        if _number(request) == 1 and not healthy[0]:
            raise EngineError("silent")
        return f"\\boxed{{{request.task.gold}}}"

    seen: list[tuple[str, bool]] = []
    first = evaluate(
        act, "ReTool-v0", tasks=3, retries=2, out=out, on_episode=lambda t, last: seen.append((t.ending, last))
    )
    assert asked.count(1) == 3
    assert sorted(seen) == [("answer", True)] * 2 + [("infrastructure", False)] * 2 + [("infrastructure", True)]
    measured = first.pages["ReTool-v0"]
    assert (measured.success, measured.episodes, measured.infrastructure, measured.retried) == (1.0, 2, 1, 2)
    healthy[0] = True
    again = evaluate(act, "ReTool-v0", tasks=3, retries=2, out=out).pages["ReTool-v0"]
    assert (again.success, again.episodes, again.infrastructure, again.retried) == (1.0, 3, 0, 3)
    assert len(asked) == 6
    assert len(list(read_trajectories(out / "trajectories.jsonl"))) == 6


def test_the_agents_failures_count_and_are_not_tried_again(tmp_path: Path) -> None:
    def act(text: str, info: dict[str, Any]) -> str:
        if info["task"].endswith("/1"):
            raise KeyError("bug")
        return "\\boxed{none}"

    result = evaluate(act, "ReTool-v0", tasks=3, out=tmp_path / "out")
    measured = result.pages["ReTool-v0"]
    assert (measured.success, measured.agent_failures, measured.infrastructure) == (0.0, 1, 0)
    assert dict(measured.endings) == {"answer": 2, "agent": 1}
    again = evaluate(act, "ReTool-v0", tasks=3, out=tmp_path / "out")
    assert again.measures == result.measures


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"tasks": 3}, "another tasks"),
        ({"seed": 1}, "another seed"),
        ({"n": 2}, "another n"),
        ({"overrides": {"max_turns": 3}}, "another pages"),
        ({"sampling": Sampling(temperature=0.5)}, "another sampling"),
        ({"pages": ["ReTool-v0", "ToRL-v0"]}, "another env"),
        ({"agent": "oracle"}, "another agent"),
    ],
)
def test_another_evaluation_is_refused(tmp_path: Path, change: dict[str, Any], told: str) -> None:
    given: dict[str, Any] = {"agent": "no-tool", "pages": ["ReTool-v0"], "tasks": 2, "out": tmp_path / "out"}
    evaluate(**given)
    before = (tmp_path / "out" / "trajectories.jsonl").read_bytes()
    with pytest.raises(ConfigError, match=told):
        evaluate(**{**given, **change})
    assert (tmp_path / "out" / "trajectories.jsonl").read_bytes() == before
    assert (
        evaluate(**given, running=Running(turn_timeout_s=5), prices=Prices(), concurrency=1).pages["ReTool-v0"].tasks
        == 2
    )


def test_a_folder_of_something_else_and_one_that_is_in_use(tmp_path: Path) -> None:
    (tmp_path / "trajectories.jsonl").write_text("")
    with pytest.raises(ConfigError, match="of another command"):
        evaluate("no-tool", "ReTool-v0", tasks=1, out=tmp_path)
    (tmp_path / "setting.json").write_text("[1]")
    with pytest.raises(ConfigError, match="cannot be used: setting.json holds no settings"):
        evaluate("no-tool", "ReTool-v0", tasks=1, out=tmp_path)
    evaluate("no-tool", "ReTool-v0", tasks=1, out=tmp_path / "out")
    with (
        folders.Alone(tmp_path / "out" / "trajectories.jsonl"),
        pytest.raises(ConfigError, match="another process"),
    ):
        evaluate("no-tool", "ReTool-v0", tasks=1, out=tmp_path / "out")
    evaluate("no-tool", "ReTool-v0", tasks=1, out=tmp_path / "out")


def test_tokens_and_latency_of_an_agent_that_counts() -> None:
    class Counts:
        async def act(self, request: Any) -> Action:
            text = "<code>print(1)</code>" if request.turn == 1 else "\\boxed{none}"
            return Action(text=text, prompt_tokens=100, completion_tokens=7)

        def release(self, key: str) -> None: ...

    result = evaluate(Counts(), "ReTool-v0", tasks=2, prices=Prices(prompt=1, completion=2)).pages["ReTool-v0"]
    assert (result.prompt_tokens, result.completion_tokens) == (400, 28)
    assert result.cost_usd == pytest.approx(456e-6)
    assert result.agent_seconds is not None
    assert result.tool_seconds is not None
    assert result.tools["python"].calls == 2


def test_the_oracle_says_where_a_task_carries_no_solution(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"id": "a", "question": "What is 1 + 1?", "answer": "2"}\n')
    with pytest.raises(ExceptionGroup) as raised:
        evaluate("oracle", "ReTool-v0", tasks=1, overrides={"tasks.set": str(tmp_path / "rows.jsonl")})
    assert isinstance(raised.value.exceptions[0], TaskError)


def test_it_runs_beside_a_running_loop() -> None:
    """As in a notebook."""
    import asyncio

    async def cell() -> float | None:
        return evaluate(_half, "ReTool-v0", tasks=2).pages["ReTool-v0"].success

    assert asyncio.run(cell()) == 0.5


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"pages": ["ReTool-v0"], "suite": "toolenvs-lite"},
        {"suite": "toolenvs-lit"},
        {"pages": ["ReTool-v0", "toolenvs/ReTool-v0"]},
    ],
)
def test_what_is_to_be_evaluated_must_be_said_once(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"not both|did you mean 'toolenvs-lite'|given twice"):
        evaluate("no-tool", **given)


@pytest.mark.parametrize("name", ["tasks", "n", "concurrency", "retries"])
def test_numbers_that_leave_nothing_to_do_are_refused(name: str) -> None:
    """Of them, some had given an evaluation of nothing, without a word."""
    with pytest.raises(ConfigError, match=f"{name} = -1: give at least"):
        evaluate("no-tool", "ReTool-v0", **{name: -1})


def test_a_command_is_ended_with_its_evaluation(tmp_path: Path) -> None:
    file = tmp_path / "an_agent.py"
    file.write_text(
        "import json, os, sys\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "for line in sys.stdin:\n"
        "    print(json.dumps({'text': '\\\\boxed{1}'}), flush=True)\n"
    )
    result = evaluate(f"command:{sys.executable} {file}", ["ReTool-v0", "ToRL-v0"], tasks=3)
    assert result.measures["episodes"] == 6
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
