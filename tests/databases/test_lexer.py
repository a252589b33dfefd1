"""SQLite's tokens: the short way through a text says what the long one says."""

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolenvs.databases.sqlite.lexer import lex, tokens

_PIECES = [
    "SELECT", "select", "WITH", "x1", "é", "_a$", "'it''s'", "'", '"name"', '"', "`b`", "[c d]", "[", "?", "?1", ":p",
    "@p", "$p", "#", "--", "-- note\n", "-", "/", "/*", "*/", "/* note */", ";", ";;", " ", "\n", "\t", "\x0b", "\xa0",
    "\ufeff", "(", ")", ",", "*", "1", ".5", "1e3", "::", "->", "||", "\\", "\u2028",
]  # fmt: skip
_FILES = [Path(__file__).with_name(name) for name in ("sql_cases.jsonl", "hostile_cases.jsonl")]


@given(st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=3)), max_size=12).map("".join))
@example("SELECT 1;")
@example(" SELECT 'a;b' -1 ; ")
@example("SELECT 1 /")
@example("SELECT 1 -")
def test_both_ways_agree(sql: str) -> None:
    assert lex(sql) == tokens(sql)


@pytest.mark.parametrize("file", _FILES, ids=lambda file: file.name)
def test_both_ways_agree_on_the_cases(file: Path) -> None:
    for line in file.read_text("utf-8").splitlines():
        sql = json.loads(line).get("sql", "")
        assert lex(sql) == tokens(sql)


@pytest.mark.parametrize("piece", ["-a", "'b'", "/c", " d", "''", "-1/2'e'"])
def test_long_texts(piece: str) -> None:
    for end in ("", ";", "'", " --"):
        sql = "SELECT " + piece * 20_000 + end
        assert lex(sql) == tokens(sql)
