"""Schema linking: what a query reads, held against what SQLite itself says that it reads."""

import contextlib
import sqlite3
import time
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolenvs import databases
from toolenvs.databases.linking import Links, linking, links
from toolenvs.databases.schema import Column, Schema, Table
from toolenvs.tasks.generated import generate
from toolenvs.world.sql import world_file

TABLES = {
    "city": ("id", "name", "country_id", "Size"),
    "country": ("id", "name", "area"),
    "a road": ("from_id", "to_id", "long name"),
}
SCHEMA = Schema("sqlite", tuple(Table(n, "table", tuple(Column(c, "") for c in cs)) for n, cs in TABLES.items()))


@pytest.fixture(scope="module")
def base() -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        for table, columns in TABLES.items():
            base.execute(f'CREATE TABLE "{table}" ({", ".join(f"{chr(34)}{column}{chr(34)}" for column in columns)})')
        yield base


def reads(base: sqlite3.Connection, sql: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What SQLite asks its authorizer about while it prepares a query."""
    found: set[tuple[str, str]] = set()

    def authorizer(action: int, table: str | None, column: str | None, *_: object) -> int:
        if action == sqlite3.SQLITE_READ:
            found.add((str(table), str(column)))
        return sqlite3.SQLITE_OK

    base.set_authorizer(authorizer)
    try:
        base.execute(f"EXPLAIN {sql}")
    finally:
        base.set_authorizer(None)
    names = {f"{table}.{column}" for table, column in found if column and column != "ROWID"}
    return tuple(sorted({table for table, _ in found})), tuple(sorted(names))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM city",
        "SELECT NAME, size FROM City",
        "SELECT * FROM city",
        "SELECT c.* FROM city AS c, country",
        "SELECT a.name FROM city a JOIN country b ON a.country_id = b.id WHERE b.area > 3",
        "SELECT area FROM city, country",
        "SELECT 'name' FROM city WHERE Size IN (1, 2)",
        'SELECT "long name" FROM "a road" WHERE [to_id] = 1 AND `from_id` < 2',
        "SELECT (SELECT max(area) FROM country WHERE country.id = city.country_id) FROM city",
        "SELECT name FROM city WHERE EXISTS (SELECT 1 FROM country WHERE area = Size)",
        "SELECT name FROM city WHERE country_id IN (SELECT id FROM country)",
        "SELECT name FROM city WHERE country_id IN (SELECT id FROM country WHERE name = city.name)",
        "SELECT x.name FROM (SELECT name, Size AS s FROM city) AS x WHERE s > 1",
        "WITH big AS (SELECT id, area AS a FROM country), city2 AS (SELECT a FROM big) SELECT a FROM city2",
        "WITH country AS (SELECT Size AS area FROM city) SELECT area FROM country",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
        "SELECT name FROM city UNION SELECT area FROM country ORDER BY 1",
        "SELECT name AS area FROM city ORDER BY area",
        "SELECT name, count(*) AS n FROM city GROUP BY name HAVING n > 1 ORDER BY Size",
        "SELECT rank() OVER (PARTITION BY country_id ORDER BY Size) FROM city",
        "SELECT a.id FROM city a JOIN city b ON a.id = b.country_id",
        "VALUES (1)",
        "SELECT 1",
    ],
)
def test_it_reads_what_sqlite_says(base: sqlite3.Connection, sql: str) -> None:
    found = links(sql, SCHEMA)
    assert found is not None
    assert (found.tables, found.columns) == reads(base, sql)


def test_so_does_every_gold_of_the_world() -> None:
    path = world_file(1000, 0)
    schema = databases.shared(f"sqlite:///{path.absolute()}").schema(samples=0)
    with contextlib.closing(sqlite3.connect(path)) as base:
        for task in generate("world_sql", size=300, max_level=3):
            found = links(task.gold, schema)
            assert found is not None
            assert (found.tables, found.columns) == reads(base, task.gold)
            assert found.starred == ()


ALIASES = st.sampled_from(["a", "b", "name", "id"])
COLUMNS = st.sampled_from(["id", "name", "country_id", "size", "area"])


@st.composite
def queries(draw: st.DrawFn) -> str:
    """Queries over up to two tables, one of them perhaps a query of its own."""
    first, second = draw(ALIASES), draw(ALIASES)
    sources = f"city AS {first}"
    if second != first:
        inner = draw(st.sampled_from(["country", "city", "(SELECT id, name, area AS x FROM country)"]))
        sources += f" {draw(st.sampled_from([',', 'JOIN', 'LEFT JOIN']))} {inner} AS {second}"
    names = [draw(COLUMNS), f"{first}.{draw(COLUMNS)}", f"{second}.{draw(COLUMNS)}"]
    shown = draw(st.lists(st.sampled_from([*names, "count(*)", f"{first}.*"]), min_size=1, max_size=3))
    sql = f"SELECT {', '.join(shown)} FROM {sources}"
    if draw(st.booleans()):
        sql += f" WHERE {draw(st.sampled_from(names))} > {draw(st.sampled_from(names))}"
    return sql


@given(queries())
@settings(max_examples=150, deadline=None)
def test_where_sqlite_takes_a_query_both_agree(base: sqlite3.Connection, sql: str) -> None:
    try:
        expected = reads(base, sql)
    except sqlite3.Error:
        return
    found = links(sql, SCHEMA)
    assert found is not None
    assert (found.tables, found.columns) == expected
    assert set(found.starred) <= set(found.columns)


WORDS = st.sampled_from(
    ["SELECT", "FROM", "WITH", "AS", "UNION", "ON", "(", ")", ",", "*", "'", "--", ";", ".", "1", "city"]
)


@given(st.text(max_size=60) | st.lists(WORDS, max_size=25).map(" ".join))
@settings(max_examples=300, deadline=None)
def test_whatever_is_written_nothing_is_raised(sql: str) -> None:
    found = links(sql, SCHEMA)
    assert found is None or set(found.tables) <= set(TABLES)


def test_what_is_too_long_or_too_deep_is_not_parsed() -> None:
    assert links("SELECT " + "(" * 3000 + "1" + ")" * 3000, SCHEMA) is None
    assert links("SELECT 1" + ", 1" * 5000, SCHEMA) is None
    assert links("SELECT 1 +", SCHEMA) is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT " + ", ".join(["*"] * 500) + " FROM " + ", ".join(f"city c{n}" for n in range(500)),
        " UNION ".join(["SELECT name FROM city"] * 400),
        "WITH "
        + ", ".join(f"x{n} AS (SELECT name FROM {f'x{n - 1}' if n else 'city'})" for n in range(200))
        + " SELECT 1",
        "SELECT name FROM " + "(SELECT name FROM " * 100 + "city" + ")" * 100,
        "SELECT " + "(" * 9000,
        "SELECT 1 WHERE " + " AND ".join(["Size = 1"] * 800),
    ],
    ids=["stars", "unions", "chain", "nested", "brackets", "conditions"],
)
def test_hostile_queries_cost_little(sql: str) -> None:
    started_s = time.process_time()
    links(sql, SCHEMA)
    assert time.process_time() - started_s < 10  # measured: 0.3 s at most


def test_measures() -> None:
    gold = Links(("city",), ("city.id", "city.name"))
    said = Links(("city", "country"), ("city.name", "country.area", "country.id"))
    assert linking(gold, said) == (1, 0.5)
    assert linking(gold, said, "f1") == pytest.approx((2 / 3, 2 / 5))
    everything = links("SELECT * FROM city, country", SCHEMA)
    assert everything is not None
    assert linking(gold, everything) == (1, 0)
    assert linking(everything, everything) == (1, 1)
    assert linking(Links(("city",), ()), said, "recall") == (1, 1)
    assert linking(Links(("city",), ()), Links(("city",), ()), "f1") == (1, 1)
    assert linking(Links(("city",), ()), said, "f1")[1] == 0


PARTS = st.frozensets(st.sampled_from("abcdef"), max_size=5).map(lambda found: tuple(sorted(found)))


@given(PARTS, PARTS, PARTS, PARTS)
def test_measures_are_shares_and_only_the_gold_has_all(a: tuple, b: tuple, c: tuple, d: tuple) -> None:
    gold, said = Links(a, b), Links(c, d)
    for measure in ("recall", "f1"):
        assert all(0 <= share <= 1 for share in linking(gold, said, measure))
        assert linking(gold, gold, measure) == (1, 1)
    assert (linking(gold, said, "f1") == (1, 1)) == (gold == said)
    assert (linking(gold, said) == (1, 1)) == (set(a) <= set(c) and set(b) <= set(d))
