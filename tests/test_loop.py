"""Coroutines from blocking code: on a loop of each thread, beside a running loop, and interrupted."""

import asyncio
import gc
import os
import signal
import sys
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from toolenvs import loop
from toolenvs.env import ToolEnv
from toolenvs.errors import TaskError

pytestmark = pytest.mark.usefixtures("heeded_interrupts")


async def _which() -> asyncio.AbstractEventLoop:
    return asyncio.get_running_loop()


def test_a_thread_keeps_its_loop_and_another_has_its_own() -> None:
    mine = loop.run(_which())
    assert loop.run(_which()) is mine
    others: list[asyncio.AbstractEventLoop] = []
    thread = threading.Thread(target=lambda: others.append(loop.run(_which())))
    thread.start()
    thread.join()
    assert others[0] is not mine
    assert others[0].is_closed()


async def test_beside_a_running_loop() -> None:
    assert loop.run(_which()) is not asyncio.get_running_loop()


def test_exceptions_come_through() -> None:
    async def fail() -> None:
        raise LookupError("here")

    with pytest.raises(LookupError, match="here"):
        loop.run(fail())


def test_an_interrupt_ends_what_was_running() -> None:
    cancelled = []

    async def wait() -> None:
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    with pytest.raises(KeyboardInterrupt):
        loop.run(wait())
    assert cancelled == [True]


def test_an_interrupt_before_anything_ran(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = loop.run(_which())
    forever = mine.run_forever

    def interrupted() -> None:
        monkeypatch.setattr(mine, "run_forever", forever)
        raise KeyboardInterrupt

    monkeypatch.setattr(mine, "run_forever", interrupted)
    with pytest.raises(KeyboardInterrupt):
        loop.run(_which())
    assert [loop.run(_which()) for _ in range(3)] == [mine] * 3


def test_an_environment_survives_an_interrupted_step() -> None:
    env = ToolEnv("ReTool-v0", session="stateful")
    env.reset(seed=0)
    env.step("<code>x = 1</code>")
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        env.step("<code>import time; time.sleep(30)</code>")
    with pytest.raises(TaskError, match=r"has ended \(infrastructure\)"):  # half a turn cannot be taken back
        env.step("<code>print(x)</code>")
    env.reset()
    assert "42" in env.step("<code>print(6 * 7)</code>")[0]
    env.reset(seed=0)
    assert "42" in env.step("<code>print(6 * 7)</code>")[0]
    env.close()


async def test_a_loop_that_waits_for_itself_gets_another_thread() -> None:
    async def inner() -> int:
        return 42

    async def outer() -> int:
        return loop.run(inner())

    assert await asyncio.to_thread(lambda: asyncio.run(_nested(outer))) == 42


async def _nested(outer: Any) -> int:
    return int(loop.run(outer()))


def test_an_interrupt_inside_a_running_loop_leaves_nothing_behind() -> None:
    ended = threading.Event()

    async def slow() -> None:
        try:
            await asyncio.sleep(30)
        finally:
            ended.set()

    async def main() -> None:
        loop.run(slow())

    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    own = asyncio.new_event_loop()
    try:
        with pytest.raises(KeyboardInterrupt):
            own.run_until_complete(main())
    finally:
        own.close()
    assert ended.is_set()


async def _in_steps(steps: list[object]) -> str:
    steps.append(asyncio.current_task())
    async with asyncio.timeout(60):
        await asyncio.sleep(0)
        await asyncio.sleep(0.001)
    steps.append(asyncio.current_task())
    return "done"


def test_alone_what_waits_goes_on_in_the_loop_and_what_does_not_needs_no_turn_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[object] = []
    assert loop.run_alone(_in_steps(steps)) == "done"
    assert steps[0] is steps[1] is not None
    monkeypatch.setattr(type(loop.run(_which())), "run_forever", None)
    mine = loop.run_alone(_which())
    assert "call_soon" not in vars(mine)
    assert asyncio._get_running_loop() is None
    monkeypatch.undo()
    assert loop.run(_which()) is mine


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("error", [LookupError, KeyboardInterrupt, asyncio.CancelledError])
def test_errors_come_through_once_and_leave_a_loop_that_works(
    waits: bool, error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    async def fail() -> None:
        if waits:
            await asyncio.sleep(0)
        raise error

    for runs in (loop.run_alone, loop.run) * 2:
        with pytest.raises(error):
            runs(fail())
    gc.collect()
    assert not caplog.records
    assert loop.run_alone(_in_steps([])) == loop.run(_in_steps([])) == "done"
    assert not loop.alone.get()


def test_alone_an_interrupt_right_after_the_first_step_ends_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    runs = asyncio.Handle._run

    def interrupted(handle: asyncio.Handle) -> None:
        monkeypatch.setattr(asyncio.Handle, "_run", runs)
        runs(handle)
        raise KeyboardInterrupt

    async def slow() -> None:
        try:
            await asyncio.sleep(0.001)
            told.append("went on")
        finally:
            told.append("ended")

    monkeypatch.setattr(asyncio.Handle, "_run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        loop.run_alone(slow())
    assert told == ["ended"]
    loop.run(asyncio.sleep(0.01))
    assert told == ["ended"]


@pytest.mark.parametrize("runs", [loop.run, loop.run_alone])
def test_an_interrupt_at_which_the_loop_forgets_a_task_is_an_end_as_well(
    runs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    real = asyncio.Handle._run

    def forgetful(handle: asyncio.Handle) -> None:
        monkeypatch.setattr(asyncio.Handle, "_run", real)
        raise KeyboardInterrupt

    async def slow() -> None:
        try:
            monkeypatch.setattr(asyncio.Handle, "_run", forgetful)  # the next one: of this task
            await asyncio.sleep(0)
            told.append("went on")
        finally:
            told.append("ended")

    with pytest.raises(KeyboardInterrupt):
        runs(slow())
    assert told == ["ended"]
    assert runs(_in_steps([])) == "done"


@pytest.mark.parametrize("waits", [False, True])
def test_alone_an_asynchronous_generator_that_is_left_is_closed_in_the_loop(waits: bool) -> None:
    told: list[object] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            await asyncio.sleep(0)
            told.append(asyncio.get_running_loop())

    async def leaves() -> None:
        if waits:
            await asyncio.sleep(0)
        async for _ in numbers():
            break
        gc.collect()

    hooks = sys.get_asyncgen_hooks()
    loop.run_alone(leaves())
    assert sys.get_asyncgen_hooks() == hooks
    loop.run(asyncio.sleep(0.001))
    assert told == [loop.run(_which())]


def test_alone_on_a_loop_that_allows_no_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    class Strict(asyncio.SelectorEventLoop):
        def __setattr__(self, name: str, value: object) -> None:
            if name == "call_soon":
                raise AttributeError(name)
            super().__setattr__(name, value)

    monkeypatch.setattr(asyncio, "new_event_loop", Strict)
    told: list[str] = []
    thread = threading.Thread(target=lambda: told.extend(loop.run_alone(_in_steps([])) for _ in range(2)))
    thread.start()
    thread.join()
    assert told == ["done", "done"]


@pytest.mark.parametrize("runs", [loop.run, loop.run_alone])
def test_what_is_left_of_an_earlier_call_stops_no_later_one(runs: Any) -> None:
    loop.run(_which()).stop()
    assert runs(_in_steps([])) == "done"
