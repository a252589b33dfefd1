"""More queries of the kinds of `test_cases`: each has one of the outcomes that its line allows, and leaves nothing."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from toolenvs.databases import Database

_CASES = [json.loads(line) for line in Path(__file__).with_name("hostile_cases.jsonl").read_text("utf-8").splitlines()]
_DEADLINE_S = 0.5
"""For the cases that may end by their deadline."""
_MAX_STEPS = 3_000_000


def _sql(case: dict[str, Any]) -> str:
    """The query; long ones are told by a part that repeats."""
    if "sql" in case:
        return str(case["sql"])
    return str(case["before"] + case["repeat"] * case["times"] + case["after"])


def _plain(value: Any) -> Any:
    return float(value) if type(value).__name__ == "Decimal" else value


@pytest.mark.parametrize(
    "case", _CASES, ids=[f"{number} {case['dialect']}: {_sql(case)[:50]!a}" for number, case in enumerate(_CASES)]
)
def test_a_case(case: dict[str, Any], request: pytest.FixtureRequest) -> None:
    database: Database = request.getfixturevalue(case["dialect"])
    hangs = "timeout" in case["expect"]
    limits = database.limits.override(timeout_s=_DEADLINE_S, max_steps=_MAX_STEPS) if hangs else None
    result = database.query(_sql(case), limits)
    outcome = "ok" if result.status == "ok" else result.code
    assert outcome in case["expect"], f"{outcome}: {result.error} {result.rows[:3]}"
    assert "root:" not in result.text
    assert (result.status == "ok") != bool(result.error)
    if "rows" in case and result.status == "ok":
        assert [[_plain(value) for value in row] for row in result.rows] == case["rows"]
    if not hangs and result.repeatable:
        assert database.query(_sql(case), limits).text == result.text
    assert database.query('SELECT count(*) FROM "Genre"').rows == ((25,),), "a query changed what later ones see"


def test_there_are_enough_of_every_engine() -> None:
    counts = {engine: sum(case["dialect"] == engine for case in _CASES) for engine in ("sqlite", "duckdb", "postgres")}
    assert min(counts.values()) >= 200, counts


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_the_file_is_the_same_after_all_of_every_engine(engine: str, request: pytest.FixtureRequest) -> None:
    """Each engine is asked what was written for the others, too."""
    database: Database = request.getfixturevalue(engine)
    file: Path = request.getfixturevalue(f"{engine}_file")
    before = hashlib.sha256(file.read_bytes()).hexdigest()
    limits = database.limits.override(max_steps=100_000, timeout_s=_DEADLINE_S)
    short = [_sql(case) for case in _CASES if "timeout" not in case["expect"] and "repeat" not in case]
    for sql in short:
        result = database.query(sql, limits)
        assert "root:" not in result.text
        assert str(file.parent) not in result.text
    assert hashlib.sha256(file.read_bytes()).hexdigest() == before
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    assert not list(Path("/tmp").glob("toolenvs-x*"))
