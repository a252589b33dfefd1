"""Every hostile or awkward query that was handed over, on its own engine, with the outcome that it must have."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from toolenvs.databases import Database, Result

_CASES = [json.loads(line) for line in Path(__file__).with_name("sql_cases.jsonl").read_text("utf-8").splitlines()]
_ENGINES = ("sqlite", "duckdb", "postgres")
_DEADLINE_S = 3.0
"""For the cases that end by their deadline."""
_RUN = [case for case in _CASES if case["dialect"] in _ENGINES]


def _outcomes(expect: str) -> set[str]:
    """What the first clause of an expectation allows: "ok", "error" (any failure), or codes."""
    clause = re.split(r"[;(]", expect)[0]
    found = set(re.findall(r"error:(\w+)", clause))
    found |= {"forbidden"} if re.search(r"\bor forbidden", clause) else set()
    found |= {"ok"} if re.match(r"ok\b|ok_or", clause) else set()
    return found or {"error"}


def _plain(value: Any) -> Any:
    return float(value) if type(value).__name__ == "Decimal" else value


def _check(case: dict[str, Any], result: Result) -> None:
    outcomes = _outcomes(case["expect"])
    told = f"{result.status} {result.code} {result.error} {result.rows[:3]}"
    if result.status == "ok":
        assert "ok" in outcomes, told
    else:
        assert "error" in outcomes or result.code in outcomes, told
        assert result.error
        assert not result.rows
    rows = re.match(r"ok:(\[.*\])", case["expect"])
    if rows:
        expected, _ = json.JSONDecoder().raw_decode(rows[1])
        assert [[_plain(value) for value in row] for row in result.rows] == expected


@pytest.mark.parametrize("case", _RUN, ids=[f"{case['dialect']}: {case['sql'][:60]!a}" for case in _RUN])
def test_a_case(case: dict[str, Any], request: pytest.FixtureRequest) -> None:
    database: Database = request.getfixturevalue(case["dialect"])
    hangs = re.search(r"timeout|deadline|stuck", case["expect"])
    limits = database.limits.override(timeout_s=_DEADLINE_S) if hangs and case["dialect"] != "sqlite" else None
    _check(case, database.query(case["sql"], limits))
    after = database.query('SELECT count(*) FROM "Genre"')
    assert after.rows == ((25,),), "a query changed what later ones see"
    again = database.query(case["sql"], limits)
    _check(case, again)
    if case["dialect"] == "sqlite":
        assert again.text == database.query(case["sql"], limits).text


def test_cases_of_every_engine_are_there() -> None:
    assert {engine: sum(case["dialect"] == engine for case in _CASES) for engine in _ENGINES} == {
        "sqlite": 86,
        "duckdb": 13,
        "postgres": 19,
    }
