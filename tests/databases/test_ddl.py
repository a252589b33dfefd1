"""A schema within a budget of characters."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from toolenvs import databases
from toolenvs.databases import Column, ForeignKey, Schema, Table, ddl
from toolenvs.databases.sources import source_of
from toolenvs.errors import TaskError
from toolenvs.tasks.task import Task

SCHEMA = Schema(
    "sqlite",
    (
        Table(
            "city",
            "table",
            (
                Column("id", "INTEGER", primary_key=1, samples=(1, 2, 3)),
                Column("big name", "TEXT", nullable=False, samples=("O'Hara", "x" * 90, "y")),
                Column("country", "", samples=(None, 2.5)),
            ),
            (ForeignKey(("country",), "country", ("id",)),),
        ),
        Table(
            "pair",
            "view",
            (Column("a", "INTEGER", primary_key=1), Column("b", "INTEGER", primary_key=2)),
            (ForeignKey(("a", "b"), "other", ("p", "q")),),
        ),
    ),
)


def test_everything_where_there_is_room() -> None:
    text = ddl.compact(SCHEMA, samples=2)
    assert text == (
        "CREATE TABLE city (\n"
        "  id INTEGER PRIMARY KEY, -- 1, 2\n"
        f'  "big name" TEXT NOT NULL, -- "O\'Hara", \'{"x" * 40}\'\n'
        "  country REFERENCES country (id) -- NULL, 2.5\n"
        ");\n"
        "CREATE VIEW pair (\n"
        "  a INTEGER,\n"
        "  b INTEGER,\n"
        "  PRIMARY KEY (a, b),\n"
        "  FOREIGN KEY (a, b) REFERENCES other (p, q)\n"
        ");"
    ).replace("  a INTEGER,", "  a INTEGER,")


def test_values_go_first_then_types_then_tables() -> None:
    full = ddl.compact(SCHEMA)
    lengths = [len(ddl.compact(SCHEMA, max_chars=size)) for size in range(len(full), 80, -1)]
    assert lengths == sorted(lengths, reverse=True)
    assert all(length <= size for length, size in zip(lengths, range(len(full), 80, -1), strict=True))
    assert ddl.compact(SCHEMA, max_chars=60) == 'city(id, "big name", country)\npair(a, b)'
    assert ddl.compact(SCHEMA, max_chars=35) == 'city(id, "big name", country)\n(1 of 2 tables are shown)'
    assert ddl.compact(SCHEMA, max_chars=1) == "(0 of 2 tables are shown)"


def test_what_is_shown_can_be_run(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "a.sqlite")) as base:
        base.execute('CREATE TABLE "a ""b" (id INTEGER PRIMARY KEY, "select" TEXT NOT NULL)')
        base.execute('INSERT INTO "a ""b" VALUES (1, \'x -- y\')')
        base.commit()
    with databases.open(tmp_path / "a.sqlite", workers=1) as opened:
        text = ddl.compact(opened.schema(samples=3))
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        base.executescript(text)
        assert [row[1] for row in base.execute('PRAGMA table_info("a ""b")')] == ["id", "select"]


def test_which_database_a_task_is_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "shop").mkdir()
    file = tmp_path / "shop" / "shop.sqlite"
    file.touch()
    by_id = Task(id="t", question="", extra={"db_id": "shop"})
    assert source_of(by_id, folder=str(tmp_path)) == file
    assert source_of(Task(id="t", question="", extra={"database": str(file)}), default="world:200") == file
    assert source_of(Task(id="t", question=""), default="world:200").name.startswith("world-200-0-")
    with pytest.raises(TaskError, match="does not say which database"):
        source_of(by_id)
    with pytest.raises(TaskError, match=r"database .*lost\.sqlite is not there; is .* the right folder"):
        source_of(Task(id="t", question="", extra={"db_id": "lost"}), folder=str(tmp_path))
    with pytest.raises(TaskError, match="its database nothing.db is not there"):
        source_of(Task(id="t", question="", extra={"database": "nothing.db"}))
