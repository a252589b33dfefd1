"""`toolenvs audit`."""

import json
from pathlib import Path

from toolenvs.assets import page_files


def test_a_sound_page_exits_with_0_and_tells_each_probe(run) -> None:
    result = run("audit", "ReTool-v0", "--tasks", 1, "--probe", "answers", "--probe", "forgery")
    assert result.exit_code == 0
    assert result.output.splitlines()[-1] == "ReTool-v0, 1 task: 0 faults, 0 notes"
    assert result.output.startswith("ok    answers  not found: Answers that need no question")


def test_a_fault_exits_with_1_and_stands_in_the_file(run, tmp_path: Path) -> None:
    text = page_files()["ReTool-v0"].read_text("utf-8")
    page = tmp_path / "Paid-v0.toml"
    page.write_text(text.replace("correct = 1.0", "correct = -2.0"), "utf-8")
    out = tmp_path / "audit.json"
    result = run("audit", page, "--tasks", 1, "--probe", "solving", "--json", out)
    assert result.exit_code == 1
    assert "fault solving.underpaid  A right episode earns -2, one that answers nonsense -1." in result.output
    assert "      do: Let success pay more than failure" in result.output
    told = json.loads(out.read_text("utf-8"))
    assert [found["level"] for found in told["findings"] if found["name"] == "solving.underpaid"] == ["fault"]


def test_overrides_reach_the_page(run) -> None:
    result = run("audit", "ReTool-v0", "--tasks", 1, "--probe", "budgets", "--set", "budget.max_turns=2")
    assert result.exit_code == 0
    result = run("audit", "ReTool-v0", "--probe", "solving", "--set", "audit.needs_tools=true", "--tasks", 1)
    assert result.exit_code == 1
    assert "fault solving.untooled" in result.output


def test_what_the_caller_got_wrong_is_said_and_exits_with_2(run, tmp_path: Path) -> None:
    result = run("audit", "ReTool-v0", "--probe", "leak")
    assert (result.exit_code, result.stderr) == (2, "toolenvs: no probe is called 'leak'; did you mean 'leaks'?\n")
    result = run("audit", "ReTool-v0", "--json", tmp_path / "no" / "a.json")
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr
