"""SQLite: what may be asked, what is refused, and that nothing is left behind."""

import contextlib
import hashlib
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from toolenvs import databases
from toolenvs.databases import Database, Limits
from toolenvs.errors import ConfigError, DatabaseError

_KEYWORD_STATEMENTS = [
    "ANALYZE", "REINDEX", "DROP TABLE Genre", "DROP VIEW Long", "DELETE FROM Genre", "END", "RELEASE a",
    "CREATE INDEX i ON Genre(Name)", "CREATE TABLE t(a)", "VACUUM INTO '/tmp/copy.db'", "ATTACH ':memory:' AS m",
    "WITH a AS (SELECT 1) INSERT INTO Genre SELECT 100, 'x'", "WITH a AS (SELECT 1) DELETE FROM Genre",
    "WITH a AS (SELECT 1) UPDATE Genre SET Name = 'x'", "EXPLAIN DELETE FROM Genre",
    "EXPLAIN QUERY PLAN DELETE FROM Genre", "explain query plan drop table Genre",
    "INSERT INTO Words(Words) VALUES ('optimize')",
]  # fmt: skip
_REFUSED_TABLES = ["pragma_function_list", "pragma_module_list", "pragma_compile_options", "dbstat", "sqlite_stmt"]
_REFUSED_CALLS = ["load_extension('x')", "load_extension('x', 'y')", "fts3_tokenizer('simple')", "sqlite_log(1, 'x')"]


@pytest.mark.parametrize("sql", _KEYWORD_STATEMENTS)
def test_statements_that_do_not_read_are_refused(sqlite: Database, sqlite_file: Path, sql: str) -> None:
    before = hashlib.sha256(sqlite_file.read_bytes()).hexdigest()
    result = sqlite.query(sql)
    assert (result.status, result.code) == ("refused", "forbidden")
    assert hashlib.sha256(sqlite_file.read_bytes()).hexdigest() == before
    assert not Path("/tmp/copy.db").exists()
    assert sqlite.query("SELECT count(*) FROM Genre").rows == ((25,),)


@pytest.mark.parametrize("pragma", ["journal_mode", "journal_mode=WAL", "user_version", "temp_store_directory='/tmp'",
                                    "query_only=0", "hard_heap_limit=0", "main.cache_size=9", "compile_options",
                                    "wal_checkpoint", "integrity_check", "case_sensitive_like=1"])  # fmt: skip
def test_pragmas_that_do_not_describe_a_table_are_refused(sqlite: Database, pragma: str) -> None:
    assert sqlite.query(f"PRAGMA {pragma}").code == "forbidden"


@pytest.mark.parametrize("table", _REFUSED_TABLES)
def test_the_engines_own_state_is_refused(sqlite: Database, table: str) -> None:
    for _ in range(2):  # a refused table must not become known by being asked for
        result = sqlite.query(f"SELECT * FROM {table}")
        assert result.status != "ok"
        assert sqlite.query(f"SELECT count(*) FROM {table}").status != "ok"


@pytest.mark.parametrize("call", _REFUSED_CALLS)
def test_functions_that_reach_out_are_refused(sqlite: Database, call: str) -> None:
    assert sqlite.query(f"SELECT {call}").status in ("refused", "error")


@pytest.mark.parametrize("sql", ["SELECT 1;", "SELECT 1;;", " ; ; SELECT 1 ; -- and no more", "SELECT 1; /* end */",
                                 "/* ; */ SELECT 1", "-- ;\nSELECT 1", "SELECT 1 /* open", "\ufeffSELECT 1",
                                 "select\t1\f", "WITH a AS (SELECT 1) SELECT * FROM a;", "VALUES (1)"])  # fmt: skip
def test_one_statement_in_any_clothes(sqlite: Database, sql: str) -> None:
    assert sqlite.query(sql).rows == ((1,),)


@pytest.mark.parametrize("sql", ["SELECT 1; SELECT 2", "SELECT ';'; SELECT 2", "SELECT 1; /* */ x", "SELECT [;];.",
                                 "; a ; b", "SELECT '' ';' ; SELECT 1", 'SELECT "a;""b" ; SELECT 1',
                                 "SELECT `;`;`;`"])  # fmt: skip
def test_two_statements_in_any_clothes(sqlite: Database, sql: str) -> None:
    assert sqlite.query(sql).code == "multi_statement"


@pytest.mark.parametrize("sql", ["SELECT ?1", "SELECT :a", "SELECT @a", "SELECT $a", "SELECT 1 WHERE 1 = ?"])
def test_no_value_is_invented_for_a_parameter(sqlite: Database, sql: str) -> None:
    result = sqlite.query(sql)
    assert result.code == "sql"
    assert "has no value" in (result.error or "")


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT "Nme" FROM Genre', 'SELECT * FROM Genre WHERE Name = "Rock"',
        'SELECT count(*) FROM Genre WHERE "x" = "x"',
        'SELECT json_extract(\'{"a": 1}\', "$.a")', 'SELECT Name FROM Genre ORDER BY "Nme"', 'SELECT "a""b"',
        'SELECT Name FROM Genre GROUP BY "nothing"', 'SELECT "`"', 'SELECT (SELECT "deep" FROM Track) FROM Genre',
        'EXPLAIN QUERY PLAN SELECT "no_such" FROM Genre', 'SELECT Name FROM Genre WHERE Name IN ("Rock", "Jazz")',
        'SELECT Name FROM Genre WHERE Name LIKE "R%"', 'SELECT upper("rock")', 'SELECT "Milliseconds" FROM Genre',
    ],
)  # fmt: skip
def test_an_unknown_name_in_double_quotes_is_no_text(sqlite: Database, sql: str) -> None:
    assert sqlite.query(sql).code == "no_such_column"


@pytest.mark.parametrize(
    ("sql", "row"),
    [
        ('SELECT g."Name" FROM "Genre" AS g WHERE "g"."GenreId" = 1', ("Rock",)),
        ('SELECT 1 AS "a""b", 2 AS "c`d"', (1, 2)),
        ('WITH "t x"("y z") AS (SELECT 7) SELECT "y z" FROM "t x"', (7,)),
        ("SELECT '\"no_such\"'", ('"no_such"',)),
        ('SELECT max("n") FROM (SELECT GenreId AS "n" FROM Genre)', (25,)),
        ('SELECT 1 -- "no_such"', (1,)),
    ],
)
def test_a_known_name_in_double_quotes_is_one(sqlite: Database, sql: str, row: tuple[object, ...]) -> None:
    assert sqlite.query(sql).rows == (row,)


def test_column_names_are_the_querys_own(sqlite: Database) -> None:
    assert sqlite.query('SELECT "GenreId", 1 + "GenreId", 2 AS "x y" FROM Genre').columns == (
        "GenreId", '1 + "GenreId"', "x y",
    )  # fmt: skip


def test_a_hint_names_what_was_meant(sqlite: Database) -> None:
    assert "did you mean Milliseconds?" in (sqlite.query("SELECT Miliseconds FROM Track").error or "")
    assert "did you mean Genre?" in (sqlite.query("SELECT * FROM Genres").error or "")
    assert "single quotes" in (sqlite.query('SELECT * FROM Genre WHERE Name = "Rok"').error or "")


def test_views_and_full_text_tables_can_be_read(sqlite: Database) -> None:
    assert sqlite.query("SELECT count(*) FROM Long").rows == ((3503 - 100000 // 37,),)
    assert sqlite.query("SELECT Name FROM Words WHERE Words MATCH 'jazz'").rows == (("Jazz",),)
    assert sqlite.query("SELECT highlight(Words, 0, '<', '>') FROM Words WHERE Words MATCH 'jazz'").rows == (
        ("<Jazz>",),
    )


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT max(x) FROM c",
        "SELECT sum(a.TrackId * b.TrackId + c.TrackId) FROM Track a, Track b, Track c",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c WHERE date(x) = 1",
        "WITH RECURSIVE c(x) AS (SELECT random() UNION ALL SELECT random() FROM c) SELECT count(*) FROM c",
    ],
)
def test_the_budget_of_steps_ends_at_the_same_point(sqlite: Database, sql: str) -> None:
    limits = sqlite.limits.override(max_steps=3_000_000)
    first = sqlite.query(sql, limits)
    assert (first.status, first.code) == ("timeout", "timeout")
    sqlite.query("SELECT count(*) FROM Track")
    second = sqlite.query(sql, limits)
    assert first.steps == second.steps
    assert 3_000_000 <= (first.steps or 0) < 3_200_000
    assert first.text == second.text


def test_steps_do_not_depend_on_what_ran_before(sqlite: Database) -> None:
    sql = "SELECT sum(a.TrackId) FROM Track a, Genre b"
    steps = {sqlite.query(sql).steps for _ in range(5)}
    assert len(steps) == 1


_LONG = "(SELECT replace(hex(zeroblob(120000)), '0', 'a') AS a, replace(hex(zeroblob(60000)), '0', 'a') AS b)"
_HANGS = [  # for seconds inside one step of the machine, or inside a thousand of them
    f"SELECT {', '.join(f'{call} AS c{n}' for n in range(40))} FROM {_LONG}"
    for call in (
        "instr(a, b || 'b' || 'c')",
        "length(replace(a, b || 'b', 'c'))",
        "trim(a, substr(replace(b, 'a', 'c'), 1, 20000) || 'a')",
    )
]


@pytest.mark.parametrize("sql", _HANGS)
def test_a_query_that_hangs_in_one_step_is_killed(sqlite: Database, sql: str) -> None:
    limits = sqlite.limits.override(timeout_s=0.5)
    result = sqlite.query(sql, limits)
    assert (result.status, result.code) == ("timeout", "timeout")
    assert sqlite.query("SELECT 1").rows == ((1,),)


def _ticks(pid: int) -> int:
    """Processor time that a process has used, in hundredths of a second; a lot once it has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().split()[13])
    except OSError:
        return 1_000_000


def test_nobody_has_to_be_there_to_kill_a_query_that_hangs(sqlite_file: Path) -> None:
    program = (
        "import sys; from toolenvs import databases\n"
        "database = databases.open(sys.argv[1], timeout_s=2, workers=1)\n"
        "print(database._pool._idle[0]._process.pid, flush=True)\n"
        "database.query(sys.argv[2])\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, f"sqlite:///{sqlite_file}", _HANGS[0]], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        began = _ticks(worker)
        while _ticks(worker) < began + 10:  # until it works
            time.sleep(0.02)
        parent.kill()
    while Path(f"/proc/{worker}").exists():  # ends, or the test never does
        time.sleep(0.05)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT printf('%1000000000d', 1)", "SELECT printf('%*d', 1000000000, 1)",
        "SELECT format('%-*s', '1000000000', 'x')",
        "SELECT printf('%.1000000000f', 1.5)", "SELECT printf('%s %.*c', 'x', 1e9, 'y')",
        "SELECT printf('%*d', -1000000000, 1)",
        "SELECT randomblob(1000000000)", "SELECT hex(zeroblob(1000000))",
        "SELECT printf('%0*d', x'31303030303030303030', 1)",
    ],
)  # fmt: skip
def test_what_would_be_too_large_is_told_at_once(sqlite: Database, sql: str) -> None:
    started = time.process_time()
    result = sqlite.query(sql)
    assert result.code == "sql"
    assert re.search(r"too big|at most", result.error or "")
    assert time.process_time() - started < 1


def test_printf_is_sqlites_own(sqlite: Database) -> None:
    own = sqlite3.connect(":memory:")
    for call in (
        "printf('%5.2f|%-5d|%05d|%+d|%s|%q|%Q|%%|%x|%c|%,d', 3.14, 7, 8, 9, 'it', 'it''s', 'it''s', 255, 'xyz', 12345)",
        "printf('%*d|%.*f', 6, 42, 2, 2.71828)", "printf('%d')", "printf(NULL)", "printf('%s', NULL)", "printf()",
        "format('%!.15g', 0.1)", "printf('%s', x'414243')",
    ):  # fmt: skip
        assert sqlite.query(f"SELECT {call}").rows == (own.execute(f"SELECT {call}").fetchone(),)
    own.close()


def test_the_clock_stands_where_it_is_told(sqlite: Database) -> None:
    now = "2031-05-06 07:08:09"
    for sql, value in {
        "date()": "2031-05-06", "date('now')": "2031-05-06", "date('NOW', '+1 day')": "2031-05-07",
        "time()": "07:08:09",
        "datetime('now', 'localtime')": now, "current_timestamp": now, "current_date": "2031-05-06",
        "current_time": "07:08:09",
        "strftime('%Y')": "2031", "strftime('%H', 'now')": "07",
        "unixepoch()": 1935817689, "julianday('now')": 2462992.797326389,
        "date('n' || 'ow')": "2031-05-06",
        "date('nonsense')": None, "date(0)": "-4713-11-24",
        "strftime('%s', '2020-01-01')": "1577836800", "date(1577836800, 'unixepoch')": "2020-01-01",
    }.items():  # fmt: skip
        (row,) = sqlite.query(f"SELECT {sql}", now=now).rows
        assert row == (pytest.approx(value) if isinstance(value, float) else value,), sql
    assert sqlite.query("SELECT date()").rows == (("2025-01-01",),)


def test_random_numbers_come_from_the_seed(sqlite: Database) -> None:
    sql = "SELECT random(), hex(randomblob(4)), random() FROM Genre LIMIT 3"
    first = sqlite.query(sql, seed=1)
    assert first.rows == sqlite.query(sql, seed=1).rows != sqlite.query(sql, seed=2).rows
    assert len({row[0] for row in first.rows} | {row[2] for row in first.rows}) == 6


def test_rows_values_and_bytes_are_bounded(sqlite: Database) -> None:
    rows = sqlite.query("SELECT TrackId FROM Track ORDER BY TrackId", Limits(max_rows=10, timeout_s=60))
    assert (len(rows.rows), rows.truncated, rows.total_rows) == (10, True, 3503)
    small = sqlite.query("SELECT TrackId, 'xxxxxxxx' FROM Track", Limits(max_bytes=160, timeout_s=60))
    assert (len(small.rows), small.truncated, small.total_rows) == (10, True, 3503)
    whole = sqlite.query("SELECT * FROM Genre", Limits(max_rows=25, timeout_s=60))
    assert (len(whole.rows), whole.truncated, whole.total_rows) == (25, False, 25)
    one = sqlite.query("SELECT hex(zeroblob(1000))", Limits(max_bytes=1000, timeout_s=60))
    assert (one.status, one.code) == ("error", "too_big")
    many = sqlite.query("SELECT a.TrackId FROM Track a, Track b", Limits(max_rows=5, timeout_s=60))
    assert (many.status, len(many.rows), many.total_rows) == ("ok", 5, None)
    assert "there are more" in many.text


def test_memory_is_bounded(sqlite: Database) -> None:
    columns = ", ".join(["hex(zeroblob(120000 + a.rowid))"] * 60)
    result = sqlite.query(f"SELECT {columns} FROM Track a ORDER BY 1 DESC", Limits(timeout_s=60))
    assert result.code in ("memory", "timeout", "sql", "too_big")
    assert sqlite.query("SELECT 1").rows == ((1,),)


def test_an_answer_must_be_a_query(sqlite: Database) -> None:
    for sql in ("EXPLAIN QUERY PLAN SELECT 1", "EXPLAIN SELECT * FROM json_each('[]')", "PRAGMA table_info(Genre)"):
        assert sqlite.query(sql).status == "ok"
        assert "0x" not in sqlite.query(sql).text
        assert sqlite.query(sql, answer=True).code == "not_a_query"
    assert sqlite.query("SELECT 1", answer=True).status == "ok"


def test_text_that_is_none(sqlite: Database) -> None:
    assert sqlite.query("SELECT '\ud800'").code == "syntax"
    assert sqlite.query("\0").code == "syntax"
    assert sqlite.query("").code == "empty"
    assert sqlite.query(";;;").code == "empty"
    with pytest.raises(ConfigError, match="one text of SQL"):
        sqlite.query(b"SELECT 1")  # type: ignore[arg-type]


def test_the_schema(sqlite: Database) -> None:
    schema = sqlite.schema(samples=2)
    assert [(table.name, table.kind) for table in schema.tables] == [
        ("Genre", "table"), ("Long", "view"), ("Track", "table"), ("Words", "table"),
    ]  # fmt: skip
    track = schema.table("track")
    assert track is not None
    assert track.foreign_keys[0].columns == ("GenreId",)
    assert (track.foreign_keys[0].table, track.foreign_keys[0].to) == ("Genre", ("GenreId",))
    composer = track.columns[2]
    assert (composer.name, composer.type, composer.nullable, composer.primary_key) == ("Composer", "TEXT", True, 0)
    assert composer.samples == ("Composer 1", "Composer 2")
    assert track.columns[0].primary_key == 1


def test_a_file_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="no database file"):
        databases.open(f"sqlite:///{tmp_path}/none.db")
    (tmp_path / "text.db").write_text("this is no database, but long enough to be looked at as one" * 20)
    with pytest.raises(DatabaseError, match="no database of SQLite"):
        databases.open(f"sqlite:///{tmp_path}/text.db")
    path = tmp_path / "wal.db"
    writer = sqlite3.connect(path)
    writer.execute("PRAGMA journal_mode=WAL")
    writer.execute("CREATE TABLE t(a)")
    writer.commit()
    with pytest.raises(DatabaseError, match="wal_checkpoint"):
        databases.open(path)
    writer.close()
    with pytest.raises(ConfigError, match="which engine"):
        databases.open(tmp_path / "data.bin")
    with pytest.raises(ConfigError, match="no engine 'oracle'"):
        databases.open("oracle://x")


def test_a_path_with_signs_of_an_address(tmp_path: Path) -> None:
    path = tmp_path / "a?b#c %41.db"
    with sqlite3.connect(path) as writer:
        writer.execute("CREATE TABLE t(a)")
    writer.close()
    with databases.open(path, workers=1) as opened:
        assert opened.query("SELECT count(*) FROM t").rows == ((0,),)


def test_a_damaged_file_is_no_fault_of_the_query(tmp_path: Path) -> None:
    path = tmp_path / "damaged.db"
    with sqlite3.connect(path) as writer:
        writer.execute("CREATE TABLE t(a)")
        writer.executemany("INSERT INTO t VALUES (?)", [("x" * 500,)] * 200)
    writer.close()
    data = bytearray(path.read_bytes())
    data[4096 * 2 :] = os.urandom(len(data) - 4096 * 2)
    path.write_bytes(data)
    with databases.open(path, workers=1) as opened, pytest.raises(DatabaseError, match="cannot be read"):
        opened.query("SELECT sum(length(a)) FROM t")


def test_a_process_that_was_killed_from_outside_is_no_fault_of_the_query(sqlite_file: Path) -> None:
    with databases.open(sqlite_file, workers=1) as opened:
        os.kill(opened._pool._idle[0]._process.pid, signal.SIGKILL)
        assert opened.query("SELECT 1").rows == ((1,),)  # between queries: another one is started


def test_equal_numbers_of_two_kinds_are_written_each_in_its_way(sqlite: Database) -> None:
    """Answers of functions are kept: 1 and 1.0 are the same key of a dict."""
    for _ in range(2):
        assert sqlite.query("SELECT printf('%s', 1.0), printf('%s', 1), format('%s', 1.0)").rows == (
            ("1.0", "1", "1.0"),
        )


def test_kept_moments_follow_the_clock(sqlite: Database) -> None:
    sql = "SELECT date('now'), strftime('%Y', 'now', '-1 year'), date('2020-01-31', '+1 day'), date('no moment')"
    for now, day, year in (
        ("2031-05-06 07:08:09", "2031-05-06", "2030"),
        ("2032-01-02 00:00:00", "2032-01-02", "2031"),
    ):
        results = [sqlite.query(sql, now=now) for _ in range(2)]
        assert [result.rows for result in results] == [((day, year, "2020-02-01", None),)] * 2
        assert results[0].steps == results[1].steps


_SOME = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT {}) SELECT {}, random() FROM c"
_BAD = "CASE x WHEN {} THEN CAST(x'ff41' AS TEXT) ELSE 'fine' END"


@pytest.mark.parametrize("at", [1, 400, 1_500])
def test_a_text_that_is_no_utf8_changes_nothing_else(sqlite: Database, at: int) -> None:
    bad, good = (sqlite.query(_SOME.format(2_000, _BAD.format(number))) for number in (at, 5_000))
    assert (bad.status, bad.steps, bad.total_rows) == ("ok", good.steps, 2_000)
    assert [row[1] for row in bad.rows] == [row[1] for row in good.rows]
    texts = [row[0] for row in bad.rows]
    assert texts == ["\ufffdA" if number == at else "fine" for number in range(1, 1_001)]
    assert sqlite.query("SELECT CAST(x'ff' AS TEXT)").rows == (("\ufffd",),)
    assert sqlite.query("SELECT 'fine'").rows == (("fine",),)


@pytest.mark.parametrize("value", ["x", "NULL", "'ab'", "printf('%.*c', 300, 'z')", "CAST(x'e282ac' AS TEXT)", "x'00'"])
@pytest.mark.parametrize("max_bytes", [1, 8, 299, 300, 4_000, 4_001, 100_000])
@pytest.mark.parametrize("max_rows", [1, 15, 16, 17, 500])
def test_rows_are_kept_as_far_as_both_limits_go(sqlite: Database, value: str, max_bytes: int, max_rows: int) -> None:
    sql = f"WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 501) SELECT {value} FROM c"
    each = {"x": 8, "NULL": 8, "'ab'": 2, "printf('%.*c', 300, 'z')": 300, "CAST(x'e282ac' AS TEXT)": 1, "x'00'": 1}
    result = sqlite.query(sql, Limits(max_bytes=max_bytes, max_rows=max_rows))
    fit = max_bytes // each[value]
    if not fit:
        assert result.code == "too_big"
        return
    assert (result.status, len(result.rows), result.truncated) == ("ok", min(fit, max_rows), True)
    assert result.total_rows == 501


def test_where_the_deadline_ends_a_query_its_text_is_the_same_on_every_run(sqlite: Database) -> None:
    sql = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    limits = Limits(timeout_s=0.05, max_steps=2**31 - 1)
    told = {sqlite.query(sql, limits).error for _ in range(3)}
    assert told == {"the query was stopped after 0.05 s: make it do less"}
    stepped = sqlite.query(sql, Limits(timeout_s=60, max_steps=5_000))
    assert stepped.error == "the query was stopped after 6 thousand steps of work: make it do less"


def test_values_too_large_to_read_are_no_samples(tmp_path: Path) -> None:
    path = tmp_path / "large.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as made:
        made.execute("CREATE TABLE page (id INTEGER PRIMARY KEY, body TEXT)")
        made.executemany("INSERT INTO page VALUES (?, ?)", [(1, "short"), (2, "x" * 300_000)])
        made.commit()
    with databases.open(f"sqlite:///{path}", workers=1) as opened:
        (table,) = opened.schema(samples=3).tables
        assert [column.samples for column in table.columns] == [(1, 2), ()]
        assert opened.query("SELECT body FROM page WHERE id = 1").rows == (("short",),)


@pytest.mark.parametrize(
    "now", ["2020-13-01 00:00:00", "2021-02-29 00:00:00", "2020-01-01 24:00:01", "0000-01-01 00:00:00"]
)
def test_a_moment_that_there_is_not_is_told(sqlite: Database, sqlite_file: Path, now: str) -> None:
    """SQLite would answer NULL to every question about it."""
    with pytest.raises(ConfigError, match="now must be a moment"):
        sqlite.query("SELECT date('now')", now=now)
    with pytest.raises(ConfigError, match="now must be a moment"):
        databases.open(f"sqlite:///{sqlite_file}", now=now)
    assert sqlite.query("SELECT date('now')", now="2024-02-29 23:59:59.999").rows == (("2024-02-29",),)
