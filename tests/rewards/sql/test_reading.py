"""The outermost clauses of a query, told from its words."""

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.rewards.sql import Table, ordering_columns, outline, with_keys
from toolenvs.rewards.sql.reading import lex, texts_in_single_quotes


@given(st.text("ab '\"`[]-/*\n;().,0", max_size=40))
def test_tokens_joined_are_the_query(text: str) -> None:
    assert "".join(lex(text)) == text


@pytest.mark.parametrize(
    ("sql", "ordered", "limited"),
    [
        ("SELECT a FROM t ORDER BY a", True, False),
        ("select a from t order  by a limit 3;", True, True),
        ("SELECT a FROM t WHERE x IN (SELECT b FROM u ORDER BY b LIMIT 2)", False, False),
        ("SELECT rank() OVER (ORDER BY a) FROM t", False, False),
        ("SELECT 'order by' FROM t -- ORDER BY a\n", False, False),
        ('SELECT "order by" FROM t /* LIMIT 3 */', False, False),
        ("WITH w AS (SELECT a FROM t ORDER BY a LIMIT 1) SELECT * FROM w", False, False),
        ("WITH w AS (SELECT a FROM t) SELECT * FROM w ORDER BY 1 DESC", True, False),
        ("SELECT a FROM t LIMIT 5 OFFSET 2", False, True),
        ("SELECT a FROM t ORDER BY a FETCH FIRST 5 ROWS ONLY", True, True),
        ("", False, False),
        (")", False, False),
    ],
)
def test_order_and_limit(sql: str, ordered: bool, limited: bool) -> None:
    read = outline(sql)
    assert read.ordered is ordered
    assert (read.limit is not None) is limited


@pytest.mark.parametrize(
    ("sql", "columns", "expected"),
    [
        ("SELECT a, b FROM t ORDER BY b DESC, a", ("a", "b"), [1, 0]),
        ("SELECT a, b FROM t ORDER BY 2 NULLS LAST", ("a", "b"), [1]),
        ("SELECT a, count(*) FROM t GROUP BY a ORDER BY COUNT( * ) DESC LIMIT 1", ("a", "count(*)"), [1]),
        ("SELECT t.a AS name FROM t ORDER BY t.name COLLATE NOCASE ASC", ("name",), [0]),
        ('SELECT a AS "Big Name" FROM t ORDER BY "big name"', ("Big Name",), [0]),
        ("SELECT a FROM t ORDER BY b", ("a",), None),
        ("SELECT a FROM t ORDER BY 3", ("a",), None),
        ("SELECT a, a FROM t ORDER BY a", ("a", "a"), None),
        ("SELECT a FROM t ORDER BY 'A'", ("a",), None),
        ("SELECT a FROM t", ("a",), []),
    ],
)
def test_columns_that_are_ordered_by(sql: str, columns: tuple[str, ...], expected: list[int] | None) -> None:
    assert ordering_columns(sql, Table(columns)) == expected


def test_keys_are_put_behind_the_columns() -> None:
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE t (a, b)")
    base.executemany("INSERT INTO t VALUES (?, ?)", [("x", 2), ("y", 1), ("z", 2)])
    sql = "WITH w AS (SELECT * FROM t) SELECT a FROM w WHERE b > 0 ORDER BY b DESC, length(a) LIMIT 2"
    keyed = with_keys(sql)
    assert keyed is not None
    assert keyed[1] == 3
    assert base.execute(keyed[0]).fetchall() == [("x", 2, 1, 1), ("z", 2, 1, 1)]
    longer = with_keys(sql, unlimited=True)
    assert longer is not None
    assert base.execute(longer[0]).fetchall() == [("x", 2, 1, 1), ("z", 2, 1, 1), ("y", 1, 1, 2)]
    base.close()


@pytest.mark.parametrize(
    "condition",
    [
        *("b >= 1", "b<=9", "b <> 7", "b != 7", "b == 2", "a || 'z' > 'a'", "b << 1 > 1", "b > 1e-5", "b > .5"),
        *("x'00' < x'01'", "'{}' ->> '$' IS NOT '-- >='", "b/* */>1", "b--\n>1", "(b)>=(1)"),
    ],
)
def test_what_stands_together_stays_together(condition: str) -> None:
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE t (a, b)")
    base.execute("INSERT INTO t VALUES ('x', 2)")
    keyed = with_keys(f"SELECT(a)FROM t WHERE {condition} ORDER BY b>=1, b LIMIT 1", unlimited=True)
    assert keyed is not None
    assert base.execute(keyed[0]).fetchall() == [("x", 1, 2, 1)]
    base.close()


@pytest.mark.parametrize(
    ("columns", "terms", "keys"),
    [
        ("a", "1", "a"),
        ("a, b", "2 DESC, a", "b DESC, a"),
        ("a AS b, b AS a", "a", "b"),
        ("a b, b a", "b COLLATE NOCASE, 2", "a COLLATE NOCASE, b"),
        ("b + 1 'n', a", "[N]", "b + 1"),
        ("(b) n", "\"n\", a || ','", "(b), a || ','"),
        ("CASE b WHEN 1 THEN 2 END, a IS NOT NULL", "2, 1", "a IS NOT NULL, CASE b WHEN 1 THEN 2 END"),
        ("b, a COLLATE RTRIM", "2", "a COLLATE RTRIM"),
        ("DISTINCT a IS DISTINCT FROM b x", "x", "a IS DISTINCT FROM b"),
        ("b n", "n + t.n + n(n)", "n + t.n + n(n)"),
        ("a, *", "1, b NULLS LAST", "a, b NULLS LAST"),
    ],
)  # fmt: skip
def test_terms_are_keys_as_the_engine_reads_them(columns: str, terms: str, keys: str) -> None:
    keyed = with_keys(f"SELECT {columns} FROM t ORDER BY {terms} LIMIT 2")
    assert keyed is not None
    assert keyed[1] == keys.count(",") + (2 if "','" not in keys else 1)
    told = keyed[0].removeprefix(f"SELECT {columns}").partition(" FROM t ORDER BY")[0]
    assert told.endswith(f"dense_rank() OVER (ORDER BY {keys}) AS toolenvs_key_tied")


def test_new_names_inside_terms() -> None:
    keyed = with_keys("SELECT b * 2 n FROM t ORDER BY n % 3, n(n), t.n, 'n'", named=True)
    assert keyed is not None
    assert "OVER (ORDER BY (b * 2) % 3, n((b * 2)), t.n, 'n')" in keyed[0]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM t",
        "SELECT a FROM t UNION SELECT b FROM t ORDER BY 1",
        "SELECT *, b FROM t ORDER BY 2",
        "SELECT a FROM t ORDER BY 2",
        "SELECT 1 ORDER BY 1",
        "VALUES (1), (2)",
    ],
)
def test_queries_that_take_no_keys(sql: str) -> None:
    assert with_keys(sql) is None


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ('SELECT a FROM t WHERE b = "USA"', "SELECT a FROM t WHERE b = 'USA'"),
        ('SELECT "A" FROM "t" WHERE b LIKE "%x\'y%"', "SELECT \"A\" FROM \"t\" WHERE b LIKE '%x''y%'"),
        ('SELECT a AS "Big" FROM t ORDER BY "big"', 'SELECT a AS "Big" FROM t ORDER BY "big"'),
        ('SELECT \'"USA"\' -- "USA"', 'SELECT \'"USA"\' -- "USA"'),
        ('SELECT "a""b", ""', "SELECT 'a\"b', ''"),
        ('SELECT "odd""one" FROM t', 'SELECT "odd""one" FROM t'),
        ('SELECT a "Big" FROM t "u" ORDER BY "Big", "u".a', 'SELECT a "Big" FROM t "u" ORDER BY "Big", "u".a'),
        ('SELECT count(*) "n", 1 "m" FROM t ORDER BY "n"', 'SELECT count(*) "n", 1 "m" FROM t ORDER BY "n"'),
        ('WITH "c" AS (SELECT 1 x) SELECT x FROM "c"', 'WITH "c" AS (SELECT 1 x) SELECT x FROM "c"'),
        ('SELECT CASE WHEN a = "x" THEN "y" ELSE "z" END "k"', "SELECT CASE WHEN a = 'x' THEN 'y' ELSE 'z' END \"k\""),
        (
            'SELECT a FROM t WHERE b IN ("p", "q") AND a NOT LIKE "r" OR a IS "s"',
            "SELECT a FROM t WHERE b IN ('p', 'q') AND a NOT LIKE 'r' OR a IS 's'",
        ),
        ('SELECT "', 'SELECT "'),
    ],
)
def test_texts_in_double_quotes(sql: str, expected: str) -> None:
    assert texts_in_single_quotes(sql, {"a", "t", "b", 'odd"one'}) == expected
