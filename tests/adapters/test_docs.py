"""The examples of docs/adapters.md run, each where its framework is."""

import re
from pathlib import Path
from typing import Any

import pytest

TEXT = (Path(__file__).parents[2] / "docs" / "adapters.md").read_text("utf-8")
SNIPPETS = dict(re.findall(r"<!-- (\w+) -->\n```python\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE))


def run(name: str, **given: Any) -> dict[str, Any]:
    space: dict[str, Any] = dict(given)
    exec(compile(SNIPPETS[name], f"docs/adapters.md, {name}", "exec"), space)
    return space


def test_every_example_is_run_here() -> None:
    assert set(SNIPPETS) == {"trl", "environment_factory", "skyrl", "datasets"}
    assert len(SNIPPETS) == TEXT.count("```python")


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning", "ignore::DeprecationWarning")
def test_trl(model: Any, tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    short = SNIPPETS["trl"].replace("max_completion_length=1024", "max_completion_length=4, report_to='none'")
    monkeypatch.setitem(SNIPPETS, "trl", short)
    run("trl", model=model, tokenizer=tokenizer, folder=str(tmp_path))


def test_environment_factory(capsys: pytest.CaptureFixture[str]) -> None:
    run("environment_factory")
    assert capsys.readouterr().out.startswith("{'code_interpreter': 'python'} [{")


@pytest.mark.adapters
@pytest.mark.filterwarnings("default")
def test_skyrl(capsys: pytest.CaptureFixture[str]) -> None:
    run("skyrl")
    assert "True {'use_conversation_multi_turn': False" in capsys.readouterr().out


def test_datasets(byte_codec: Any, tmp_path: Path) -> None:
    from tests.adapters.test_datasets import ANSWER, CALL, episodes
    from toolenvs.rollout import TrajectoryWriter

    with TrajectoryWriter(tmp_path / "run.jsonl") as writer:
        for trajectory in episodes(byte_codec, CALL, ANSWER):
            writer.write(trajectory)
    run("datasets", run=tmp_path / "run.jsonl", out=tmp_path / "out.parquet")
