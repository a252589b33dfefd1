"""Ties inside a query: found where they decide what it answers, and only there."""

import contextlib
import sqlite3
from collections.abc import Iterator

import pytest

from toolenvs.rewards.sql.breaking import broken_ties
from toolenvs.rewards.sql.suite import Suite


@pytest.mark.parametrize(
    ("sql", "broken"),
    [
        ("(SELECT a FROM t LIMIT 3)", "(SELECT a FROM t ORDER BY r() LIMIT 3)"),
        (
            "(SELECT a FROM t ORDER BY a DESC LIMIT 3 OFFSET 1)",
            "(SELECT a FROM t ORDER BY a DESC, r() LIMIT 3 OFFSET 1)",
        ),
        ("lag(a, f(1)) OVER (ORDER BY b)", "lag(a, f(1)) OVER (ORDER BY b, r())"),
        ("ntile(2) OVER (ORDER BY b ROWS 1 PRECEDING)", "ntile(2) OVER (ORDER BY b, r() ROWS 1 PRECEDING)"),
        ("(SELECT (SELECT 1 LIMIT 1) LIMIT 2)", "(SELECT (SELECT 1 ORDER BY r() LIMIT 1) ORDER BY r() LIMIT 2)"),
        ("SELECT a FROM t ORDER BY b LIMIT 3", None),
        ("rank() OVER (ORDER BY b) + (SELECT 'limit' ORDER BY 1) + group_concat(a ORDER BY b)", None),
        ("OVER (ORDER BY b))) LIMIT (", None),
        ("", None),
    ],
)
def test_where_a_term_is_put(sql: str, broken: str | None) -> None:
    assert broken_ties(sql, "r()") == broken


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Suite]:
    path = tmp_path_factory.mktemp("pay") / "pay.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE pay (id INTEGER PRIMARY KEY, pay INTEGER, team INTEGER)")
        base.executemany("INSERT INTO pay VALUES (?, ?, ?)", [(n, n * 7 % 10, n % 4) for n in range(1, 41)])
        base.commit()
    with Suite(path, copies=0) as made:
        yield made


@pytest.mark.parametrize(
    ("sql", "lucky"),
    [
        ("SELECT id + 1 FROM pay WHERE id IN (SELECT id FROM pay ORDER BY pay DESC LIMIT 2)", True),
        ("SELECT id FROM pay WHERE pay = (SELECT pay FROM pay ORDER BY pay DESC LIMIT 1)", False),
        ("SELECT max(pay) FROM (SELECT * FROM pay ORDER BY pay DESC LIMIT 2)", False),
        ("WITH w AS (SELECT id FROM pay ORDER BY pay LIMIT 1 OFFSET 1) SELECT * FROM w", True),
        ("SELECT id FROM (SELECT id, row_number() OVER (ORDER BY pay) AS r FROM pay) WHERE r < 3", True),
        ("SELECT id FROM (SELECT id, row_number() OVER (ORDER BY pay, id) AS r FROM pay) WHERE r < 3", False),
        ("SELECT id FROM (SELECT id, rank() OVER (ORDER BY pay) AS r FROM pay) WHERE r < 3", False),
        ("SELECT team, (SELECT i.id FROM pay i WHERE i.team = o.team ORDER BY i.pay LIMIT 1) FROM pay o", True),
        ("SELECT id FROM pay o WHERE EXISTS (SELECT 1 FROM pay i WHERE i.pay > o.pay LIMIT 1)", False),
    ],
)
def test_luck_inside(suite: Suite, sql: str, lucky: bool) -> None:
    found = suite.check(sql)
    assert found == ("its gold query cuts or numbers rows of a subquery that tie" if lucky else None)
