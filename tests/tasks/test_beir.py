"""Folders of BEIR as tasks, and the rows of question sets as FlashRAG and Search-R1 publish them."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs import tasks
from toolenvs.errors import TaskError

QUERIES = [
    {"_id": "PLAIN-2", "text": "Do statins cause cancer?", "metadata": {"url": "u"}},
    {"_id": "PLAIN-3", "text": " Breast cells "},
    {"_id": "7", "text": "Not judged in this split"},
]
TEST = "query-id\tcorpus-id\tscore\nPLAIN-3\tMED-1\t2\nPLAIN-2\tMED-10\t1\nPLAIN-2\tMED-9\t0\nPLAIN-2\tMED-8\t2\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels").mkdir()
    (tmp_path / "corpus.jsonl").write_text('{"_id": "MED-1", "title": "", "text": "a"}\n')
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in QUERIES))
    (tmp_path / "qrels" / "test.tsv").write_text(TEST)
    (tmp_path / "qrels" / "dev.tsv").write_text("7\tMED-1\t1\n")
    return tmp_path


def test_a_split_is_what_its_file_judges_in_the_order_of_the_queries(folder: Path) -> None:
    loaded = tasks.load(folder, split="test")
    assert [(task.id, task.question) for task in loaded] == [
        ("PLAIN-2", "Do statins cause cancer?"),
        ("PLAIN-3", "Breast cells"),
    ]
    assert loaded[0].extra["relevant"] == {"MED-10": 1, "MED-9": 0, "MED-8": 2}
    assert loaded[0].golds == ("MED-8", "MED-10")
    assert loaded[0].extra["metadata"] == {"url": "u"}
    assert [task.id for task in tasks.load(folder, split="validation")] == ["7"]
    with pytest.raises(TaskError, match="no file for split 'train'"):
        tasks.load(folder)


def test_line_ends_marks_packing_and_order_change_nothing(folder: Path) -> None:
    expected = list(tasks.load(folder, split="test"))
    head, *rest = TEST.splitlines()
    (folder / "qrels" / "test.tsv").write_bytes(b"\xef\xbb\xbf" + "\r\n".join([head, *rest, rest[0], ""]).encode())
    (folder / "queries.jsonl.gz").write_bytes(gzip.compress((folder / "queries.jsonl").read_bytes()))
    (folder / "queries.jsonl").unlink()
    assert list(tasks.load(folder, split="test")) == expected
    (folder / "qrels" / "test.tsv").write_text("\n".join(rest))  # without a head
    assert list(tasks.load(folder, split="test")) == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("PLAIN-2\tMED-1", r"test\.tsv: row 6: 'PLAIN-2\\tMED-1' is no judgement"),
        ("PLAIN-2 0 MED-1 1", "row 6: .* is no judgement"),
        ("PLAIN-2\tMED-1\t0.5", "row 6: .* is no judgement"),
        ("PLAIN-2\t\t1", "row 6: .* is no judgement"),
        ("PLAIN-2\tMED-8\t1", "row 6: passage 'MED-8' has the grades 2 and 1 for query 'PLAIN-2'"),
        ("PLAIN-9\tMED-8\t1", r"queries\.jsonl: no query 'PLAIN-9', which .*test\.tsv judges"),
    ],
)
def test_a_bad_judgement_is_named_by_its_row(folder: Path, line: str, message: str) -> None:
    with (folder / "qrels" / "test.tsv").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(TaskError, match=message):
        tasks.load(folder, split="test")


def test_a_bad_query_is_named_by_its_row(folder: Path) -> None:
    with (folder / "queries.jsonl").open("a") as file:
        file.write('{"text": "no id"}\n')
    with pytest.raises(TaskError, match=r"queries\.jsonl: row 4: no query"):
        tasks.load(folder, split="test")
    assert len(tasks.load(folder, split="test", on_bad_row="skip")) == 2


ids = st.text("abc-1\u00e9 ", min_size=1, max_size=4).filter(lambda key: key == key.strip())


@given(st.dictionaries(ids, st.dictionaries(ids, st.integers(1, 4), min_size=1, max_size=4), min_size=1, max_size=4))
def test_every_judgement_arrives(tmp_path_factory: pytest.TempPathFactory, judged: dict[str, dict[str, int]]) -> None:
    folder = tmp_path_factory.mktemp("beir")
    (folder / "qrels").mkdir()
    (folder / "queries.jsonl").write_text(
        "".join(json.dumps({"_id": key, "text": "q"}) + "\n" for key in judged), "utf-8"
    )
    rows = [f"{query}\t{key}\t{grade}\n" for query, grades in judged.items() for key, grade in grades.items()]
    (folder / "qrels" / "test.tsv").write_text("".join(["query-id\tcorpus-id\tscore\n", *sorted(rows)]), "utf-8")
    assert {task.id: task.extra["relevant"] for task in tasks.load(folder, split="test")} == judged


FLASHRAG: list[dict[str, Any]] = [
    {
        "id": "test_0",
        "question": "who founded Orrin & Co?",
        "golden_answers": ["Bel Orrin", "B. Orrin"],
        "metadata": {},
    },
    {"id": "test_1", "question": "Where is Tarn Hill?", "golden_answers": ["Lomir"], "metadata": None},
]
SEARCH_R1: list[dict[str, Any]] = [
    {
        **row,
        "data_source": "nq",
        "prompt": [{"role": "user", "content": f"Answer the given question. Question: {row['question']}\n"}],
        "ability": "fact-reasoning",
        "reward_model": {"style": "rule", "ground_truth": {"target": row["golden_answers"]}},
        "extra_info": {"split": "test", "index": number},
    }
    for number, row in enumerate(FLASHRAG)
]
PAPERSEARCHQA: list[dict[str, Any]] = [
    {
        "question": row["question"], "answer": row["golden_answers"][0], "golden_answers": row["golden_answers"],
        "pmid": 30000001, "cat_num": 1, "cat": "Genes", "is_paraphrased": False, "question_original": None,
    }
    for row in FLASHRAG
]  # fmt: skip


@pytest.mark.parametrize("rows", [FLASHRAG, SEARCH_R1, PAPERSEARCHQA], ids=["flashrag", "search_r1", "papersearchqa"])
def test_question_sets_as_they_are_published(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    from pyarrow import Table, parquet

    text = "".join(json.dumps(row) + "\r\n" for row in rows).encode()
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + text)
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(text.rstrip()))
    kept = [{key: value for key, value in row.items() if key != "metadata"} for row in rows]  # no struct without fields
    parquet.write_table(Table.from_pylist(kept), tmp_path / "c.parquet")
    for name in ("a.jsonl", "b.jsonl.gz", "c.parquet"):
        loaded = tasks.load(tmp_path / name)
        assert [task.question for task in loaded] == [row["question"] for row in FLASHRAG]
        assert [list(task.golds) for task in loaded] == [row["golden_answers"] for row in FLASHRAG]
        assert len({task.id for task in loaded}) == 2


def test_a_packed_file_is_read_by_split_and_told_when_cut(tmp_path: Path) -> None:
    many = [
        {"id": str(number), "question": f"What is {number}?", "answer": str(number * 7919)} for number in range(3000)
    ]
    data = gzip.compress("".join(json.dumps(row) + "\n" for row in many).encode())
    (tmp_path / "train.jsonl.gz").write_bytes(data)
    assert len(tasks.load(tmp_path)) == 3000
    (tmp_path / "train.jsonl.gz").write_bytes(data[: len(data) // 2])
    with pytest.raises(TaskError, match=r"train\.jsonl\.gz: (cannot be unpacked after row \d+|row \d+: not JSON)"):
        tasks.load(tmp_path)
    (tmp_path / "train.jsonl.gz").write_bytes(b"no gzip")
    with pytest.raises(TaskError, match="cannot be unpacked after row 0"):
        tasks.load(tmp_path)


def test_a_split_names_no_file_elsewhere(folder: Path) -> None:
    (folder.parent / "secret.tsv").write_text("query-id\tcorpus-id\tscore\n", "utf-8")
    for split in ("../../secret", str(folder.parent / "secret"), "../qrels/test"):
        with pytest.raises(TaskError, match="no file for split"):
            tasks.load(str(folder), split=split)
