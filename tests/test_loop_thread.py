"""Loops that threads keep, and what becomes of work that is under way, or handed over, as they are closed."""

import asyncio
import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from toolenvs.errors import RetrievalError
from toolenvs.loop_thread import LoopThread


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    one = LoopThread("test-loop", owner="this retriever", error=RetrievalError)
    yield one
    one.close()


async def value(number: int) -> int:
    await asyncio.sleep(0)
    return number


async def forever(began: threading.Event, ended: threading.Event) -> None:
    began.set()
    try:
        await asyncio.Event().wait()
    finally:
        ended.set()


def test_any_caller_is_answered(thread: LoopThread) -> None:
    async def both() -> list[int]:
        return await asyncio.gather(thread.arun(value(1)), thread.arun(value(2)))

    assert thread.run(value(0)) == 0
    assert asyncio.run(both()) == [1, 2]


def test_a_blocking_caller_hears_that_it_was_closed(thread: LoopThread) -> None:
    began, ended = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as other:
        asked = other.submit(thread.run, forever(began, ended))
        began.wait()
        thread.close()
        with pytest.raises(RetrievalError, match="this retriever was closed during the request"):
            asked.result()
    assert ended.is_set()


async def test_an_asynchronous_caller_hears_so_and_does_not_seem_to_be_cancelled(thread: LoopThread) -> None:
    """A group of tasks takes one that ends as cancelled for one that somebody cancelled, and says nothing."""
    began, ended = threading.Event(), threading.Event()

    async def close_meanwhile() -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(thread.arun(forever(began, ended)))
            await asyncio.to_thread(began.wait)
            await asyncio.to_thread(thread.close)

    with pytest.raises(ExceptionGroup) as told:
        await close_meanwhile()
    assert [str(error) for error in told.value.exceptions] == ["this retriever was closed during the request"]


async def test_cancelling_the_caller_cancels_the_work(thread: LoopThread) -> None:
    began, ended = threading.Event(), threading.Event()
    task = asyncio.create_task(thread.arun(forever(began, ended)))
    await asyncio.to_thread(began.wait)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.to_thread(ended.wait)


def test_a_closed_one_says_what_to_do(thread: LoopThread) -> None:
    thread.close()
    thread.close()
    assert not thread.usable
    for ask in (thread.run, thread.submit):
        with pytest.raises(RetrievalError, match="this retriever is closed: open another"):
            ask(value(0))


def test_what_is_handed_over_as_it_closes_is_answered_or_refused() -> None:
    """Work that came between the last look and the end was lost once, and its caller waited for ever."""
    outcomes: list[str] = []

    def ask(thread: LoopThread) -> None:
        while True:
            try:
                assert thread.run(value(7)) == 7
            except RetrievalError as error:
                outcomes.append(str(error).split(" ")[2])
                return

    for _ in range(20):
        thread = LoopThread("test-loop", owner="this retriever", error=RetrievalError)
        with ThreadPoolExecutor(4) as others:
            asked = [others.submit(ask, thread) for _ in range(4)]
            thread.run(value(0))
            thread.close()
            for one in asked:
                one.result()
    assert len(outcomes) == 80
    assert set(outcomes) <= {"is", "was"}


def test_what_runs_ends_what_it_began_by_itself(thread: LoopThread) -> None:
    """Tasks of a library's own, cut off from outside, left coroutines behind that were never awaited."""
    began, ended = threading.Event(), list[str]()

    async def parent() -> None:
        stop = asyncio.Event()

        async def child() -> None:
            await stop.wait()
            ended.append("by itself")

        task = asyncio.create_task(child())
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            stop.set()
            await asyncio.wait((task,))

    async def orphan() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("by force")

    async def leave() -> None:
        left.append(asyncio.create_task(orphan()))
        await asyncio.sleep(0)

    left: list[asyncio.Task[None]] = []
    thread.run(leave())
    thread.submit(parent())
    began.wait()
    thread.close()
    assert ended == ["by itself", "by force"]


def test_the_last_thing_is_done_when_all_else_has_ended(thread: LoopThread) -> None:
    began, ended, seen = threading.Event(), threading.Event(), list[bool]()

    async def last() -> None:
        seen.append(ended.is_set())

    thread.submit(forever(began, ended))
    began.wait()
    thread.close(last)
    assert seen == [True]


def test_a_forked_child_is_told_to_make_its_own(thread: LoopThread) -> None:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            thread.close()
            thread.run(value(0))
        except RetrievalError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    told = os.read(read, 1000).decode()
    os.close(read)
    assert told == "this retriever belongs to the parent process: open one here"
    assert thread.run(value(1)) == 1
