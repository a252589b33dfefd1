"""The exchange with an engine's process: quick answers, large ones, and those that never come."""

import asyncio
import contextlib
import os
import signal
import socket
import threading

import pytest

from toolenvs import databases, loop
from toolenvs.databases import Database, wire, worker
from toolenvs.errors import DatabaseError

FOREVER = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
LARGE = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 20000) SELECT x, 'abcdefghij' FROM c"


async def test_quick_queries_one_after_the_other_let_others_run(base: Database) -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(other())
    for _ in range(50):
        assert (await base.aquery("SELECT a FROM t")).rows == ((7,),)
    assert turns >= 50
    task.cancel()


async def test_a_slow_query_holds_no_loop(base: Database) -> None:
    slow = asyncio.create_task(base.aquery(FOREVER, base.limits.override(timeout_s=1.0)))
    turns = 0
    while not slow.done():
        turns += 1
        await asyncio.sleep(0.001)
    assert slow.result().status == "timeout"
    assert turns >= 50


async def test_answers_and_queries_larger_than_the_socket_takes(base: Database) -> None:
    limits = base.limits.override(max_sql_bytes=4_000_000)
    long = f"SELECT a /* {'x' * 3_000_000} */ FROM t"
    for _ in range(2):
        assert len((await base.aquery(LARGE)).rows) == 20_000
        assert len(base.query(LARGE).rows) == 20_000
        assert (await base.aquery(long, limits)).rows == ((7,),)
        assert base.query(long, limits).rows == ((7,),)


@pytest.mark.parametrize("turns", range(4))
async def test_cancelling_at_any_moment_leaves_no_stray_answer(base: Database, turns: int) -> None:
    for sql in ("SELECT 1", FOREVER):
        task = asyncio.create_task(base.aquery(sql))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        assert [(await base.aquery("SELECT a FROM t")).rows for _ in range(3)] == [((7,),)] * 3


@pytest.mark.parametrize("asks", ["query", "aquery"])
async def test_a_waiting_process_that_was_killed_is_replaced(base: Database, asks: str) -> None:
    for by in (signal.SIGKILL, signal.SIGSEGV):
        base.query("SELECT 1")
        (waiting,) = base._pool._idle
        assert waiting.waits
        os.kill(waiting._process.pid, by)
        os.waitid(os.P_PID, waiting._process.pid, os.WEXITED | os.WNOWAIT)
        assert not waiting.waits
        result = base.query("SELECT a FROM t") if asks == "query" else await base.aquery("SELECT a FROM t")
        assert result.rows == ((7,),)
        assert not waiting.alive


def test_the_schema_is_written_once_for_each_budget(base: Database) -> None:
    whole = base.described(max_chars=6_000, samples=3)
    assert whole == databases.ddl.compact(base.schema(samples=3), max_chars=6_000, samples=3)
    assert base.described(max_chars=6_000, samples=3) is whole
    assert "7" in whole
    assert "7" not in base.described(max_chars=6_000)


def test_a_loop_with_nothing_else_to_do_waits_for_the_answer(base: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_ALONE_MS", 60_000.0)
    slept = 0

    async def slow(self: worker.Worker, rest: bytes, until_s: float) -> bytearray:
        nonlocal slept
        slept += 1
        return bytearray()

    monkeypatch.setattr(worker.Worker, "_slow", slow)
    for _ in range(20):
        assert loop.run_alone(base.aquery("SELECT a FROM t")).rows == ((7,),)
    assert slept == 0
    assert not loop.alone.get()


@pytest.mark.parametrize("held_ms", [0.0, 1.0, 60_000.0])
def test_alone_or_not_the_answers_are_the_same(base: Database, monkeypatch: pytest.MonkeyPatch, held_ms: float) -> None:
    monkeypatch.setattr(worker, "_ALONE_MS", held_ms)
    limits = base.limits.override(max_sql_bytes=4_000_000)
    long = f"SELECT a /* {'x' * 3_000_000} */ FROM t"
    for _ in range(2):
        assert len(loop.run_alone(base.aquery(LARGE)).rows) == 20_000
        assert loop.run_alone(base.aquery(long, limits)).rows == ((7,),)
        assert loop.run_alone(base.aquery(FOREVER, limits.override(timeout_s=0.1))).code == "timeout"


def test_a_loop_is_alone_in_its_own_step_only() -> None:
    async def told() -> bool:
        return loop.alone.get()

    async def beside() -> bool:
        return loop.run_alone(told())

    assert loop.run_alone(told())
    assert not loop.run(told())
    assert not loop.run(beside())  # on a loop that others use, too


async def test_a_query_says_whether_its_caller_is_alone(base: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only then does the process stay awake for the next: where others have work to do, they need the processor."""
    said = []
    begun = worker.Worker.begun

    def noted(self: worker.Worker, frame: bytes) -> bytes:
        said.append(wire.decode_request(frame[wire.HEADER.size :])["alone"])
        return begun(self, frame)

    monkeypatch.setattr(worker.Worker, "begun", noted)
    base.query("SELECT 1")
    await base.aquery("SELECT 2")
    await asyncio.to_thread(lambda: loop.run_alone(base.aquery("SELECT 3")))
    assert said == [True, False, True]


@pytest.mark.parametrize("rests", [1, 3])
def test_who_is_told_to_rest_still_answers(base: Database, rests: int) -> None:
    base.query("SELECT 1")
    (waiting,) = base._pool._idle
    for together in (True, False):
        frames = wire.REST * rests if together else b""
        for _ in range(0 if together else rests):
            waiting._awake_until_s = float("inf")
            waiting.rest()
        begun = waiting.begun
        waiting.begun = lambda frame, begun=begun, frames=frames: begun(frames + frame)  # type: ignore[method-assign]
        assert base.query("SELECT a FROM t").rows == ((7,),)
        del waiting.begun
        assert base._pool._idle == [waiting]


def test_a_caller_that_is_alone_lets_the_process_rest_that_it_asked_before(base: Database) -> None:
    with databases.open(base.path, workers=1) as other:  # type: ignore[attr-defined]
        told = []
        for database in (base, other):
            loop.run_alone(database.aquery("SELECT a FROM t"))
            (waiting,) = database._pool._idle
            waiting.rest = lambda database=database: told.append(database)  # type: ignore[method-assign]
        assert told == [base]
        loop.run_alone(other.aquery("SELECT a FROM t"))
        assert told == [base]
        asyncio.run(base.aquery("SELECT a FROM t"))
        assert told == [base]
        loop.run_alone(base.aquery("SELECT a FROM t"))
        assert told == [base, other]


NO_MESSAGES = [wire.HEADER.pack(1) + b"\x90", wire.HEADER.pack(6) + b"\x81\xa1r\xd4\x01x", b"\xff" * 100]


@pytest.mark.parametrize("answer", NO_MESSAGES)
@pytest.mark.parametrize("how", ["a thread", "a loop", "alone"])
def test_an_answer_that_is_no_message_is_no_result(base: Database, answer: bytes, how: str) -> None:
    (asked,) = base._pool._idle
    theirs, says = socket.socketpair()
    theirs.setblocking(False)
    os.dup2(theirs.fileno(), asked.channel.fileno())
    theirs.close()

    def answers() -> None:
        says.recv(1 << 16)
        says.sendall(answer)

    thread = threading.Thread(target=answers)
    thread.start()
    if how == "a loop" and answer != NO_MESSAGES[-1]:  # it is read when the process has its next query already
        with pytest.raises(DatabaseError, match="answered with a frame that holds no message"):
            asyncio.run(base.aquery("SELECT 7"))
    else:
        queries = {
            "a loop": lambda sql: asyncio.run(base.aquery(sql)),
            "alone": lambda sql: loop.run_alone(base.aquery(sql)),
        }
        assert queries.get(how, base.query)("SELECT 7").rows == ((7,),)
    thread.join()
    says.close()
    assert base.query("SELECT 8").rows == ((8,),)
