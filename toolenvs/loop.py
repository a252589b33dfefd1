"""Run coroutines from blocking code, on an event loop that a thread keeps."""

from __future__ import annotations  # a function below is made anew in each call, and need not name types then

import asyncio
import os
import sys
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor, wait
from contextvars import Context, ContextVar
from typing import Any, TypeVar

T = TypeVar("T")


class _Loop:
    """An event loop, closed with its owner; a forked child has to make its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.pid = os.getpid()

    def __del__(self) -> None:
        if self.pid == os.getpid() and not self.loop.is_running():
            self.loop.close()


class _Kept(threading.local):
    mine: _Loop | None = None


_kept = _Kept()
_lock = threading.Lock()
_shared: _Loop | None = None
_TICK_S = 0.01
_LOST_TICKS = 100
"""A task that waits for nothing so long, and yet does not end, was to go on when the loop was interrupted: the loop has
forgotten it."""
alone: ContextVar[bool] = ContextVar("alone", default=False)
"""Whether the loop of the running task has nothing else to do: what waits may then hold it for a while."""


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """The result of `coroutine`, run on this thread's own loop.

    Where a loop is running in this thread already (a notebook), a loop of another thread runs it.
    """
    running = asyncio._get_running_loop()
    if running is not None:
        return _elsewhere(coroutine, running)
    mine = _mine()
    return _driven(mine.create_task(_to_its_end(coroutine, mine)), coroutine, mine)


def _mine() -> asyncio.AbstractEventLoop:
    """This thread's own."""
    mine = _kept.mine
    if mine is None or mine.pid != os.getpid():
        mine = _kept.mine = _Loop()
    return mine.loop


def _driven(
    task: asyncio.Task[T],
    coroutine: Coroutine[Any, Any, T],
    mine: asyncio.AbstractEventLoop,
    first: asyncio.Handle | None = None,
) -> T:
    """The result of a task that stops the loop at its end; `first`: its first step, where that is not the loop's."""
    try:
        if first is not None:
            _take(first, mine)
        while not task.done():  # what an earlier interrupt left may stop the loop, too
            mine.run_forever()
        return task.result()
    except BaseException:
        _end(task, coroutine, mine)
        raise


def _end(task: asyncio.Task[T], coroutine: Coroutine[Any, Any, T], mine: asyncio.AbstractEventLoop) -> None:
    """Where it was interrupted from outside, as by Ctrl-C, nothing may go on in the next call."""
    if not task.done():
        task.cancel()
        idle = 0
        while not task.done() and idle < _LOST_TICKS:  # one that never began does not stop the loop
            tick = mine.call_later(_TICK_S, mine.stop)
            mine.run_forever()
            tick.cancel()
            awaited = getattr(task, "_fut_waiter", None)
            idle = idle + 1 if awaited is None or awaited.done() else 0
    if not task.done():
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        task.get_coro().close()
    elif not task.cancelled():
        task.exception()  # it is told already; what nobody takes is logged
    coroutine.close()


async def _to_its_end(coroutine: Coroutine[Any, Any, T], running: asyncio.AbstractEventLoop) -> T:
    try:
        return await coroutine
    finally:
        if running.is_running():  # it may never have been needed
            running.stop()  # in this turn of the loop; run_until_complete() takes one more


def run_alone(coroutine: Coroutine[Any, Any, T]) -> T:
    """As `run`, for a coroutine that is one thing after the other: `alone` says so to what it waits for."""
    if asyncio._get_running_loop() is not None:  # another thread's loop, which others use as well
        return run(coroutine)
    token = alone.set(True)
    try:
        mine = _mine()
        task, first = _held(_to_its_end(coroutine, mine), mine)
        return _driven(task, coroutine, mine, first)
    finally:
        alone.reset(token)


def _held(
    coroutine: Coroutine[Any, Any, T], mine: asyncio.AbstractEventLoop
) -> tuple[asyncio.Task[T], asyncio.Handle | None]:
    """A task and its first step, which is not left to the loop; None where the loop insists."""
    first: list[asyncio.Handle] = []

    def keep(callback: Callable[..., object], *arguments: Any, context: Context | None = None) -> asyncio.Handle:
        first.append(asyncio.Handle(callback, arguments, mine, context))
        return first[0]

    try:
        mine.call_soon = keep  # type: ignore[assignment]
    except AttributeError:  # of another library, which allows no attributes
        return mine.create_task(coroutine), None
    try:
        return mine.create_task(coroutine), first[0]
    finally:
        del mine.call_soon


def _take(step: asyncio.Handle, mine: asyncio.AbstractEventLoop) -> None:
    """The first step of a task, mostly its only one, without the loop, a turn of which costs more."""
    hooks = sys.get_asyncgen_hooks()
    try:
        asyncio._set_running_loop(mine)
        sys.set_asyncgen_hooks(
            getattr(mine, "_asyncgen_firstiter_hook", None), getattr(mine, "_asyncgen_finalizer_hook", None)
        )
        step._run()
    finally:
        asyncio._set_running_loop(None)
        sys.set_asyncgen_hooks(*hooks)


def _elsewhere(coroutine: Coroutine[Any, Any, T], running: asyncio.AbstractEventLoop) -> T:
    """On the loop of another thread, while this one waits."""
    background = _background()
    if background is running:  # a tool that itself uses an environment: the loop of the other thread waits for us
        with ThreadPoolExecutor(1, thread_name_prefix="toolenvs-nested") as thread:
            return thread.submit(asyncio.run, coroutine).result()
    future = asyncio.run_coroutine_threadsafe(coroutine, background)
    try:
        return future.result()
    except BaseException:
        if not future.done():  # interrupted from outside: nothing may go on behind the caller's back
            future.cancel()
            wait([future])
        raise


def _background() -> asyncio.AbstractEventLoop:
    global _shared
    with _lock:
        if _shared is None or _shared.pid != os.getpid():
            _shared = _Loop()
            threading.Thread(target=_shared.loop.run_forever, name="toolenvs-loop", daemon=True).start()
        return _shared.loop
