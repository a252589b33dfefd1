"""`toolenvs export`; what the data set holds is tested in tests/adapters/test_datasets.py."""

from pathlib import Path

import pytest

from toolenvs.adapters import datasets
from toolenvs.rollout import read_trajectories


@pytest.fixture
def folder(run, script: str, tmp_path: Path) -> Path:
    """Four episodes, of which two are right, and one that failed."""
    run("eval", "ReTool-v0", "--agent", f"{script}:half", "--tasks", 4, "--out", tmp_path / "run")
    return tmp_path / "run"


@pytest.mark.parametrize("name", ["episodes", "episodes.parquet", "episodes.jsonl"])
def test_a_run_folder_becomes_a_data_set(run, folder: Path, name: str) -> None:
    result = run("export", folder, folder.parent / name)
    assert result.exit_code == 0, result.output
    assert result.output.endswith(f"{name}: 4 episodes\n")
    assert list(datasets.read(folder.parent / name)) == list(read_trajectories(folder / "trajectories.jsonl"))


def test_the_form_can_be_named(run, folder: Path) -> None:
    run("export", folder, folder.parent / "episodes", "--form", "jsonl")
    assert len((folder.parent / "episodes").read_text(encoding="utf-8").splitlines()) == 4


def test_only_what_was_right(run, folder: Path) -> None:
    result = run("export", folder, folder.parent / "right.jsonl", "--solved")
    assert "right.jsonl: 2 episodes; 2 left out" in result.output
    assert {one.success for one in datasets.read(folder.parent / "right.jsonl")} == {1.0}


def test_failed_episodes_are_left_out_unless_asked_for(run, script: str, tmp_path: Path) -> None:
    run("eval", "ReTool-v0", "--agent", f"{script}:broken", "--tasks", 4, "--retries", 0, "--out", tmp_path / "run")
    assert "2 episodes; 2 left out" in run("export", tmp_path / "run", tmp_path / "whole").output
    assert "4 episodes" in run("export", tmp_path / "run", tmp_path / "all", "--failed").output


def test_what_cannot_be_exported(run, folder: Path) -> None:
    for arguments, told in (
        (("nowhere.jsonl", folder / "out"), "there are no trajectories at nowhere.jsonl"),
        ((folder, folder), "is there already"),
        ((folder, folder / "out", "--form", "csv"), "unknown form 'csv'"),
    ):
        result = run("export", *arguments)
        assert result.exit_code == 2
        assert told in result.stderr
