"""Waits between tries, and when there are no more of them."""

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs import retrying
from toolenvs.errors import RetrievalError
from toolenvs.retrying import AttemptFailed, retried, retry_after_s


async def _asked(
    *outcomes: object, attempts: int = 6, answer_s: float = 60.0, left_s: float = 60.0
) -> tuple[object, int]:
    """What comes of attempts that end so, one after the other, and how many there were."""
    left = list(outcomes)

    async def attempt() -> object:
        outcome = left.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    try:
        found: object = await retried(
            attempt,
            name="the server",
            error=RetrievalError,
            attempts=attempts,
            answer_s=answer_s,
            end_s=time.monotonic() + left_s,
        )
    except RetrievalError as error:
        found = str(error)
    return found, len(outcomes) - len(left)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What is slept, instead of sleeping."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return slept


async def test_waits_double_to_a_longest(waits: list[float]) -> None:
    found = await _asked(*[AttemptFailed("busy")] * 9, "well", attempts=10, left_s=1000.0)
    assert found == ("well", 10)
    for number, wait_s in enumerate(waits):
        assert 0.5 <= wait_s / min(10.0, 0.25 * 2**number) <= 1.0


async def test_what_a_server_asks_for_is_waited(waits: list[float]) -> None:
    assert await _asked(AttemptFailed("busy", after_s=30), "well") == ("well", 2)
    assert waits == [30]


async def test_nobody_waits_for_longer_than_there_is_time(waits: list[float]) -> None:
    found = await _asked(AttemptFailed("busy", after_s=61), "well")
    assert found == ("the server failed, asked once: busy", 1)
    assert waits == []


@pytest.mark.parametrize(
    ("outcomes", "told"),
    [
        ([AttemptFailed("no", final=True), "well"], "asked once: no"),
        ([AttemptFailed("busy")] * 7, "asked 6 times: busy"),
        ([AttemptFailed("busy"), TimeoutError(), AttemptFailed("no", final=True)], "asked 3 times: no"),
    ],
)
async def test_in_the_end_it_fails(waits: list[float], outcomes: list[object], told: str) -> None:
    assert (await _asked(*outcomes))[0] == f"the server failed, {told}"


async def test_no_time_at_all(waits: list[float]) -> None:
    assert await _asked("well", left_s=0.0) == ("the server failed, asked 0 times: no time was left", 0)


async def test_a_fault_of_another_kind_is_not_caught() -> None:
    with pytest.raises(KeyError):
        await _asked(KeyError("x"))


@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("", 0, 0),
        (" 7 ", 7, 7),
        ("9" * 400, 1e8, 1e9),
        ("-7", 0, 0),
        ("\u00b2", 0, 0),  # a digit, but no number
        ("Mon, 01 Jan 2001 00:00:00 GMT", 0, 0),
        ("Mon, 01 Jan 9000 00:00:00 GMT", 1e11, 1e12),
        ("Mon, 01 Jan 2001 00:00:00 +99999999999999", 0, 0),
    ],
)
def test_the_time_to_come_back(header: str, least: float, most: float) -> None:
    assert least <= retry_after_s(header) <= most


@given(st.text() | st.from_regex(r"\w+, \d+ \w+ \d+ \d+:\d+:\d+ [+-]\d+", fullmatch=True))
def test_any_header_is_a_wait(header: str) -> None:
    assert retry_after_s(header) >= 0.0


def test_tries_leave_the_random_numbers_of_the_process_alone() -> None:
    import random

    before = random.getstate()
    assert 0.5 <= retrying.jittered(1.0) <= 1.0
    assert random.getstate() == before
