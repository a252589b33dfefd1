"""The same query gives the same bytes in any process; a database is shared, cancelled, forked and closed safely."""

import asyncio
import contextlib
import hashlib
import json
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from toolenvs import databases
from toolenvs.databases import Database, Limits
from toolenvs.errors import ConfigError, DatabaseError

_QUERIES = [
    "SELECT * FROM Track ORDER BY Composer, Name", "SELECT Composer, count(*) FROM Track GROUP BY Composer",
    "SELECT DISTINCT GenreId FROM Track", "SELECT random(), Name FROM Genre ORDER BY random()",
    "SELECT datetime('now')",
    "SELECT count(*) FROM Track a, Track b, Track c", "SELECT nothing", "SELECT * FROM Genres", "DELETE FROM Genre",
    "SELECT json_group_object(Name, GenreId) FROM Genre", "SELECT a.*, b.* FROM Track a, Track b",
    "EXPLAIN QUERY PLAN SELECT * FROM Track t JOIN Genre g USING (GenreId)", "PRAGMA table_list",
]  # fmt: skip
_OF_ALL_ENGINES = [
    'SELECT * FROM "Track" ORDER BY "Composer", "Name"', 'SELECT "Composer", count(*) FROM "Track" GROUP BY "Composer"',
    'SELECT DISTINCT "GenreId" FROM "Track"', 'SELECT random(), "Name" FROM "Genre" ORDER BY random()',
    'SELECT count(*), sum(a."Milliseconds") FROM "Track" a JOIN "Track" b ON a."GenreId" = b."GenreId"',
    'SELECT "GenreId", avg("Milliseconds"), sum("UnitPrice") FROM "Track" GROUP BY "GenreId"',
    'SELECT "Name", avg("Milliseconds") OVER (PARTITION BY "GenreId" ORDER BY "TrackId") FROM "Track"',
    'SELECT "Name" FROM "Track" UNION SELECT "Name" FROM "Genre"',
    "SELECT string_agg(\"Name\", ', ') FROM \"Genre\"", 'SELECT * FROM "Long" LIMIT 5000',
    'SELECT "Name" FROM "Genres"', 'SELECT "Nam" FROM "Genre"',
    "SELECT 1/0, 0.1 + 0.2, 'é', NULL", 'DELETE FROM "Genre"', "SELECT 1; SELECT 2",
    "SELEC 1",
]  # fmt: skip
_PROGRAM = """
import sys
from toolenvs import databases
with databases.open(sys.argv[1], workers=1, timeout_s=60, max_steps=500_000) as database:
    for sql in sys.argv[2:]:
        result = database.query(sql)
        print(repr((result.text, result.rows, result.columns, result.total_rows, result.steps, result.code)))
    print(database.schema(samples=3))
"""


def _started(source: str, queries: list[str], seed: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, source, *queries],
        env={**os.environ, "PYTHONHASHSEED": str(seed)},
        stdout=subprocess.PIPE,
    )


@pytest.mark.parametrize("engine", ["sqlite_file", "duckdb_file", "postgres_address"])
def test_the_same_bytes_in_processes_with_other_hash_seeds(engine: str, request: pytest.FixtureRequest) -> None:
    source = str(request.getfixturevalue(engine))
    queries = _OF_ALL_ENGINES + (_QUERIES if engine == "sqlite_file" else [])
    outputs = set()
    for first in range(0, 20, 4):  # a few at a time
        for process in [_started(source, queries, seed) for seed in range(first, first + 4)]:
            outputs.add(process.communicate()[0])
            assert process.returncode == 0
    assert len(outputs) == 1
    assert outputs.pop().count(b"\n") == len(queries) + 1


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_samples_of_views_depend_on_no_query_before(engine: str, tmp_path: Path) -> None:
    """They stand in prompts."""
    view = "CREATE VIEW v AS SELECT date('now') AS day, current_timestamp AS moment, random() AS number"
    path = tmp_path / "one.db"
    if engine == "duckdb":
        import duckdb

        with duckdb.connect(str(path)) as made:
            made.execute(view.replace("date('now')", "current_date"))
    else:
        with contextlib.closing(sqlite3.connect(path)) as made:
            made.execute(view.replace("random()", "hex(randomblob(100))"))
    told = set()
    for before in ({}, {"now": "1999-09-09 09:09:09"}, {"seed": 3}, {"limits": Limits(max_value_bytes=50)}):
        with databases.open(f"{engine}:///{path}", workers=1, now="2025-01-31 23:59:59") as opened:
            if before:
                opened.query("SELECT random(), current_date", **before)
            told.add(opened.schema(samples=2))
    (schema,) = told
    day, moment, number = (column.samples[0] for column in schema.tables[0].columns)
    assert (day, str(moment)[:19]) == ("2025-01-31", "2025-01-31 23:59:59")
    assert number


def test_the_file_is_the_same_after_everything(sqlite: Database, sqlite_file: Path) -> None:
    before = hashlib.sha256(sqlite_file.read_bytes()).hexdigest()
    for line in Path(__file__).with_name("sql_cases.jsonl").read_text("utf-8").splitlines():
        sqlite.query(json.loads(line)["sql"], sqlite.limits.override(max_steps=100_000))
    assert sqlite.fingerprint() == before  # type: ignore[attr-defined]
    assert [path.name for path in sqlite_file.parent.iterdir()] == [sqlite_file.name]


async def test_many_ask_at_once(sqlite_file: Path) -> None:
    async with databases.open(sqlite_file, workers=2, timeout_s=60) as opened:
        results = await asyncio.gather(*(opened.aquery(f"SELECT {n}, count(*) FROM Track") for n in range(30)))
        assert [result.rows[0] for result in results] == [(n, 3503) for n in range(30)]
        assert (await opened.aschema(samples=1)).table("Genre") == opened.schema(samples=1).table("Genre")


async def test_a_cancelled_query_gives_its_place_back(sqlite_file: Path) -> None:
    slow = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    async with databases.open(sqlite_file, workers=1, timeout_s=600, max_steps=2_000_000_000) as opened:
        running = asyncio.ensure_future(opened.aquery(slow))
        waiting = asyncio.ensure_future(opened.aquery("SELECT 1"))
        given_up = asyncio.ensure_future(opened.aquery("SELECT 2"))
        await asyncio.sleep(0.1)
        for task in (given_up, running):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert (await waiting).rows == ((1,),)
        assert opened.query("SELECT 3").rows == ((3,),)


async def test_the_event_loop_goes_on_while_a_query_hangs(sqlite_file: Path) -> None:
    sql = "SELECT count(*) FROM Track a, Track b, Track c"
    turns = 0
    async with databases.open(sqlite_file, workers=1, timeout_s=0.3, max_steps=2_000_000_000) as opened:
        running = asyncio.ensure_future(opened.aquery(sql))
        while not running.done():
            await asyncio.sleep(0.01)
            turns += 1
        assert (await running).code == "timeout"
    assert turns > 3


def test_threads_share_a_database(sqlite_file: Path) -> None:
    found: list[object] = []
    with databases.open(sqlite_file, workers=2, timeout_s=60) as opened:
        threads = [
            threading.Thread(target=lambda n=n: found.append(opened.query(f"SELECT {n}").rows[0][0])) for n in range(20)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(map(str, found)) == sorted(map(str, range(20)))


def _ask(opened: Database, answers: "multiprocessing.Queue[object]") -> None:
    answers.put(opened.query("SELECT count(*) FROM Genre").rows[0][0])
    opened.close()


def test_a_forked_child_asks_by_itself(sqlite_file: Path) -> None:
    context = multiprocessing.get_context("fork")
    answers: multiprocessing.Queue[object] = context.Queue()
    with databases.open(sqlite_file, workers=1, timeout_s=60) as opened:
        child = context.Process(target=_ask, args=(opened, answers))
        child.start()
        assert answers.get() == 25
        child.join()
        assert opened.query("SELECT 1").rows == ((1,),)
    answers.close()
    answers.join_thread()


def test_a_closed_database_says_so(sqlite_file: Path) -> None:
    opened = databases.open(sqlite_file, workers=1)
    worker = opened._pool._idle[0]._process.pid
    opened.close()
    opened.close()
    assert not Path(f"/proc/{worker}").exists()
    with pytest.raises(DatabaseError, match="closed"):
        opened.query("SELECT 1")


def test_processes_end_with_their_owner(sqlite_file: Path) -> None:
    program = (
        "import sys, os; from toolenvs import databases\n"
        "database = databases.open(sys.argv[1], workers=1)\n"
        "print(database._pool._idle[0]._process.pid, flush=True)\n"
        "os._exit(0)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(sqlite_file)], capture_output=True, text=True, check=True
    )
    while Path(f"/proc/{int(ended.stdout)}").exists():  # or the test never ends
        time.sleep(0.05)


def test_one_database_for_all_who_ask_alike(sqlite_file: Path) -> None:
    one = databases.shared(sqlite_file, workers=1)
    assert databases.shared(sqlite_file, workers=1) is one
    assert databases.shared(sqlite_file, workers=1, seed=5) is not one
    one.close()
    databases.shared(sqlite_file, workers=1, seed=5).close()


@pytest.mark.parametrize(
    ("option", "match"),
    [
        ({"max_rowz": 1}, "did you mean 'max_rows'"), ({"max_rows": 0}, "positive"), ({"max_rows": 1.5}, "whole"),
        ({"workers": 0}, "workers"), ({"keep": -1}, "keep"), ({"memory_mb": 1}, "memory_mb"),
        ({"seed": -1}, "seed"), ({"now": "today"}, "now"), ({"now": "٢٠٢٥-01-31 00:00:00"}, "now"),
        ({"timeout_s": True}, "timeout_s"),
    ],
)  # fmt: skip
def test_options_are_checked(sqlite_file: Path, option: dict[str, object], match: str) -> None:
    with pytest.raises(ConfigError, match=match):
        databases.open(sqlite_file, **option)
