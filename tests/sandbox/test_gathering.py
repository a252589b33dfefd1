"""When an event loop waits for more answers, and when it does not."""

import asyncio

import pytest

from toolenvs.sandbox import gathering
from toolenvs.sandbox.gathering import MANY, REST, WORTH, Gathering, Ready
from toolenvs.sandbox.local import LocalBox


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What was slept; no time passes."""
    slept: list[float] = []
    monkeypatch.setattr(gathering.time, "sleep", slept.append)
    return slept


def _ready(count: int) -> Ready:
    return [(number, 1) for number in range(count)]


def test_more_is_waited_for_where_many_run_and_few_are_ready(pauses: list[float]) -> None:
    some = Gathering()
    for ready, running in ((1, 1), (1, MANY - 1), (MANY // 2, MANY), (50, 64)):
        assert some.more(_ready(ready), running, lambda _: pytest.fail("asked again")) == _ready(ready)
    assert not pauses
    assert some.more(_ready(2), 64, lambda _: _ready(30)) == _ready(30)
    assert len(pauses) == 1
    some.more(_ready(2), 10**6, lambda _: _ready(30))
    assert max(pauses) <= 0.001


def test_pauses_that_bring_little_become_rare(pauses: list[float]) -> None:
    some = Gathering()
    for _ in range(1000):
        assert len(some.more(_ready(2), 64, lambda _: _ready(2 + WORTH))) == 2 + WORTH
    assert len(pauses) == 1000
    pauses.clear()
    for _ in range(1000):  # sixty that run for long, and a few that answer all the time
        some.more(_ready(1), 64, lambda _: _ready(WORTH))
    assert len(pauses) <= 1000 // REST


def test_no_answer_is_lost_and_few_runs_are_not_kept_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    sleep = gathering.time.sleep
    monkeypatch.setattr(gathering.time, "sleep", lambda s: (slept.append(s), sleep(s)))
    with LocalBox() as box:
        sessions = [box.session() for _ in range(2 * MANY)]

        async def count(index: int, until: int) -> list[str | None]:
            return [(await sessions[index].arun("n = globals().get('n', 0) + 1\nn")).value for _ in range(until)]

        async def together(some: range, until: int) -> list[list[str | None]]:
            return await asyncio.gather(*(count(index, until) for index in some))

        few, many = range(MANY - 1), range(MANY - 1, 2 * MANY)
        assert asyncio.run(together(few, 5)) == [["1", "2", "3", "4", "5"]] * len(few)
        assert not slept
        assert asyncio.run(together(many, 20)) == [[str(n + 1) for n in range(20)]] * len(many)
        assert slept
