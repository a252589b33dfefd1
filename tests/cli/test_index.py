"""`toolenvs index`."""

from pathlib import Path

from typer.testing import CliRunner

from toolenvs import retrieval
from toolenvs.cli.app import app

PASSAGES = Path(__file__).parents[1] / "retrieval" / "data" / "passages.jsonl"


def test_index_builds_what_open_opens(tmp_path: Path) -> None:
    out = tmp_path / "index"
    done = CliRunner().invoke(app, ["index", str(PASSAGES), str(out), "--set", "k1=1.2", "--set", "processes=1"])
    assert done.exit_code == 0, done.output
    assert "46 passages" in done.output
    with retrieval.open(out) as retriever:
        assert retriever.search(["deepest lake"], 1)[0][0].id == "0"


def test_a_bad_corpus_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text("{}\n")
    done = CliRunner().invoke(app, ["index", str(tmp_path / "a.jsonl"), str(tmp_path / "index")])
    assert done.exit_code == 2
    assert "row 1 has no id" in done.output


def test_a_corpus_with_a_name_needs_no_file(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["index", "world:100:7", str(tmp_path / "index")])
    assert done.exit_code == 0, done.output
    with retrieval.open(tmp_path / "index") as retriever:
        assert retriever.size == 100


def test_a_corpus_that_is_not_there_is_told_with_the_nearest_name(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["index", "factboo", str(tmp_path / "index")])
    assert done.exit_code == 2
    assert "did you mean 'factbook'?" in done.output
