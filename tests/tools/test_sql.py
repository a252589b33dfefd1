"""The SQL tool: rows, errors and schemas as a model reads them."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from toolenvs.errors import ToolError
from toolenvs.tasks.task import Task
from toolenvs.tools.base import ToolResult
from toolenvs.tools.sql import Options, Tool


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "towns.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.execute('CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT, "a b" REAL)')
        base.executemany(
            "INSERT INTO city VALUES (?, ?, ?)", [(n, f"Town {n}", None if n == 2 else n / 4) for n in range(1, 101)]
        )
        base.execute("CREATE TABLE road (a INTEGER REFERENCES city (id), b INTEGER)")
        base.commit()
    return path


async def call(path: Path, query: object, **options: int) -> ToolResult:
    tool = Tool(Options(database=str(path), **options))
    await tool.check()
    session = await tool.open(Task(id="t", question=""), seed=5, progress=0.0)
    fork = await session.fork()
    result = await session.call({"query": query})
    assert (await fork.call({"query": query})).text == result.text
    await session.close()
    await tool.close()
    return result


async def test_rows(path: Path) -> None:
    result = await call(path, 'SELECT name, "a b" FROM city ORDER BY id LIMIT 2;')
    assert result.text == "name | a b\nTown 1 | 0.25\nTown 2 | NULL\n(2 rows)"
    assert result.status == "ok"
    assert (result.data["columns"], result.data["rows"], result.data["code"]) == (("name", "a b"), 2, None)


async def test_long_results_are_cut_with_a_note(path: Path) -> None:
    result = await call(path, "SELECT id FROM city", max_rows=3)
    assert result.text == "id\n1\n2\n3\n(3 of 100 rows are shown)"


async def test_errors_are_told_and_name_no_path(path: Path) -> None:
    wrong = {"SELECT x FROM city": "error"}
    wrong |= dict.fromkeys(("DELETE FROM city", "SELECT 1; SELECT 2", "ATTACH 'y.db' AS y", ""), "refused")
    for query, status in wrong.items():
        result = await call(path, query)
        assert result.status == status
        assert str(path.parent) not in result.text
        assert result.text.startswith(f"{status.capitalize()} (")


async def test_all_rows_are_shown_where_they_fit(path: Path) -> None:
    query = "SELECT id FROM city"
    whole = await call(path, query, max_rows=3, all_that_fits=True, max_chars=400)
    assert whole.text.endswith("\n100\n(100 rows)")
    assert len(whole.text) == 3 + 9 * 2 + 90 * 3 + 4 + len("(100 rows)")
    for max_chars in (len(whole.text), len(whole.text) - 1):  # the whole text counts
        shown = await call(path, query, max_rows=3, all_that_fits=True, max_chars=max_chars)
        assert shown.text == (whole.text if max_chars == len(whole.text) else "id\n1\n2\n3\n(3 of 100 rows are shown)")
    more = "SELECT a.id FROM city AS a, city AS b"  # more than are read
    assert "(3 of 10,000 rows are shown)" in (await call(path, more, max_rows=3, all_that_fits=True)).text


async def test_schemas(path: Path) -> None:
    whole = (await call(path, ".schema")).text
    one = (await call(path, " .SCHEMA City ; ", samples=0)).text
    assert one == 'CREATE TABLE city (\n  id INTEGER PRIMARY KEY,\n  name TEXT,\n  "a b" REAL\n);'
    assert "a INTEGER REFERENCES city (id)," in whole
    assert "name TEXT, -- 'Town 1'" in whole
    assert (await call(path, ".tables")).text == "city, road"
    with pytest.raises(ToolError, match=r"no table is called 'citty'; did you mean 'city'\?"):
        await call(path, ".schema citty")


@pytest.mark.parametrize("query", [None, 3, ["SELECT 1"]])
async def test_a_query_must_be_text(path: Path, query: object) -> None:
    with pytest.raises(ToolError, match="must be a string with one query"):
        await call(path, query)


async def test_a_task_without_a_database_is_told(path: Path) -> None:
    session = await Tool(Options()).open(Task(id="lost", question=""), seed=0, progress=0.0)
    with pytest.raises(ToolError, match="task 'lost' does not say which database it is about"):
        await session.call({"query": "SELECT 1"})
