"""Many queries of one event loop: in turn, past dead processes, and without anything left behind."""

import asyncio
import gc
import os
import random
import signal
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from toolenvs import loop
from toolenvs.databases import Database, Result, pool
from toolenvs.databases.lane import Lane
from toolenvs.errors import DatabaseError

FOREVER = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
A_WHILE = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 300000) SELECT count(*) FROM c"


async def at_rest(base: Database) -> bool:
    """Nothing is lent, watched or planned, once processes that are being started have come."""
    lane: Lane = base._pool._lane()
    while lane._coming:
        await asyncio.sleep(0.001)
    inner = asyncio.get_running_loop()
    watched = [key for key in inner._selector.get_map().values() if key.data[0] is not None]  # type: ignore[attr-defined]
    mine = [key for key in watched if getattr(key.data[0]._callback, "__self__", None) is lane]
    idle = all(worker.watched_by is None for worker in base._pool._idle)
    return not (base._pool._lent or lane._waiting or lane._working or lane._coming or lane._alarm or mine) and idle


async def test_each_gets_its_own_answer_in_the_order_of_asking(base: Database) -> None:
    ended: list[int] = []

    async def ask(number: int) -> None:
        assert (await base.aquery(f"SELECT {number}")).rows == ((number,),)
        ended.append(number)

    await asyncio.gather(*map(ask, range(200)))
    assert sorted(ended) == list(range(200))
    assert all(abs(place - number) <= 4 for place, number in enumerate(ended))
    assert await at_rest(base)


async def test_a_deadline_ends_one_query_and_no_other(base: Database) -> None:
    short = base.limits.override(timeout_s=0.2)
    asked = [base.aquery(FOREVER if number % 4 == 0 else f"SELECT {number}", short) for number in range(12)]
    for number, result in enumerate(await asyncio.gather(*asked)):
        assert result.code == "timeout" if number % 4 == 0 else result.rows == ((number,),)
    assert await at_rest(base)


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGTERM])
async def test_killed_processes_are_replaced_and_every_query_answered(base: Database, by: int) -> None:
    tasks = [asyncio.create_task(base.aquery(f"{A_WHILE} -- {number}")) for number in range(8)]
    while not base._pool._lane()._working:
        await asyncio.sleep(0)
    for worker in [*base._pool._lane()._working]:
        os.kill(worker._process.pid, by)
    assert {result.rows for result in await asyncio.gather(*tasks)} == {((300_000,),)}
    assert await at_rest(base)


async def test_a_query_that_breaks_the_engine_is_told_so_and_not_run_again(base: Database) -> None:
    tasks = [asyncio.create_task(base.aquery(f"{FOREVER} -- {number}")) for number in range(2)]
    later = asyncio.create_task(base.aquery("SELECT 7"))
    lane = base._pool._lane()
    while len(lane._working) < 2:
        await asyncio.sleep(0.001)
    for worker in [*lane._working]:
        os.kill(worker._process.pid, signal.SIGSEGV)
    assert [result.code for result in await asyncio.gather(*tasks)] == ["crashed", "crashed"]
    assert (await later).rows == ((7,),)
    assert await at_rest(base)


@pytest.mark.parametrize("seed", range(8))
async def test_cancelling_some_at_any_moment_loses_none_of_the_others(base: Database, seed: int) -> None:
    draw = random.Random(seed)
    asked = [draw.choice(["SELECT {}", FOREVER + " -- {}"]).format(number) for number in range(12)]
    tasks = [asyncio.create_task(base.aquery(sql)) for sql in asked]
    for task, sql in draw.sample([*zip(tasks, asked, strict=True)], 12):
        for _ in range(draw.randrange(4)):
            await asyncio.sleep(0)
        if sql.startswith("WITH") or draw.random() < 0.3:
            task.cancel()
    for result, sql in zip(await asyncio.gather(*tasks, return_exceptions=True), asked, strict=True):
        if not isinstance(result, asyncio.CancelledError):
            assert result.rows == ((int(sql.split()[-1]),),)  # type: ignore[union-attr]
    assert (await base.aquery("SELECT 7")).rows == ((7,),)
    assert await at_rest(base)


async def test_threads_and_loops_have_their_turns_beside_a_busy_loop(base: Database) -> None:
    going = True

    async def busy() -> None:
        while going:
            await base.aquery("SELECT 1")

    async def other() -> list[object]:
        return [result.rows for result in await asyncio.gather(*(base.aquery(f"SELECT {n}") for n in range(20)))]

    tasks = [asyncio.create_task(busy()) for _ in range(8)]
    told = await asyncio.to_thread(lambda: [base.query(f"SELECT {number}").rows for number in range(20)])
    assert told == [((number,),) for number in range(20)]
    assert await asyncio.to_thread(asyncio.run, other()) == told
    going = False
    await asyncio.gather(*tasks)
    assert await at_rest(base)
    await asyncio.sleep(0)
    assert len(base._pool._lanes) <= 2


async def test_a_loop_that_ends_while_it_waits_takes_no_process_along(base: Database) -> None:
    async def gone() -> None:
        task = asyncio.create_task(base.aquery(FOREVER))
        waiting = [asyncio.create_task(base.aquery(f"SELECT {n}")) for n in range(4)]
        await asyncio.sleep(0.01)
        del task, waiting

    for _ in range(3):
        await asyncio.to_thread(asyncio.run, gone())
    assert [(await base.aquery("SELECT 7")).rows for _ in range(3)] == [((7,),)] * 3
    assert await at_rest(base)


def _then_closed(doing: Coroutine[Any, Any, object]) -> None:
    """A loop that is closed as it is, with tasks that have not ended."""
    own = asyncio.new_event_loop()
    own.set_exception_handler(lambda *_: None)  # it tells of tasks that were destroyed
    own.run_until_complete(doing)
    own.close()


ASKS: dict[str, Callable[[Database, str], Result]] = {
    "a thread": lambda base, sql: base.query(sql),
    "a loop": lambda base, sql: asyncio.run(base.aquery(sql)),
    "alone": lambda base, sql: loop.run_alone(base.aquery(sql)),
}


@pytest.mark.parametrize("when", ["works", "starts", "has just started", "waits", "has just been granted"])
def test_a_loop_that_is_closed_with_its_tasks_takes_no_process_along(base: Database, when: str) -> None:
    lent = [base._pool.place() for _ in range(2)] if when in ("waits", "has just been granted") else []
    if when in ("starts", "has just started"):
        for worker in base._pool._idle:
            worker.kill()

    async def ask() -> None:
        tasks.extend(asyncio.create_task(base.aquery(f"{FOREVER} -- {number}")) for number in range(4))
        lane = base._pool._lane()
        while not (lane._working if when == "works" else lane._coming):
            await asyncio.sleep(0)
        if when == "has just been granted":
            base._pool.give_back(lent.pop())  # type: ignore[arg-type]
        elif when == "has just started":
            while not lane._arrived:
                pass

    tasks: list[object] = []
    _then_closed(ask())
    for worker in lent:
        base._pool.give_back(worker)  # type: ignore[arg-type]
    assert [asks(base, "SELECT 7").rows for asks in ASKS.values()] == [((7,),)] * 3
    while base._pool._lent:  # one that was being started comes back
        base._pool.free()
    tasks.clear()
    gc.collect()
    assert not base._pool._lent
    assert not base._pool._waiting


@pytest.mark.parametrize("asks", ASKS.values(), ids=ASKS)
def test_who_waits_already_gets_the_process_of_a_loop_that_is_closed(
    base: Database, asks: Callable[[Database, str], Result]
) -> None:
    told: list[object] = []

    async def ask() -> None:
        tasks.extend(asyncio.create_task(base.aquery(f"{FOREVER} -- {number}")) for number in range(2))
        while len(base._pool._lane()._working) < 2:
            await asyncio.sleep(0)
        thread.start()
        while not base._pool._waiting:
            await asyncio.sleep(0)

    tasks: list[object] = []
    thread = threading.Thread(target=lambda: told.append(asks(base, "SELECT 7").rows))
    _then_closed(ask())
    thread.join()
    assert told == [((7,),)]
    assert not base._pool._lent


def test_an_interrupt_where_a_query_begins_loses_no_place(base: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupted() -> None:
        def interrupt(*_: object) -> None:
            monkeypatch.undo()
            raise KeyboardInterrupt

        monkeypatch.setattr(asyncio.get_running_loop(), "add_reader", interrupt)
        await base.aquery("SELECT 7")

    for _ in range(3):
        with pytest.raises(KeyboardInterrupt):
            loop.run(interrupted())
        assert not base._pool._lent
    assert loop.run(base.aquery("SELECT 7")).rows == ((7,),)


async def test_a_short_deadline_is_kept_beside_a_long_one(base: Database) -> None:
    """Even where the process cannot end itself."""
    lane = base._pool._lane()
    long = asyncio.create_task(base.aquery(FOREVER, base.limits.override(timeout_s=600)))
    while not lane._working:
        await asyncio.sleep(0.001)
    short = asyncio.create_task(base.aquery(FOREVER, base.limits.override(timeout_s=0.2)))
    while len(lane._working) < 2:
        await asyncio.sleep(0.001)
    for worker in lane._working:
        os.kill(worker._process.pid, signal.SIGSTOP)
    await asyncio.wait([short], timeout=60)
    assert short.done()
    assert (await short).code == "timeout"
    assert not long.done()
    long.cancel()
    await asyncio.wait([long])
    assert await at_rest(base)


async def test_where_no_thread_can_be_had_a_query_is_told_so_and_no_place_is_lost(
    base: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none_left(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    for worker in base._pool._idle:
        worker.kill()
    monkeypatch.setattr(asyncio.get_running_loop(), "run_in_executor", none_left)
    for result in await asyncio.gather(*(base.aquery(f"SELECT {n}") for n in range(5)), return_exceptions=True):
        assert isinstance(result, DatabaseError)
    monkeypatch.undo()
    assert (await base.aquery("SELECT 7")).rows == ((7,),)
    monkeypatch.setattr(threading.Thread, "start", none_left)
    late = await base.aquery(FOREVER, base.limits.override(timeout_s=0.1))
    monkeypatch.undo()
    assert late.code == "timeout"
    assert await at_rest(base)


async def test_who_waits_for_another_loops_process_gets_it(base: Database) -> None:
    """All are lent to threads when the loop asks: one of them goes to it as soon as it is free."""
    lent = [base._pool.place() for _ in range(2)]
    asked = [asyncio.create_task(base.aquery(f"SELECT {number}")) for number in range(3)]
    await asyncio.sleep(0.01)
    assert len(base._pool._waiting) == 1
    for worker in lent:
        assert not isinstance(worker, pool.Future)
        threading.Thread(target=base._pool.give_back, args=(worker,)).start()
    assert [(await one).rows for one in asked] == [((0,),), ((1,),), ((2,),)]
    assert await at_rest(base)


async def test_a_database_that_was_closed_or_cannot_be_opened_again_says_so(
    base: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cannot(first: object) -> None:
        raise DatabaseError("gone")

    for worker in base._pool._idle:
        worker.kill()
    monkeypatch.setattr(pool, "Worker", cannot)
    for result in await asyncio.gather(*(base.aquery(f"SELECT {n}") for n in range(5)), return_exceptions=True):
        assert isinstance(result, DatabaseError)
        assert str(result) == "gone"
    monkeypatch.undo()
    assert (await base.aquery("SELECT 7")).rows == ((7,),)
    assert await at_rest(base)
    base.close()
    with pytest.raises(DatabaseError, match="closed"):
        await base.aquery("SELECT 7")
