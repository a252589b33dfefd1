"""An event loop in a thread of its own: connections belong to one loop, callers come from any, or from none."""

import asyncio
import contextlib
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Collection, Coroutine
from concurrent.futures import CancelledError, Future, wait
from typing import Any, TypeVar

T = TypeVar("T")
STOP_S = 10.0
"""What cancelled work gets to end."""


class LoopThread:
    """A loop that runs until it is closed; a forked child has to make its own.

    Args:
        name: of the thread.
        owner: whose loop it is, for messages: "this retriever".
        error: what is raised where that one is closed.
    """

    def __init__(self, name: str, *, owner: str, error: Callable[[str], Exception]) -> None:
        self._owner = owner
        self._error = error
        self._pid = os.getpid()
        self._closed = False
        self._lock = threading.RLock()  # a finalizer may hand something over at any moment, in this one too
        """Held while work is handed over: what is handed over before the loop is closed is cancelled then, not lost."""
        self._handed: weakref.WeakSet[asyncio.Task[Any]] = weakref.WeakSet()
        """What was handed over, but not the tasks that it began in its turn."""
        self._loop = asyncio.new_event_loop()
        self._loop.set_task_factory(self._task)
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._thread.start()

    @property
    def usable(self) -> bool:
        """Whether it is not closed, and this process's own."""
        return not self._closed and self._pid == os.getpid()

    def submit(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        """Begin `work` there; cancelling the future cancels it.

        Raises:
            Exception: `error`, the owner is closed, or of the process that this one was forked from.
        """
        if self.usable:
            with self._lock:
                if not self._closed:
                    return asyncio.run_coroutine_threadsafe(work, self._loop)
        work.close()
        why = "is closed: open another" if self._closed else "belongs to the parent process: open one here"
        raise self._error(f"{self._owner} {why}")

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of `work`, for blocking callers; an interrupt, as by Ctrl-C, cancels it and waits for its end.

        Raises:
            Exception: as of `submit`, also where the owner is closed meanwhile.
        """
        future = self.submit(work)
        try:
            return future.result()
        except CancelledError:
            raise self._closed_meanwhile() from None
        except BaseException:
            if not future.done():
                future.cancel()
                wait([future], STOP_S)
            raise

    async def arun(self, work: Coroutine[Any, Any, T]) -> T:
        """As `run`, from any loop; cancelling cancels it."""
        future = self.submit(work)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise self._closed_meanwhile() from None  # else the caller would seem to be cancelled, by nobody

    def close(self, last: Callable[[], Awaitable[object]] | None = None) -> None:
        """Cancel what runs, wait for its end, run `last`, and stop. A second call does nothing."""
        if self._pid != os.getpid():
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
            finishing = asyncio.run_coroutine_threadsafe(self._finish(last), self._loop)
        try:
            with contextlib.suppress(TimeoutError):
                finishing.result(2 * STOP_S)
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(STOP_S)
            if not self._thread.is_alive():
                self._loop.close()

    def _task(self, loop: asyncio.AbstractEventLoop, work: Any, **more: Any) -> asyncio.Task[Any]:
        task = asyncio.Task(work, loop=loop, **more)
        if asyncio.current_task(loop) is None:
            self._handed.add(task)
        return task

    async def _finish(self, last: Callable[[], Awaitable[object]] | None) -> None:
        own = asyncio.current_task()
        await _end([task for task in self._handed if task is not own and not task.done()])  # and they what they began
        await _end(asyncio.all_tasks() - {own})
        if last is not None:
            await last()

    def _closed_meanwhile(self) -> Exception:
        return self._error(f"{self._owner} was closed during the request")


async def _end(tasks: Collection[asyncio.Task[Any]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=STOP_S)
