"""`toolenvs view`; what the page holds is tested in tests/test_view.py."""

from pathlib import Path

import pytest


@pytest.fixture
def folder(run, tmp_path: Path) -> Path:
    run("eval", "ReTool-v0", "--agent", "oracle", "--tasks", 3, "--out", tmp_path / "run")
    (tmp_path / "run" / "metrics.jsonl").write_text('{"step": 1}\n', encoding="utf-8")
    return tmp_path / "run"


def test_a_run_folder_becomes_one_file(run, folder: Path) -> None:
    out = folder / "deep" / "view.html"
    result = run("view", folder, "--out", out)
    assert result.exit_code == 0
    assert "3 episodes, " in result.output
    assert "number_theory/test/0/2" in out.read_text(encoding="utf-8")


def test_the_limit_is_told(run, folder: Path) -> None:
    out = folder / "view.html"
    assert "2 episodes of 3; --limit embeds more" in run("view", folder, "--out", out, "--limit", 2).output
    assert out.read_text(encoding="utf-8").count('"number_theory/test/0/') == 2


def test_a_trainer_keeps_trajectories_in_a_folder(run, folder: Path) -> None:
    (folder / "trajectories").mkdir()
    (folder / "trajectories.jsonl").rename(folder / "trajectories" / "step-000001.jsonl")
    assert "3 episodes, " in run("view", folder, "--out", folder / "view.html").output


def test_a_run_that_kept_no_episodes_is_told_how_it_would(run, folder: Path) -> None:
    (folder / "trajectories.jsonl").unlink()
    result = run("view", folder, "--out", folder / "view.html")
    assert (result.exit_code, "0 episodes, " in result.output) == (0, True)
    assert "give `--trajectories_every 1` when it trains" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nowhere.jsonl",), "there are no trajectories at nowhere.jsonl"),
        (("nowhere.jsonl", "--tokenizer", "nowhere"), "there is no tokenizer at nowhere"),
    ],
)
def test_what_is_not_there(run, arguments: tuple[str, ...], told: str) -> None:
    result = run("view", *arguments)
    assert result.exit_code == 2
    assert told in result.stderr


def test_an_output_that_cannot_be_written(run, folder: Path) -> None:
    result = run("view", folder, "--out", folder)
    assert result.exit_code == 2
    assert f"--out {folder} not be written" in result.stderr
