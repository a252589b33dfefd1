"""`toolenvs runs`; the figures themselves are tested in tests/train/test_comparison.py."""

import json
from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two seeds of two arms."""
    for name, lr, last in (("plain", 1e-6, 0.5), ("faster", 1e-5, 0.9)):
        for seed in (0, 1):
            run = tmp_path / "runs" / f"{name}-{seed}"
            run.mkdir(parents=True)
            lines = [{"step": 0, "test_success": 0.2}, {"step": 10, "success": 0.4, "test_success": last + seed / 20}]
            (run / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
            told = {"script": "GRPO", "settings": {"seed": seed, "lr": lr, "steps": 10}}
            (run / "settings.json").write_text(json.dumps(told), encoding="utf-8")
    event = {"step": 7, "monitor": "entropy", "event": "begins", "text": "It fell."}
    (tmp_path / "runs/plain-0/events.jsonl").write_text(json.dumps(event) + "\n", encoding="utf-8")
    return tmp_path / "runs"


def _row(output: str, *words: str) -> str:
    (row,) = [line for line in output.splitlines() if all(word in line for word in words)]
    return " ".join(row.replace("│", " ").split())


def test_runs_are_listed_with_their_last_warning(run, folder: Path) -> None:
    result = run("runs", "list", folder)
    assert result.exit_code == 0
    assert _row(result.output, "plain-0").endswith("GRPO 0 10/10 0.400 0.500 1, last entropy at 7")
    assert _row(result.output, "faster-1").endswith("GRPO 1 10/10 0.400 0.950")


def test_runs_are_drawn(run, folder: Path) -> None:
    out = folder / "curves.png"
    result = run("runs", "plot", folder, "--out", out, "-m", "test_success", "-m", "success")
    assert result.exit_code == 0
    assert out.read_bytes().startswith(b"\x89PNG")
    assert "faster (2), plain (2)" in result.output


def test_arms_are_compared_seed_by_seed(run, folder: Path) -> None:
    result = run("runs", "compare", folder / "plain-0", folder / "plain-1", folder, "--threshold", 0.9)
    assert result.exit_code == 0
    assert _row(result.output, "plain-1").endswith("1 0.550 0.550 10 0.375 never")
    assert _row(result.output, "faster-0").endswith("0 0.900 0.900 10 0.550 10")
    assert _row(result.output, "mean of plain").endswith("mean of plain 0.525 0.525 0.362 not all")
    assert _row(result.output, "+0.400") == "faster +0.400 ± 0.000 +0.400 ± 0.000 +0.200 ± 0.000 2"
    assert _row(result.output, "lr") == "lr 1e-06 1e-05"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("compare", "{folder}", "--metric", "test_sucess"), "no run has the metric 'test_sucess'; they have success"),
        (("compare", "{folder}/nowhere"), "there is no run in"),
        (("plot", "{folder}", "-m", "nothing"), "none of ['nothing'] stands in the metrics"),
        (("plot", "{folder}", "--out", "{folder}/curve.nothing"), "cannot be written"),
    ],
)
def test_what_is_not_there(run, folder: Path, arguments: tuple[str, ...], told: str) -> None:
    result = run("runs", *(argument.format(folder=folder) for argument in arguments))
    assert result.exit_code == 2
    assert told in result.stderr
