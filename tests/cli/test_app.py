"""The command itself: what it lists, how it ends, and what it says where its packages are missing."""

import subprocess
import sys

import pytest

from toolenvs.cli.options import overrides
from toolenvs.errors import ConfigError


@pytest.mark.parametrize("command", ["list", "play", "eval", "train", "view", "audit", "doctor"])
def test_every_command_is_listed_and_explains_itself(run, command: str) -> None:
    assert command in run("--help").output
    told = run(command, "--help")
    assert told.exit_code == 0
    assert "Usage" in told.output


def test_an_error_of_the_tree_is_one_line(run) -> None:
    result = run("list", "ReTol-v0")
    assert result.exit_code == 2
    assert result.stderr == "toolenvs: there is no page 'ReTol-v0'; did you mean 'ReTool-v0'?\n"
    assert result.stdout == ""


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_a_missing_package_is_named_with_its_extra(package: str) -> None:
    program = f"import sys; sys.modules[{package!r}] = None\nfrom toolenvs.cli import main; main()"
    result = subprocess.run([sys.executable, "-c", program, "list"], capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr == (
        f"toolenvs: the toolenvs command needs the package {package!r}: pip install 'toolenvs[cli]'\n"
    )


def test_overrides_are_toml_values_and_strings_need_no_quotes() -> None:
    pairs = ["budget.max_calls=2", "judge.reads=all", 'tasks.set="a=b"', "x=[1, 2]", "y = true", "z=1\nw=2", "e="]
    assert overrides(pairs) == {
        "budget.max_calls": 2,
        "judge.reads": "all",
        "tasks.set": "a=b",
        "x": [1, 2],
        "y": True,
        "z": "1\nw=2",
        "e": "",
    }


@pytest.mark.parametrize("pair", ["budget.max_calls", "=2", ""])
def test_an_override_without_key_or_value_is_refused(pair: str) -> None:
    with pytest.raises(ConfigError, match="write KEY=VALUE"):
        overrides([pair])


def test_the_package_can_be_run_as_a_module() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "toolenvs", "train", "gpro"], capture_output=True, text=True, check=False
    )
    assert told.returncode == 2
    assert "did you mean 'grpo'" in told.stderr
