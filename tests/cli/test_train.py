"""`toolenvs train` hands over to the scripts of baselines."""

import sys
from pathlib import Path

import pytest

from toolenvs.cli import train


@pytest.fixture(autouse=True)
def _own_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["toolenvs"])
    monkeypatch.setattr(sys, "path", sys.path[:])


@pytest.mark.parametrize("name", ["sft", "grpo", "ppo"])
def test_the_scripts_are_there(run, name: str) -> None:
    assert name in run("train").output
    result = run("train", name, "--help")
    assert result.exit_code == 0
    assert "--recipe" in result.output


def test_every_argument_reaches_the_script_as_it_is(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = "import helper, sys\nprint(__name__, sys.argv[1:], helper.VALUE)\n"
    (tmp_path / "mine.py").write_text(script, encoding="utf-8")
    (tmp_path / "helper.py").write_text("VALUE = 7\n", encoding="utf-8")
    monkeypatch.setattr(train, "folder", lambda kind: tmp_path)
    result = run("train", "mine", "--env.budget.max_calls", "1", "-x", "a b")
    assert result.output == "__main__ ['--env.budget.max_calls', '1', '-x', 'a b'] 7\n"


def test_errors_of_the_script_are_one_line(run) -> None:
    result = run("train", "grpo", "--bogus", "1")
    assert result.exit_code == 2
    assert result.stderr.startswith("toolenvs: command line: unknown option --bogus")
    assert "did you mean 'grpo'?" in run("train", "gpro").stderr
