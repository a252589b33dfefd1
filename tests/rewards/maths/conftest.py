"""Tables of cases, as fixtures."""

import json
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="session")
def known_cases() -> list[dict[str, Any]]:
    """Cases from public bug reports, with the fields that shared/cases describes."""
    return rows("answers_math.jsonl")


@pytest.fixture(scope="session")
def neighbours() -> list[dict[str, Any]]:
    """Cases around those: the same kinds, right and wrong."""
    return rows("answers_neighbours.jsonl")


@pytest.fixture(scope="session")
def hostile() -> list[tuple[str, str, str]]:
    """Name, gold and answer; long ones are stored as a part and how often it is repeated."""
    return [
        (r["name"], r["gold"], r["before"] + r.get("repeat", "") * r.get("times", 0) + r.get("after", ""))
        for r in rows("hostile.jsonl")
    ]
