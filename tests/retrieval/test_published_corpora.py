"""Corpora as they are published, and as they arrive: other line ends, packed, numbered, cut short, repeated."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs import retrieval
from toolenvs.errors import ConfigError
from toolenvs.retrieval import Passage, read_corpus

WIKI_18 = [  # Search-R1's rows
    {"id": "0", "contents": '"Lake Vostrel"\nLake Vostrel is the deepest lake.'},
    {"id": "1", "contents": '"The "Old" Inn"\nIt burnt in 1903.\nTwice.'},
    {"id": "2", "contents": "No title, one line."},
    {"id": "3", "contents": '"Not a title" stands in this line.'},
    {"id": "4", "contents": '"Empty"\n'},
]
EXPECTED = [
    Passage("0", "Lake Vostrel", "Lake Vostrel is the deepest lake."),
    Passage("1", 'The "Old" Inn', "It burnt in 1903.\nTwice."),
    Passage("2", "", "No title, one line."),
    Passage("3", "", '"Not a title" stands in this line.'),
    Passage("4", "Empty", ""),
]


def lines(rows: list[dict[str, Any]], end: str = "\n") -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + end for row in rows).encode()


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n", " \t\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("last", [False, True])
def test_wiki_18_in_any_line_ends(tmp_path: Path, end: str, mark: bytes, packed: bool, last: bool) -> None:
    data = mark + lines(WIKI_18, end)
    data = data if last else data.rstrip()
    path = tmp_path / ("wiki-18.jsonl.gz" if packed else "wiki-18.jsonl")
    path.write_bytes(gzip.compress(data) if packed else data)
    assert list(read_corpus(path)) == EXPECTED
    assert [passage.contents for passage in EXPECTED[:4]] == [row["contents"] for row in WIKI_18[:4]]


@pytest.mark.parametrize(
    ("row", "passage"),
    [
        ({"id": 7, "contents": "text"}, Passage("7", "", "text")),
        ({"id": 7.0, "contents": "text"}, Passage("7", "", "text")),
        ({"id": 0, "title": None, "text": "text"}, Passage("0", "", "text")),
        ({"id": None, "_id": "MED-10", "title": "T", "text": "text", "metadata": {}}, Passage("MED-10", "T", "text")),
        ({"_id": "x", "text": ""}, Passage("x", "", "")),
        ({"id": "x", "title": "T", "text": "text", "contents": '"T"\ntext'}, Passage("x", "T", "text")),
        ({"id": "x", "title": "T", "contents": "text"}, Passage("x", "T", "text")),
        ({"id": "1\t2", "contents": "\x00\u2028a"}, Passage("1\t2", "", "\x00\u2028a")),
    ],
)
def test_rows_of_other_sets(tmp_path: Path, row: dict[str, Any], passage: Passage) -> None:
    (tmp_path / "a.jsonl").write_bytes(lines([row]))
    assert list(read_corpus(tmp_path / "a.jsonl")) == [passage]


def test_a_folder_of_beir(tmp_path: Path) -> None:
    rows = [{"_id": passage.id, "title": passage.title, "text": passage.text} for passage in EXPECTED]
    with pytest.raises(ConfigError, match=r"folder without corpus\.jsonl"):
        list(read_corpus(tmp_path))
    (tmp_path / "queries.jsonl").write_text("")
    (tmp_path / "corpus.jsonl.gz").write_bytes(gzip.compress(lines(rows)))
    assert list(read_corpus(tmp_path)) == EXPECTED
    assert len(retrieval.index(tmp_path, tmp_path / "index")) == len(EXPECTED)


def test_parquet_of_flashrag(tmp_path: Path) -> None:
    from pyarrow import Table, parquet

    tables = {
        "contents": [{"id": row["id"], "contents": row["contents"]} for row in WIKI_18],
        "numbered": [{"id": int(row["id"]), "contents": row["contents"]} for row in WIKI_18],
        "apart": [{"id": one.id, "title": one.title or None, "text": one.text} for one in EXPECTED],
    }
    for name, rows in tables.items():
        path = tmp_path / f"{name}.parquet"
        parquet.write_table(Table.from_pylist(rows), path, row_group_size=2)
        assert list(read_corpus(path)) == EXPECTED, name
    whole = (tmp_path / "contents.parquet").read_bytes()
    for size in (0, 3, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut.parquet").write_bytes(whole[:size])
        with pytest.raises(ConfigError, match=r"cut\.parquet cannot be read as Parquet after row 0"):
            list(read_corpus(tmp_path / "cut.parquet"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (lines(WIKI_18)[:-20], r"row 5: no JSON .*the file ends within this line"),
        (lines(WIKI_18[:2]) + b'{"id": "2", "contents": "\xff"}\n' + lines(WIKI_18[3:]), "row 3: no JSON"),
        (lines(WIKI_18[:1]) + b"\r\n\r\n{}\r\n", "row 4 has no id"),
        (lines(WIKI_18[:1]) + b"[" * 100_000 + b"\n", "row 2: no JSON"),
        (lines([WIKI_18[0], {"id": "1", "contents": None}]), r"row 2 \(id '1'\) has no text"),
        (lines([WIKI_18[0], {"id": 1.5, "contents": "a"}]), "row 2 has no id"),
        (lines([WIKI_18[0], {"id": True, "contents": "a"}]), "row 2 has no id"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_what_is_wrong_is_named_by_its_row(tmp_path: Path, data: bytes, message: str, packed: bool) -> None:
    path = tmp_path / ("bad.jsonl.gz" if packed else "bad.jsonl")
    path.write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(ConfigError, match=message):
        list(read_corpus(path))


def test_a_packed_file_that_is_cut_short_gives_its_whole_rows_first(tmp_path: Path) -> None:
    rows = [{"id": str(number), "contents": f"text {number * 7919}"} for number in range(5000)]
    data = gzip.compress(lines(rows))
    (tmp_path / "cut.jsonl.gz").write_bytes(data[: len(data) // 2])
    read: list[Passage] = []
    with pytest.raises(ConfigError, match=r"cut\.jsonl\.gz.* row \d+") as caught:
        read.extend(iter_until_error(tmp_path / "cut.jsonl.gz", read))
    assert len(read) > 1000
    assert [passage.id for passage in read] == [str(number) for number in range(len(read))]
    assert str(len(read)) in str(caught.value) or str(len(read) + 1) in str(caught.value)
    (tmp_path / "no.jsonl.gz").write_bytes(lines(rows[:2]))
    with pytest.raises(ConfigError, match=r"cannot be unpacked after row 0"):
        list(read_corpus(tmp_path / "no.jsonl.gz"))


def iter_until_error(path: Path, into: list[Passage]) -> list[Passage]:
    for passage in read_corpus(path):
        into.append(passage)
    return []


def test_numbers_and_texts_that_are_the_same_id_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(
        lines([{"id": 7, "contents": "a"}, {"id": "8", "text": "b"}, {"_id": "7", "text": ""}])
    )
    with pytest.raises(ConfigError, match="passages 1 and 3 of the corpus have the same id '7'"):
        retrieval.index(tmp_path / "a.jsonl", tmp_path / "index")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


@given(
    st.lists(st.tuples(texts.filter(lambda title: "\n" not in title), texts), max_size=6),
    st.sampled_from(["\n", "\r\n"]),
)
def test_nothing_is_lost_in_any_of_the_forms(
    tmp_path_factory: pytest.TempPathFactory, made: list[tuple[str, str]], end: str
) -> None:
    folder = tmp_path_factory.mktemp("forms")
    passages = [Passage(str(number), title, text) for number, (title, text) in enumerate(made)]
    apart = [{"_id": one.id, "title": one.title, "text": one.text} for one in passages]
    (folder / "apart.jsonl").write_bytes(lines(apart, end))
    assert list(read_corpus(folder / "apart.jsonl")) == passages
    together = [{"id": one.id, "contents": one.contents} for one in passages]
    (folder / "together.jsonl.gz").write_bytes(gzip.compress(lines(together, end)))
    found = list(read_corpus(folder / "together.jsonl.gz"))
    assert [one.contents for one in found] == [one.contents for one in passages]
