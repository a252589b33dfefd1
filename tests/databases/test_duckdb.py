"""DuckDB: what may be asked, what is refused, and that nothing is left behind."""

import hashlib
from pathlib import Path

import pytest

from toolenvs import databases
from toolenvs.databases import Database, Limits
from toolenvs.errors import DatabaseError

Rows = tuple[tuple[object, ...], ...]

_FORBIDDEN = [
    "INSERT INTO Genre VALUES (99, 'x')", "DELETE FROM Genre", "CREATE VIEW v AS SELECT 1", "DROP TABLE Genre",
    "VACUUM",
    "COPY Genre TO '/tmp/toolenvs-copy.csv'",
    "COPY (SELECT 1) TO '/dev/stdout'", "EXPORT DATABASE '/tmp/toolenvs-copy'",
    "INSTALL httpfs", "LOAD json", "USE main", "SET threads = 4", "RESET threads", "PREPARE p AS SELECT 1", "EXECUTE p",
    "COMMIT", "ROLLBACK", "CHECKPOINT", "FORCE CHECKPOINT", "CALL pragma_version()", "PRAGMA database_list", "DETACH d",
    "PRAGMA threads=4", "SET VARIABLE a = 1", "EXPLAIN ANALYZE SELECT 1", "EXPLAIN DELETE FROM Genre", "ANALYZE",
    "WITH d AS (DELETE FROM Genre RETURNING *) SELECT * FROM d", "CREATE MACRO m() AS 1", "CREATE TYPE e AS ENUM ('a')",
    "SELECT * FROM duckdb_settings()", "SELECT * FROM duckdb_databases()", "SELECT path FROM duckdb_databases",
    'SELECT * FROM "duckdb_settings"()', "SELECT * FROM duckdb_settings /* a */ ()", "FROM pragma_database_list",
    "SELECT * FROM pg_settings", "SELECT current_setting('allowed_paths')",
    "SELECT * FROM query('FROM duckdb_databases()')",
    "SELECT * FROM query_table('Genre')", "SELECT * FROM arrow_scan(1, 1, 1)", "SELECT * FROM pandas_scan(1)",
    "SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM read_csv('/etc/passwd')", "FROM glob('/*')",
    "SELECT write_log('x')", "SELECT * FROM json_execute_serialized_sql('{}')",
    "SELECT * FROM duckdb_temporary_files()",
]  # fmt: skip


@pytest.mark.parametrize("sql", _FORBIDDEN)
def test_what_does_not_only_read_the_tables_is_refused(duckdb: Database, duckdb_file: Path, sql: str) -> None:
    before = hashlib.sha256(duckdb_file.read_bytes()).hexdigest()
    result = duckdb.query(sql)
    assert (result.status, result.code) == ("refused", "forbidden"), result.text
    assert str(duckdb_file.parent) not in result.text
    assert hashlib.sha256(duckdb_file.read_bytes()).hexdigest() == before
    assert duckdb.query("SELECT count(*) FROM Genre").rows == ((25,),)
    assert not list(Path("/tmp").glob("toolenvs-copy*"))


@pytest.mark.parametrize("sql", ["SELECT 1;", "(SELECT 1)", "VALUES (1)", "SELECT 1 -- ; x", "/* ; */ SELECT 1 ; ;",
                                 "WITH a AS (SELECT 1) FROM a", 'SELECT "query" FROM (SELECT 1 AS query)'])  # fmt: skip
def test_one_statement_in_any_clothes(duckdb: Database, sql: str) -> None:
    assert duckdb.query(sql).rows == ((1,),)


def test_statements_are_counted(duckdb: Database) -> None:
    for sql in ("SELECT 1; SELECT 2", "SELECT ';'; SELECT 2", "SELECT $$;$$; SELECT 1"):
        assert duckdb.query(sql).code == "multi_statement"
    for sql in ("", " -- nothing", "/* nothing */", ";"):
        assert duckdb.query(sql).code == "empty"


def test_errors_are_one_line_and_have_a_kind(duckdb: Database) -> None:
    assert duckdb.query("SELECT nothing FROM Genre").code == "no_such_column"
    assert duckdb.query('SELECT * FROM Genre WHERE Name = "Rock"').code == "no_such_column"
    for sql in ("SELECT * FROM nothing", "SELEC 1", "SELECT ?", "SELECT 1 +", "SELECT 'a'::INT"):
        result = duckdb.query(sql)
        assert (result.status, result.code) == ("error", "sql")
        assert "\n" not in (result.error or "")


def test_values_of_every_kind(duckdb: Database) -> None:
    result = duckdb.query(
        "SELECT NULL, true, 7, 1.50::DECIMAL(4,2), 0.5::DOUBLE, 'x', 'a\\x00b'::BLOB, DATE '2020-02-03', "
        "TIMESTAMP '2020-02-03 04:05:06', [1, NULL], {'a': 'b'}, 'inf'::DOUBLE, 170141183460469231731687303715884105727"
    )
    assert result.text.splitlines()[1] == (
        "NULL | true | 7 | 1.50 | 0.5 | x | x'610062' | 2020-02-03 | 2020-02-03 04:05:06 | [1, NULL] | {'a': 'b'} | Inf"
        " | 170141183460469231731687303715884105727"
    )


def test_the_clock_stands_and_random_numbers_repeat(duckdb: Database) -> None:
    sql = "SELECT now(), current_date, today(), current_timestamp, localtimestamp, current_time, age(DATE '2020-01-01')"
    assert duckdb.query(sql).text == duckdb.query(sql).text
    assert duckdb.query("SELECT current_date, age(DATE '2030-01-01')", now="2031-05-06 07:08:09").rows == (
        ("2031-05-06", "1 year 4 months 5 days"),
    )
    assert duckdb.query("SELECT current_date").rows == (("2025-01-01",),)
    sql = "SELECT random(), uuid(), gen_random_uuid(), Name FROM Genre ORDER BY random() LIMIT 3"
    assert duckdb.query(sql, seed=1).rows == duckdb.query(sql, seed=1).rows != duckdb.query(sql, seed=2).rows


def test_nothing_is_left_for_the_next_query(duckdb: Database) -> None:
    assert duckdb.query("PIVOT Genre ON Name USING count(*)").status == "ok"
    assert duckdb.query("SELECT type_name FROM duckdb_types() WHERE type_name LIKE '__pivot%'").rows == ()
    assert duckdb.query("SELECT setseed(0.1)").status == "ok"
    assert duckdb.query("SELECT 1 FROM nothing").status == "error"
    assert duckdb.query("SELECT 1").rows == ((1,),)


def test_rows_and_bytes_are_bounded(duckdb: Database) -> None:
    rows = duckdb.query("SELECT TrackId FROM Track ORDER BY TrackId", Limits(max_rows=10, timeout_s=60))
    assert (len(rows.rows), rows.truncated, rows.total_rows) == (10, True, 3503)
    many = duckdb.query("SELECT a.*, b.* FROM Track a, Track b", Limits(max_rows=5, timeout_s=60))
    assert (len(many.rows), many.truncated, many.total_rows) == (5, True, None)
    assert duckdb.query("SELECT repeat('x', 2000000)").code == "too_big"


@pytest.mark.parametrize(
    "sql", ["SELECT range(1000000000)", "SELECT length(repeat('x', 1000000000))", "SELECT list(a.Name || b.Name) FROM "
            "Track a, Track b", "SELECT a.Name || b.Name FROM Track a, Track b ORDER BY 1"]
)  # fmt: skip
def test_too_much_memory_or_time_is_an_outcome(duckdb: Database, sql: str) -> None:
    result = duckdb.query(sql, duckdb.limits.override(timeout_s=2))
    assert (result.status, result.code) in {("error", "memory"), ("timeout", "timeout")}
    assert duckdb.query("SELECT 1").rows == ((1,),)


def test_an_answer_must_be_a_query(duckdb: Database) -> None:
    for sql in ("EXPLAIN SELECT 1", "DESCRIBE Genre", "SHOW TABLES", "SUMMARIZE Genre", "PRAGMA table_info('Genre')"):
        assert duckdb.query(sql).status == "ok"
        assert duckdb.query(sql, answer=True).code == "not_a_query"


def test_the_schema(duckdb: Database) -> None:
    schema = duckdb.schema(samples=2)
    assert [(table.name, table.kind) for table in schema.tables] == [
        ("Genre", "table"),
        ("Long", "view"),
        ("Track", "table"),
    ]
    track = schema.table("Track")
    assert track is not None
    assert (track.foreign_keys[0].columns, track.foreign_keys[0].table) == (("GenreId",), "Genre")
    assert track.columns[0].primary_key == 1
    assert track.columns[2].samples == ("Composer 1", "Composer 2")


def test_a_file_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    with pytest.raises(DatabaseError, match="no database file"):
        databases.open(f"duckdb:///{tmp_path}/none.duckdb")
    (tmp_path / "text.duckdb").write_text("no database" * 1000)
    with pytest.raises(DatabaseError, match="cannot be opened by DuckDB"):
        databases.open(tmp_path / "text.duckdb")


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        ("SELECT INTERVAL 3 MONTH, INTERVAL 90 DAY, 1;", (("3 months", "90 days", 1),)),
        ("SELECT age(DATE '2020-03-01', DATE '2020-01-01') -- of two", (("2 months",),)),
        ('SELECT [INTERVAL 1 MONTH], \'x\' AS "a""b"', (("[1 month]", "x"),)),
        ("SELECT TIMESTAMP_NS '2020-01-01 00:00:00.123456789'", (("2020-01-01 00:00:00.123456789",),)),
        (
            "FROM (VALUES (2), (1), (3)) t(n) SELECT to_months(n) AS m ORDER BY n DESC",
            (("3 months",), ("2 months",), ("1 month",)),
        ),
        ("SELECT max(INTERVAL 1 DAY) AS m, NULL::INTERVAL AS m", (("1 day", None),)),
    ],
)
def test_what_python_has_no_type_for_is_in_the_engines_writing(duckdb: Database, sql: str, rows: Rows) -> None:
    result = duckdb.query(sql)
    assert (result.status, result.rows) == ("ok", rows), result.error


def test_random_numbers_beside_an_interval_are_of_the_seed(duckdb: Database) -> None:
    (first,) = duckdb.query("SELECT random(), INTERVAL 1 DAY").rows
    (second,) = duckdb.query("SELECT random(), 1").rows
    assert first[0] == second[0]


@pytest.mark.parametrize(
    "source", ["'{}'", '"{}"', "read_blob('{}')", "read_text('{}.wal')", "glob('{}')", "read_duckdb('{}')", "'{}' AS x"]
)
def test_the_path_of_the_file_opens_nothing(duckdb: Database, duckdb_file: Path, source: str) -> None:
    """Where other files are refused, DuckDB leaves those open that belong to the database."""
    for path in (duckdb_file, duckdb_file.parent / ".." / duckdb_file.parent.name / duckdb_file.name):
        result = duckdb.query("FROM " + source.format(path))
        assert (result.status, result.code) == ("refused", "forbidden")
        assert str(duckdb_file.parent) not in (result.error or "")
    assert duckdb.query("SELECT count(*) FROM Track").rows == ((3_503,),)
