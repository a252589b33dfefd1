"""Corpora in the formats in use; what is wrong with a row is said."""

import gzip
import json
from pathlib import Path

import pytest

from toolenvs import retrieval
from toolenvs.errors import ConfigError
from toolenvs.retrieval import Passage, read_corpus


def test_formats(tmp_path: Path) -> None:
    from pyarrow import Table, parquet

    expected = [Passage("7", "Lake", "It is deep.\nVery."), Passage("x", "", "No title here.")]
    search_r1 = [
        {"id": 7, "contents": '"Lake"\nIt is deep.\nVery.'},
        {"id": "x", "contents": "No title here."},
    ]
    beir = [
        {"_id": "7", "title": "Lake", "text": "It is deep.\nVery.", "metadata": {}},
        {"_id": "x", "title": "", "text": "No title here."},
    ]
    (tmp_path / "a.jsonl").write_text("\n\n".join(map(json.dumps, search_r1)), "utf-8")
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in beir), "utf-8")
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress((tmp_path / "corpus.jsonl").read_bytes()))
    rows = [{**row, "id": str(row["id"])} for row in search_r1]
    parquet.write_table(Table.from_pylist(rows), tmp_path / "c.parquet")
    for name in ("a.jsonl", "corpus.jsonl", "b.jsonl.gz", "c.parquet"):
        told: list[tuple[int, int]] = []
        assert list(read_corpus(tmp_path / name, lambda done, total, told=told: told.append((done, total)))) == expected
        assert told[-1][0] == told[-1][1] > 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "row 2: no JSON"),
        ("[1]", "row 2 is no object"),
        ('{"contents": "a"}', "row 2 has no id"),
        ('{"id": "", "contents": "a"}', "row 2 has no id"),
        ('{"id": "b"}', r"row 2 \(id 'b'\) has no text"),
        ('{"id": "b", "text": 3}', r"row 2 \(id 'b'\) has no text"),
        ('{"id": "a", "contents": "b"}', "passages 1 and 2 of the corpus have the same id 'a'"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_written(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "bad.jsonl").write_text('{"id": "a", "contents": "b"}\n' + line + "\n", "utf-8")
    with pytest.raises(ConfigError, match=message):
        retrieval.index(tmp_path / "bad.jsonl", tmp_path / "index")
    assert list((tmp_path / "index").iterdir()) == []


def test_files_and_options_that_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text")
    with pytest.raises(ConfigError, match="neither"):
        list(read_corpus(tmp_path / "a.csv"))
    with pytest.raises(ConfigError, match="no corpus file"):
        list(read_corpus(tmp_path / "b.jsonl"))
    with pytest.raises(ConfigError, match="did you mean 'bm25'"):
        retrieval.index(tmp_path / "b.jsonl", tmp_path / "index", ["bm24"])
    with pytest.raises(ConfigError, match=r"names in a list, such as \('bm25',\)"):
        retrieval.index(tmp_path / "b.jsonl", tmp_path / "index", "bm25")
    (tmp_path / "c.jsonl").write_text('{"id": "1", "text": "lake"}\n')
    with pytest.raises(ConfigError, match=r"c.jsonl is a file: give a folder"):
        retrieval.index(tmp_path / "c.jsonl", tmp_path / "c.jsonl")
    with pytest.raises(ConfigError, match="encoder 'wordllama': .*unexpected keyword argument 'size'"):
        retrieval.index(tmp_path / "c.jsonl", tmp_path / "index", ["dense"], {"encoder_options": {"size": 1}})
    with pytest.raises(ConfigError, match="no option 'k2'"):
        retrieval.index(tmp_path / "b.jsonl", tmp_path / "index", options={"k2": 1})


def test_half_of_a_surrogate_pair_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": "1", "contents": "lake \\ud83d end \\ud83d\\ude00"}\n', "utf-8")
    retrieval.index(tmp_path / "a.jsonl", tmp_path / "index")
    with retrieval.open(tmp_path / "index") as retriever:
        assert retriever.search(["lake"])[0][0].text == "lake \ufffd end 😀"
