"""Pairs written to break the judge: near misses, hedges, junk behind a right answer, and odd spellings."""

import json
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.rewards import maths
from toolenvs.rewards.maths import pool
from toolenvs.rewards.verdict import Verdict

ROWS: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("attacks.jsonl").read_text(encoding="utf-8").splitlines()
]
KINDS = sorted({row["kind"] for row in ROWS})
MANY_FILES = 1_200
"""More than the 1,024 descriptors that `select` can watch."""


def judged(row: dict[str, Any]) -> Verdict:
    if row["form"] == "response":
        return maths.judge_response(gold=row["gold"], response=row["pred"])
    return maths.judge(gold=row["gold"], answer=row["pred"])


@pytest.mark.parametrize("kind", KINDS)
def test_kind(kind: str) -> None:
    verdicts = [(row, judged(row)) for row in ROWS if row["kind"] == kind]
    wrong = [(row["gold"], row["pred"], v.reason) for row, v in verdicts if v.failed or v.correct != row["expect"]]
    assert wrong == []


@given(st.integers(2, 10**6), st.integers(-(10**6), 1), st.sampled_from(["({},{}]", "[{},{})"]))
def test_brackets_that_are_no_interval_equal_no_point(high: int, low: int, brackets: str) -> None:
    """Half-open pairs with falling ends are all empty as intervals, which must not make them equal to a point."""
    assert not maths.judge(gold="(1,-2)", answer=brackets.format(high, low)).correct


@given(
    st.integers(-(10**9), 10**9), st.integers(-(10**9), 10**9), st.sampled_from([" or ", ", ", "; ", " and ", " = "])
)
def test_a_second_number_is_a_second_answer(right: int, other: int, between: str) -> None:
    answer = f"{right}{between}{other}"
    assert maths.judge(gold=str(right), answer=answer).correct is (right == other and between == " = ")


@pytest.fixture
def many_open_files() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    files = [os.open(os.devnull, os.O_RDONLY) for _ in range(MANY_FILES)]
    yield
    for file in files:
        os.close(file)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_many_open_files(many_open_files: None, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = pool.Pool(1)
    monkeypatch.setattr(pool, "_pool", fresh)
    try:
        assert maths.judge(gold=r"2\sqrt{3}", answer=r"\sqrt{12}").correct
    finally:
        fresh.close()
