"""Sessions of any kind: made once, run once for each number, and never left behind."""

import asyncio
import secrets
import time
from typing import Any

import pytest

from toolenvs.serve.http import Refused
from toolenvs.serve.sessions import Sessions


class Thing:
    def __init__(self) -> None:
        self.closed = 0
        self.runs: list[int] = []

    async def aclose(self) -> None:
        self.closed += 1


def key() -> str:
    return secrets.token_hex(16)


async def made(things: list[Thing], *, wait_s: float = 0.0) -> Thing:
    await asyncio.sleep(wait_s)
    things.append(Thing())
    return things[-1]


def sessions(**options: Any) -> Sessions[Thing]:
    return Sessions(**{"most": 3, "idle_s": 60.0} | options)


async def test_made_once_though_asked_twice_at_one_time() -> None:
    live, things, one = sessions(), list[Thing](), key()
    both = await asyncio.gather(*(live.create(one, lambda: made(things, wait_s=0.01)) for _ in range(2)))
    assert both == [things[0]] * 2
    assert (len(things), len(live)) == (1, 1)
    await live.aclose()
    assert things[0].closed == 1


async def test_who_gives_up_asking_does_not_undo_it() -> None:
    live, things, one = sessions(), list[Thing](), key()
    asking = asyncio.create_task(live.create(one, lambda: made(things, wait_s=0.02)))
    await asyncio.sleep(0)
    asking.cancel()
    assert await live.create(one, lambda: made(things)) is things[0]
    assert len(things) == 1
    await live.aclose()


async def test_what_failed_to_begin_may_be_tried_again() -> None:
    live, things, one = sessions(), list[Thing](), key()

    async def fails() -> Thing:
        raise Refused(503, "not now")

    with pytest.raises(Refused, match="not now"):
        await live.create(one, fails)
    assert len(live) == 0
    await live.create(one, lambda: made(things))
    await live.aclose()


async def test_ending_stops_a_beginning_and_a_run() -> None:
    live, things, one, two = sessions(), list[Thing](), key(), key()
    beginning = asyncio.create_task(live.create(one, lambda: made(things, wait_s=60)))
    await asyncio.sleep(0)
    await live.end(one)
    with pytest.raises(Refused, match="ended meanwhile"):
        await beginning
    await live.create(two, lambda: made(things))
    running = asyncio.create_task(live.run(two, 1, lambda thing: forever()))
    await asyncio.sleep(0)
    await live.end(two)
    with pytest.raises(Refused, match="ended meanwhile"):
        await running
    assert things[0].closed == 1
    assert len(live) == 0


async def forever() -> dict[str, Any]:
    await asyncio.Event().wait()
    return {}


async def test_a_run_is_done_once_for_each_number() -> None:
    live, things, one = sessions(), list[Thing](), key()
    await live.create(one, lambda: made(things))

    def work(number: int) -> Any:
        async def run(thing: Thing) -> dict[str, Any]:
            await asyncio.sleep(0.01)
            thing.runs.append(number)
            return {"number": number}

        return run

    twice = await asyncio.gather(live.run(one, 1, work(1)), live.run(one, 1, work(1)))
    assert twice == [{"number": 1}] * 2
    assert await live.run(one, 2, work(2)) == await live.run(one, 2, work(2))
    assert things[0].runs == [1, 2]
    with pytest.raises(Refused, match="came after"):
        await live.run(one, 1, work(1))
    await live.aclose()


async def test_no_run_while_it_is_copied_and_no_copy_while_it_runs() -> None:
    live, things, one, copy = sessions(), list[Thing](), key(), key()
    await live.create(one, lambda: made(things))
    forking = asyncio.create_task(live.fork(one, copy, lambda _: made(things, wait_s=0.02)))
    await asyncio.sleep(0)
    with pytest.raises(Refused, match="busy"):
        await live.run(one, 1, lambda thing: forever())
    assert await forking is await live.fork(one, copy, lambda _: made(things)) is things[1]
    with pytest.raises(Refused, match="another session has that id"):
        await live.fork(copy, one, lambda _: made(things))
    running = asyncio.create_task(live.run(one, 1, lambda thing: forever()))
    await asyncio.sleep(0)
    with pytest.raises(Refused, match="busy"):
        await live.fork(one, key(), lambda _: made(things))
    await live.aclose()
    with pytest.raises(Refused):
        await running


async def test_limits_in_all_and_of_one_client() -> None:
    live, things = sessions(per_client=2), list[Thing]()
    for client in ("a", "a", "b"):
        await live.create(key(), lambda: made(things), client=client)
    with pytest.raises(Refused, match="3 sessions live") as full:
        await live.create(key(), lambda: made(things), client="b")
    assert (full.value.status, full.value.headers) == (429, {"Retry-After": "2"})
    await live.aclose()
    live = sessions(per_client=1, most=9)
    await live.create(key(), lambda: made(things), client="a")
    with pytest.raises(Refused, match="1 sessions of a live"):
        await live.create(key(), lambda: made(things), client="a")
    await live.create(key(), lambda: made(things), client="b")
    await live.aclose()
    assert all(thing.closed == 1 for thing in things)


async def test_what_nobody_uses_is_ended_and_what_is_touched_is_not() -> None:
    live, things, kept, left, busy = sessions(idle_s=0.2), list[Thing](), key(), key(), key()
    for one in (kept, left, busy):
        await live.create(one, lambda: made(things))
    running = asyncio.create_task(live.run(busy, 1, lambda thing: forever()))
    while things[1].closed == 0:
        assert live.touch([kept, key()]) != []
        await asyncio.sleep(0.01)
    assert [thing.closed for thing in things] == [0, 1, 0]
    assert (live.expired, live.touch([left])) == (1, [left])
    await live.aclose()
    with pytest.raises(Refused):
        await running


async def test_what_stood_still_itself_ends_nothing() -> None:
    live, things, one = sessions(idle_s=0.4), list[Thing](), key()
    await live.create(one, lambda: made(things))
    for _ in range(3):
        await asyncio.sleep(0.05)  # the sweeper waits
        time.sleep(0.5)  # and then everything stands still, for longer than a session may
        await asyncio.sleep(0)
        assert things[0].closed == 0
        live.touch([one])
    await live.aclose()


async def test_a_thing_that_cannot_be_closed_does_not_stop_the_rest() -> None:
    class Stuck(Thing):
        async def aclose(self) -> None:
            raise OSError("stuck")

    live, things = sessions(), list[Thing]()

    async def stuck() -> Thing:
        return Stuck()

    await live.create(key(), stuck)
    await live.create(key(), lambda: made(things))
    await live.aclose()
    assert things[0].closed == 1


async def test_what_is_no_id_is_ended_already_and_not_kept() -> None:
    live, one = sessions(), key()
    for wrong in ("x" * 1_000_000, one.upper() + "Z", "", one + "\n"):
        await live.end(wrong)
    assert not live._ended
    await live.end(one)
    assert list(live._ended) == [one]
