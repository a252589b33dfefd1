"""PostgreSQL: what may be asked, what is refused, and that nothing is left behind; on a real cluster."""

import pytest

from toolenvs import databases
from toolenvs.databases import Database, Limits
from toolenvs.databases.postgres.role import reader
from toolenvs.errors import ConfigError, DatabaseError

_FORBIDDEN = [
    "INSERT INTO \"Genre\" VALUES (99, 'x')", 'DELETE FROM "Genre"', 'UPDATE "Genre" SET "Name" = NULL', "VACUUM",
    'TRUNCATE "Genre"', "CREATE TABLE t(a int)", "CREATE TEMP TABLE t(a int)", "DROP TABLE t", "GRANT reader TO public",
    "COPY \"Genre\" TO STDOUT", "COPY \"Genre\" FROM PROGRAM 'id'", "BEGIN", "ROLLBACK", "SAVEPOINT a",
    "SET work_mem = 1",
    "RESET ALL", "SHOW data_directory", "DISCARD ALL", "LISTEN a", "NOTIFY a", "UNLISTEN *", "PREPARE p AS SELECT 1",
    "EXECUTE p", "DEALLOCATE ALL", "DECLARE c CURSOR FOR SELECT 1", "FETCH 1 FROM c", "LOCK \"Genre\"", "CALL p()",
    "DO $$ BEGIN END $$", "CHECKPOINT", "LOAD 'x'", "SECURITY LABEL ON TABLE t IS 'x'", "COMMENT ON TABLE t IS 'x'",
    "WITH d AS (INSERT INTO \"Genre\" VALUES (99, 'x') RETURNING *) SELECT * FROM d",
    "WITH d AS (UPDATE \"Genre\" SET \"Name\" = 'x' RETURNING *) SELECT * FROM d",
    'SELECT * INTO copied FROM "Genre"', 'SELECT * INTO TEMP copied FROM "Genre"', 'SELECT * FROM "Genre" FOR UPDATE',
    "SELECT set_config('statement_timeout', '0', false)", "SELECT pg_sleep(10)", "SELECT pg_catalog.pg_sleep(10)",
    'SELECT "pg_sleep"(10)', "SELECT pg_sleep /* a */ (10)",
    'SELECT U&"pg\\005fsleep"(10)', "SELECT pg_sleep_for('9 s')",
    "SELECT pg_advisory_xact_lock(1)", "SELECT pg_try_advisory_lock(1)", "SELECT pg_notify('a', 'b')",
    "SELECT pg_cancel_backend(1)", "SELECT pg_reload_conf()", "SELECT pg_ls_dir('/')", "SELECT pg_stat_file('/etc')",
    "SELECT lo_create(0)", "SELECT nextval('s')", "SELECT query_to_xml('SELECT pg_sleep(9)', true, true, '')",
    "SELECT table_to_xml('pg_stat_activity'::regclass, true, true, '')", "SELECT * FROM ts_stat('SELECT pg_sleep(9)')",
    "SELECT * FROM pg_stat_activity", 'TABLE pg_catalog."pg_stat_activity"', "SELECT * FROM pg_stat_get_activity(NULL)",
    "SELECT * FROM pg_locks", "SELECT * FROM pg_settings", "EXPLAIN ANALYZE SELECT 1", "EXPLAIN (ANALYZE) SELECT 1",
    'EXPLAIN DELETE FROM "Genre"', "SELECT * FROM pg_authid", "SELECT pg_read_file('/etc/passwd')",
]  # fmt: skip


@pytest.mark.parametrize("sql", _FORBIDDEN)
def test_what_does_not_only_read_the_tables_is_refused(postgres: Database, sql: str) -> None:
    result = postgres.query(sql)
    assert (result.status, result.code) == ("refused", "forbidden"), result.text
    assert postgres.query('SELECT count(*) FROM "Genre"').rows == ((25,),)


@pytest.mark.parametrize("sql", ["SELECT 1;", "(SELECT 1)", "VALUES (1)", "SELECT 1 -- ; x",
                                 "/* /* ; */ ; */ SELECT 1 ;;",
                                 "WITH a AS (SELECT 1) SELECT * FROM a", "SELECT 1 /* open"])  # fmt: skip
def test_one_statement_in_any_clothes(postgres: Database, sql: str) -> None:
    result = postgres.query(sql)
    assert result.rows == ((1,),) or (sql.endswith("open") and result.code == "sql")


def test_texts_in_any_clothes_are_no_statements(postgres: Database) -> None:
    sql = "SELECT ';', E'\\';', $$;$$, $a$;$$;$a$, 'it''s;', \"Name\" FROM \"Genre\" WHERE \"GenreId\" = 1"
    assert postgres.query(sql).rows == ((";", "';", ";", ";$$;", "it's;", "Rock"),)
    for two in ("SELECT 1; SELECT 2", "SELECT E'\\'' ; SELECT 1", "SELECT $$ $$; SELECT 2", "SELECT ''';' ; SELECT 1"):
        assert postgres.query(two).code == "multi_statement"
    for none in ("", "--", "/* */", ";;"):
        assert postgres.query(none).code == "empty"
    assert postgres.query("SELECT $1").code == "sql"
    assert "psql" in (postgres.query("\\dt").error or "")


def test_errors_have_a_kind_and_a_hint(postgres: Database) -> None:
    assert postgres.query('SELECT nothing FROM "Genre"').code == "no_such_column"
    assert postgres.query('SELECT "Rock" FROM "Genre"').code == "no_such_column"
    assert 'did you mean "Track", in double quotes?' in (postgres.query("SELECT * FROM track").error or "")
    assert postgres.query("SELEC 1").code == "sql"
    assert postgres.query("SELECT 1/0").code == "sql"


def test_values_of_every_kind(postgres: Database) -> None:
    result = postgres.query(
        "SELECT NULL, true, 7::smallint, 1.50::numeric(4,2), 0.1::real, 1e300::float8, 'x', '\\x00ff'::bytea, "
        "date '2020-02-03', timestamptz '2020-02-03 04:05:06+01', array[1, NULL], '{\"a\": 1}'::jsonb, 'NaN'::numeric, "
        "'-inf'::float8, interval '1 day 2 hours', ''"
    )
    assert result.text.splitlines()[1] == (
        "NULL | true | 7 | 1.50 | 0.1 | 1e+300 | x | x'00FF' | 2020-02-03 | 2020-02-03 03:05:06+00 | {1,NULL} | "
        "{\"a\": 1} | NaN | -Inf | 1 day 02:00:00 | ''"
    )


def test_what_reads_the_clock_says_so(postgres: Database) -> None:
    for reads in ("now()", "current_date", "'today'::date", "age(date '2020-01-01')", "E'Now '::timestamp",
                  "$a$12:00 today$a$::timestamp", "pg_conf_load_time()"):  # fmt: skip
        sql = f"SELECT {reads}"
        result = postgres.query(sql)
        assert not result.repeatable
        assert "clock" in result.text
    assert postgres.query("SELECT 1 AS a, 'now and then'").repeatable


def test_random_numbers_come_from_the_seed(postgres: Database) -> None:
    sql = 'SELECT random(), "Name" FROM "Genre" ORDER BY random() LIMIT 3'
    assert postgres.query(sql, seed=1).rows == postgres.query(sql, seed=1).rows != postgres.query(sql, seed=2).rows


def test_rows_and_bytes_are_bounded(postgres: Database) -> None:
    rows = postgres.query('SELECT "TrackId" FROM "Track" ORDER BY 1', Limits(max_rows=10, timeout_s=60))
    assert (len(rows.rows), rows.truncated, rows.total_rows) == (10, True, 3503)
    many = postgres.query('SELECT a.* FROM "Track" a, "Track" b', Limits(max_rows=5, timeout_s=60))
    assert (many.status, len(many.rows), many.truncated, many.total_rows) == ("ok", 5, True, None)
    assert postgres.query("SELECT repeat('x', 2000000)").code == "too_big"
    assert postgres.query("SELECT 1").rows == ((1,),)


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT count(*) FROM "Track" a, "Track" b, "Track" c',
        "SELECT string_agg(repeat('x', 1000), '') FROM generate_series(1, 900000)",
        "SELECT repeat('x', 1000000000)",
        "SELECT a FROM generate_series(1, 1000000000) a ORDER BY 1 DESC",
    ],
)
def test_too_much_memory_or_time_is_an_outcome(postgres: Database, sql: str) -> None:
    result = postgres.query(sql, postgres.limits.override(timeout_s=1))
    assert result.code in ("timeout", "memory", "too_big", "sql")
    assert postgres.query("SELECT 1").rows == ((1,),)


def test_the_schema(postgres: Database) -> None:
    schema = postgres.schema(samples=2)
    assert [(table.name, table.kind) for table in schema.tables] == [
        ("Genre", "table"),
        ("Long", "view"),
        ("Track", "table"),
    ]
    track = schema.table("Track")
    assert track is not None
    assert (track.foreign_keys[0].columns, track.foreign_keys[0].table) == (("GenreId",), "Genre")
    assert (track.columns[0].primary_key, track.columns[5].type) == (1, "numeric(10,2)")
    assert track.columns[2].samples == ("Composer 1", "Composer 2")


def test_a_server_that_cannot_be_used_says_why(postgres_address: str) -> None:
    with pytest.raises(DatabaseError, match="cannot be reached"):
        databases.open("postgresql://reader@/music?host=/nowhere")
    with pytest.raises(ConfigError, match="superuser"):
        databases.open(postgres_address.replace("reader@", "owner@"))
    with pytest.raises(ConfigError, match="plain name"):
        reader("a; DROP TABLE b", "music")


@pytest.mark.parametrize("function", ["pg_relation_filepath", "pg_relation_filenode"])
def test_where_a_table_lies_is_not_told(postgres: Database, function: str) -> None:
    assert postgres.query(f"SELECT {function}('\"Genre\"')").code == "forbidden"
