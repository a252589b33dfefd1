"""Text-to-SQL sets as they lie on disk when unpacked, and what a missing or awkward part is told as."""

import contextlib
import gzip
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from toolenvs import tasks
from toolenvs.databases.sources import source_of
from toolenvs.errors import TaskError
from toolenvs.tasks import Task

Rows = list[dict[str, Any]]


def database(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE city (name TEXT, people INTEGER)")
        base.commit()


@pytest.fixture
def bird(tmp_path: Path, samples: dict[str, Rows]) -> Path:
    folder = tmp_path / "bird"
    for split in ("dev", "train"):
        database(folder / f"{split}_databases" / "shop" / "shop.sqlite")
    (folder / "dev.json").write_text(json.dumps(samples["bird"]))
    (folder / "dev_tables.json").write_text("[]")
    old = ("question_id", "difficulty")  # the training set has neither
    train = [{key: value for key, value in row.items() if key not in old} for row in samples["bird"]]
    (folder / "train.json").write_text(json.dumps(train))
    return folder


@pytest.fixture
def spider(tmp_path: Path, samples: dict[str, Rows]) -> Path:
    folder = tmp_path / "spider"
    database(folder / "database" / "shop" / "shop.sqlite")
    (folder / "tables.json").write_text("[]")
    for name, rows in (
        ("dev", samples["spider"]),
        ("train_spider", samples["spider"][:1]),
        ("train_others", samples["spider"][1:]),
    ):
        (folder / f"{name}.json").write_text(json.dumps(rows))
    return folder


def test_bird(bird: Path) -> None:
    loaded = tasks.load(bird, split="dev")
    assert [task.id for task in loaded] == ["12", "13"]
    assert loaded[0].source == "bird"
    assert dict(loaded[0].extra) == {
        "db_id": "shop",
        "difficulty": "simple",
        "evidence": "large means more than 5000 people",
        "database": str(bird / "dev_databases" / "shop" / "shop.sqlite"),
    }
    assert loaded[1].extra["evidence"] == ""
    assert [task.id for task in tasks.load(bird, split="validation")] == ["12", "13"]
    train = tasks.load(bird)
    assert [task.id for task in train] == ["row-0", "row-1"]
    assert train[0].extra["database"] == str(bird / "train_databases" / "shop" / "shop.sqlite")


def test_a_file_alone_has_no_databases(bird: Path) -> None:
    loaded = tasks.load(bird / "dev.json")
    assert loaded[0].extra["db_id"] == "shop"
    assert "database" not in loaded[0].extra


def test_spider(spider: Path) -> None:
    loaded = tasks.load(spider, split="dev")
    assert [task.golds for task in loaded] == [
        ("SELECT count(*) FROM city",), ("SELECT name FROM city WHERE people > 5",)
    ]  # fmt: skip
    assert dict(loaded[0].extra) == {
        "db_id": "shop", "evidence": "", "database": str(spider / "database" / "shop" / "shop.sqlite")
    }  # fmt: skip
    assert [task.question for task in tasks.load(spider)] == ["How many towns are there?", "Which towns?"]


def test_synsql(tmp_path: Path, samples: dict[str, Rows]) -> None:
    database(tmp_path / "databases" / "shop" / "shop.sqlite")
    (tmp_path / "data.json").write_text(json.dumps(samples["synsql"]))
    (tmp_path / "tables.json").write_text("[]")
    loaded = tasks.load(tmp_path)
    assert loaded[1].extra["evidence"] == "big: above 5"
    assert loaded[1].extra["sql_complexity"] == "Complex"
    assert loaded[1].extra["database"].endswith("shop.sqlite")


def test_archives_of_splits_side_by_side(tmp_path: Path, bird: Path) -> None:
    root = tmp_path / "all"
    for split, name in (("train", "train"), ("dev", "dev_20240627")):
        (root / name).mkdir(parents=True)
        for part in (f"{split}.json", f"{split}_databases"):
            (bird / part).rename(root / name / part)
    for split, name in (("train", "train"), ("dev", "dev_20240627"), ("validation", "dev_20240627")):
        base = root / name / f"{name.split('_')[0]}_databases" / "shop" / "shop.sqlite"
        assert {task.extra["database"] for task in tasks.load(root, split=split)} == {str(base)}


def test_a_split_that_is_not_there(bird: Path) -> None:
    with pytest.raises(TaskError, match="no questions for split 'test'; known: dev, train"):
        tasks.load(bird, split="test")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"db_id": "shops"}, r"dev\.json: row 1: its database .*shops\.sqlite is not there \(did you mean 'shop'\?\)"),
        ({"db_id": "../shop"}, "'db_id' is '../shop'; it must be the name of a database, not a path"),
        ({"db_id": ".."}, "must be the name of a database"),
        ({"db_id": None}, "key 'db_id' is missing"),
        ({"db_id": 3}, "key 'db_id' holds int"),
        ({"SQL": " "}, "key 'SQL' is empty"),
        ({"SQL": ["SELECT 1"]}, "key 'SQL' holds list; it must be text"),
        ({"question": ""}, "key 'question' is empty"),
        ({"evidence": 5}, "key 'evidence' holds int"),
    ],
)
def test_rows_that_cannot_be_used(bird: Path, samples: dict[str, Rows], changed: dict[str, Any], message: str) -> None:
    rows = [{**samples["bird"][0], **changed}, samples["bird"][1]]
    (bird / "dev.json").write_text(json.dumps(rows))
    with pytest.raises(TaskError, match=message):
        tasks.load(bird, split="dev", schema="bird")
    kept = tasks.load(bird, split="dev", schema="bird", on_bad_row="skip")
    assert [task.id for task in kept] == ["13"]
    assert len(kept.skipped) == 1


def test_awkward_but_good(bird: Path, samples: dict[str, Rows]) -> None:
    rows = [
        {**samples["bird"][0], "evidence": None, "SQL": "  SELECT\t'Ærø'  ", "question": "Größe?\r\n"},
        {**samples["bird"][1], "question_id": 13.0, "new_column": [1]},
    ]
    (bird / "dev.json").write_text("\ufeff" + json.dumps(rows, ensure_ascii=False), "utf-8")
    first, second = tasks.load(bird, split="dev")
    assert (first.question, first.gold, first.extra["evidence"]) == ("Größe?", "SELECT\t'Ærø'", "")
    assert (second.id, second.extra["new_column"]) == ("13", [1])


def test_two_questions_of_one_id(bird: Path, samples: dict[str, Rows]) -> None:
    (bird / "dev.json").write_text(json.dumps([row | {"question_id": 1} for row in samples["bird"]]))
    with pytest.raises(TaskError, match="id '1' is taken by another question"):
        tasks.load(bird, split="dev")


def test_folders_of_other_kinds_are_read_as_before(tmp_path: Path) -> None:
    (tmp_path / "database").mkdir()
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "a.jsonl").write_text('{"question": "What?", "answer": "That."}\n')
    assert tasks.load(tmp_path)[0].question == "What?"


@pytest.mark.parametrize("place", ["dev_databases/shop.sqlite", "dev_databases/dev_databases/shop/shop.sqlite"])
@pytest.mark.parametrize("name", ["dev.json", "dev.jsonl.gz"])
def test_other_ways_to_unpack(tmp_path: Path, samples: dict[str, Rows], place: str, name: str) -> None:
    database(tmp_path / place)
    (tmp_path / "dev_databases" / "__MACOSX").mkdir()
    if name.endswith(".gz"):
        (tmp_path / name).write_bytes(gzip.compress("\r\n".join(map(json.dumps, samples["bird"])).encode("utf-8-sig")))
    else:
        (tmp_path / name).write_text(json.dumps(samples["bird"]))
    loaded = tasks.load(tmp_path, split="dev")
    assert [task.extra["database"] for task in loaded] == [str(tmp_path / place)] * 2
    alone = Task(id="1", question="", extra={"db_id": "shop"})
    assert source_of(alone, folder=str(tmp_path / "dev_databases")) == tmp_path / place
