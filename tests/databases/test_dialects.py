"""Queries of other dialects: translated, or recognised where the engine refuses them."""

import contextlib
import sqlite3

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolenvs.databases import dialects
from toolenvs.databases.parsing import MAX_CHARS, Unparsed, parse, transpiled
from toolenvs.errors import ConfigError, MissingExtraError


@pytest.mark.parametrize(
    ("read", "sql", "rows"),
    [
        ("postgres", "SELECT x::int FROM t WHERE s ILIKE 'A%' ORDER BY x", [(1,), (3,)]),
        ("tsql", "SELECT TOP 2 [x] FROM t ORDER BY x DESC", [(3,), (2,)]),
        ("mysql", "SELECT IF(x > 2, `s`, 'no') FROM t ORDER BY x", [("no",), ("no",), ("ad",)]),
        ("postgres", "SELECT DISTINCT ON (y) x, y FROM t ORDER BY y, x DESC", [(2, 1), (3, 2)]),
        ("bigquery", "SELECT SAFE_CAST(x AS INT64) FROM t WHERE x <> 2 ORDER BY 1", [(1,), (3,)]),
        ("sqlite", "SELECT x FROM t WHERE s = 'ab' /* why */;", [(1,)]),
    ],
)
def test_a_translated_query_gives_what_was_meant(read: str, sql: str, rows: list[tuple[object, ...]]) -> None:
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        base.execute("CREATE TABLE t (x INTEGER, y INTEGER, s TEXT)")
        base.executemany("INSERT INTO t VALUES (?, ?, ?)", [(1, 1, "ab"), (2, 1, "ba"), (3, 2, "ad")])
        assert base.execute(transpiled(sql, read=read, write="sqlite")).fetchall() == rows


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SELECT 1 +", r"Required keyword: 'expression' missing .* in line 1, column 10, near '\+'"),
        ("SELECT '", "."),
        ("SELECT " + "(" * 3000 + "1" + ")" * 3000, "nested too deeply"),
        ("SELECT " + "1" * MAX_CHARS, "it has 10,007 characters; at most 10,000 are parsed"),
        ("SELECT a FROM t FOR UPDATE", "."),
    ],
)
def test_what_cannot_be_translated_is_told_in_one_line(sql: str, why: str) -> None:
    with pytest.raises(Unparsed, match=why) as raised:
        transpiled(sql, read="postgres", write="sqlite")
    assert "\n" not in str(raised.value)
    assert "\x1b" not in str(raised.value)


def test_statements_stay_apart() -> None:
    assert transpiled("SELECT 1; DROP TABLE t", read="postgres", write="sqlite") == "SELECT 1; DROP TABLE t"
    assert transpiled("", read="postgres", write="sqlite") == ""
    assert len(parse("SELECT 1; SELECT 2;", "sqlite")) == 2


@given(st.text(max_size=80), st.sampled_from(dialects.LIKELY))
@settings(max_examples=300, deadline=None)
def test_any_text_is_translated_or_told_why_not(sql: str, read: str) -> None:
    with contextlib.suppress(Unparsed):
        assert isinstance(transpiled(sql, read=read, write="sqlite"), str)


def test_readings_say_the_dialect_and_what_it_would_be() -> None:
    assert list(dialects.readings("SELECT TOP 3 a FROM t", "sqlite"))[0] == ("tsql", "SELECT a FROM t LIMIT 3")
    assert list(dialects.readings("SELECT a FROM t", "sqlite")) == []
    assert list(dialects.readings("select  a from t ;", "sqlite")) == []
    assert next(dialects.readings("SELECT IF(a, 1, 2) FROM t", "sqlite")) == ("sqlite", "SELECT IIF(a, 1, 2) FROM t")
    for most in (1, 2, 3):
        found = list(dialects.readings("SELECT DATE_TRUNC('month', a), STRPOS(b, 'x') FROM t", "sqlite", most=most))
        assert 1 <= len(found) <= most
        assert len({text for _, text in found}) == len(found)


def test_a_dialect_must_exist() -> None:
    dialects.check("")
    dialects.check("postgres")
    with pytest.raises(ConfigError, match="no dialect of SQL is called 'postgress'; did you mean 'postgres'"):
        dialects.check("postgress")


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sqlglot", None)
    with pytest.raises(MissingExtraError, match=r"toolenvs\[sql\]"):
        transpiled("SELECT 1", read="postgres", write="sqlite")
