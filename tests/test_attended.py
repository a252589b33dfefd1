"""Coroutines on a loop of another thread, and their blocking calls in the thread that waits."""

import asyncio
import os
import signal
import threading
from collections.abc import Iterator

import pytest

from toolenvs import attended as attended_module
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


def test_a_call_that_waits_for_its_own_run_is_refused(attended: Attended) -> None:
    async def within() -> None:
        attended.run(asyncio.sleep(0))

    async def by_a_call() -> None:
        await in_caller(lambda: attended.run(asyncio.sleep(0)))

    for waits_for_itself in (within, by_a_call):
        with pytest.raises(RuntimeError, match="await instead"):
            attended.run(waits_for_itself())
    assert attended.run(asyncio.sleep(0, "goes on")) == "goes on"


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")
def test_a_forked_process_begins_anew(attended: Attended) -> None:
    attended.run(asyncio.sleep(0))
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20)  # what waits for a thread of its parent's would wait for ever
        code = attended.run(asyncio.sleep(0, 7))
        attended.close()
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert attended.run(asyncio.sleep(0, "goes on")) == "goes on"


def test_an_interrupt_as_the_end_is_heard_of(attended: Attended, monkeypatch: pytest.MonkeyPatch) -> None:
    def lose(jobs: object) -> None:
        taken(jobs)  # type: ignore[arg-type]
        monkeypatch.setattr("toolenvs.attended._next", taken)
        raise KeyboardInterrupt

    taken = attended_module._next
    monkeypatch.setattr("toolenvs.attended._next", lose)
    with pytest.raises(KeyboardInterrupt):
        attended.run(asyncio.sleep(0))
    assert attended.run(asyncio.sleep(0, "goes on")) == "goes on"


@pytest.mark.parametrize("closed", [False, True], ids=["run again", "closed"])
def test_what_a_second_interrupt_leaves_running_comes_to_its_end(closed: bool) -> None:
    attended = Attended()
    ended: list[str] = []
    left = threading.Event()

    async def linger() -> None:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.sleep(60)
        finally:
            os.kill(os.getpid(), signal.SIGINT)
            await asyncio.to_thread(left.wait, 30)
            try:
                ended.append(await in_caller(str, "called"))
            except asyncio.CancelledError:
                ended.append("cancelled")

    with pytest.raises(KeyboardInterrupt):
        attended.run(linger())
    left.set()
    if not closed:
        assert attended.run(asyncio.sleep(0, "goes on")) == "goes on"
    attended.close()
    assert ended == ["cancelled" if closed else "called"]


def test_a_task_that_outlives_its_run_is_attended_to_in_the_next(attended: Attended) -> None:
    tasks: list[asyncio.Task[threading.Thread]] = []

    async def call() -> threading.Thread:
        await asyncio.sleep(0)
        return await in_caller(threading.current_thread)

    async def leave() -> None:
        tasks.append(asyncio.create_task(call()))

    async def meet() -> threading.Thread:
        return await tasks[0]

    attended.run(leave())
    assert attended.run(meet()) is threading.current_thread()


def test_a_call_that_stops_an_iteration_is_heard_of(attended: Attended) -> None:
    with pytest.raises(RuntimeError, match="StopIteration"):
        attended.run(in_caller(next, iter(())))


def test_within_a_running_loop_as_in_a_notebook(attended: Attended) -> None:
    async def cell() -> threading.Thread:
        return attended.run(in_caller(threading.current_thread))

    assert asyncio.run(cell()) is threading.current_thread()


def test_what_another_thread_runs_is_cancelled_at_the_close() -> None:
    attended, begun, heard = Attended(), threading.Event(), []

    async def wait() -> None:
        begun.set()
        await asyncio.Event().wait()

    def run() -> None:
        try:
            attended.run(wait())
        except asyncio.CancelledError as error:
            heard.append(error)

    other = threading.Thread(target=run)
    other.start()
    assert begun.wait(30)
    attended.close()
    other.join(30)
    assert len(heard) == 1
