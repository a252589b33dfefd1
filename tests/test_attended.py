"""Coroutines on a loop of another thread, and their blocking calls in the thread that waits."""

import asyncio
import os
import signal
import threading
from collections.abc import Iterator

import pytest

from toolenvs.attended import Attended, in_caller

pytestmark = pytest.mark.usefixtures("heeded_interrupts")


@pytest.fixture
def attended() -> Iterator[Attended]:
    with Attended() as made:
        yield made


async def _threads() -> tuple[threading.Thread, threading.Thread, asyncio.AbstractEventLoop]:
    return threading.current_thread(), await in_caller(threading.current_thread), asyncio.get_running_loop()


def test_the_loop_is_another_threads_and_blocking_calls_are_made_here(attended: Attended) -> None:
    episodes, caller, loop = attended.run(_threads())
    assert caller is threading.current_thread()
    assert episodes is not caller
    assert attended.run(_threads()) == (episodes, caller, loop)


async def test_without_one_who_waits_blocking_calls_are_made_beside_the_loop() -> None:
    here, there, _ = await _threads()
    assert there is not here


def test_tasks_within_share_the_caller_and_the_loop_goes_on_meanwhile(attended: Attended) -> None:
    begun, seen = threading.Event(), threading.Event()

    def block() -> bool:
        begun.set()
        return seen.wait(30)

    async def look() -> None:
        while not begun.is_set():
            await asyncio.sleep(0)
        seen.set()

    async def both() -> bool:
        async with asyncio.TaskGroup() as group:
            blocked = group.create_task(in_caller(block))
            group.create_task(look())
        return blocked.result()

    assert attended.run(both())


def test_faults_come_through_on_both_ways(attended: Attended) -> None:
    def fail() -> None:
        raise LookupError("there")

    async def heard() -> str:
        with pytest.raises(LookupError, match="there"):
            await in_caller(fail)
        raise LookupError("here")

    with pytest.raises(LookupError, match="here"):
        attended.run(heard())


@pytest.mark.parametrize("blocked", [False, True], ids=["waiting", "in a blocking call"])
def test_an_interrupt_ends_what_runs(attended: Attended, blocked: bool) -> None:
    ended: list[str] = []

    def interrupt() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(30)

    async def wait() -> None:
        try:
            if blocked:
                await in_caller(interrupt)
            else:
                threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
                await asyncio.sleep(60)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    with pytest.raises(KeyboardInterrupt):
        attended.run(wait())
    assert ended == ["cancelled"]
    assert attended.run(asyncio.sleep(0, "goes on")) == "goes on"


def test_an_interrupt_before_anything_ran(attended: Attended, monkeypatch: pytest.MonkeyPatch) -> None:
    run = asyncio.Runner.run

    def late(runner: asyncio.Runner, coroutine: object) -> object:
        os.kill(os.getpid(), signal.SIGINT)
        threading.Event().wait(0.2)  # so that most likely the other thread has heard of it
        return run(runner, coroutine)  # type: ignore[arg-type]

    with monkeypatch.context() as patched:
        patched.setattr(asyncio.Runner, "run", late)
        with pytest.raises(KeyboardInterrupt):
            attended.run(asyncio.sleep(60))
    assert attended.run(asyncio.sleep(0, "goes on")) == "goes on"


def test_a_coroutine_that_exits_does_not_end_the_thread(attended: Attended) -> None:
    async def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        attended.run(leave())
    assert attended.run(asyncio.sleep(0, "goes on")) == "goes on"


def test_a_closed_one_can_be_closed_again() -> None:
    attended = Attended()
    attended.close()
    attended.run(asyncio.sleep(0))
    attended.close()
    attended.close()
    assert "toolenvs-episodes" not in {thread.name for thread in threading.enumerate()}
