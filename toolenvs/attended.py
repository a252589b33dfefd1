"""An event loop in a thread of its own, whose blocking work is done by the thread that waits for it.

Episodes wait for their tools on the loop while a model is sampled from; yet the model should be run by the thread that
trains it. torch keeps a team of threads for each thread that calls it, and two teams on the same cores put each other
to sleep at every operation: sampling took twice as long.
"""

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextvars import ContextVar
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Self, TypeVar

T = TypeVar("T")


class _Job:
    """A call that a coroutine asked for."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.done: Future[Any] = Future()
        self._function = function

    def __call__(self) -> None:
        if not self.done.set_running_or_notify_cancel():
            return
        try:
            self.done.set_result(self._function())
        except StopIteration as error:  # which a future refuses, so that who waits for it would wait for ever
            self.done.set_exception(RuntimeError(f"the call raised {error!r}"))
        except Exception as error:
            self.done.set_exception(error)
        except BaseException:  # an interrupt: whoever waits in `run` hears of it, and cancels the rest
            self.done.set_exception(CancelledError())
            raise


def _next(jobs: "SimpleQueue[_Job | None]") -> _Job | None:
    try:
        # An interrupt that comes as the wait begins does not end it; it is heard at the next one.
        return jobs.get(timeout=_WAIT_S)
    except Empty:
        return None


def _cancel(jobs: "SimpleQueue[_Job | None]") -> None:
    """Those that are waiting."""
    while not jobs.empty():
        if (job := _next(jobs)) is not None:
            job.done.cancel()


def _cancel_once(task: asyncio.Task[Any]) -> None:
    """What it does at its end is left to it."""
    if not task.cancelling():
        task.cancel()


_WAIT_S = 0.5
_jobs: ContextVar["SimpleQueue[_Job | None] | None"] = ContextVar("_jobs", default=None)


async def in_caller(function: Callable[..., T], *args: Any) -> T:
    """`function(*args)`, called in the thread that waits in `Attended.run`; where none does, in one beside the loop."""
    jobs = _jobs.get()
    if jobs is None:
        return await asyncio.to_thread(function, *args)
    job = _Job(lambda: function(*args))
    jobs.put(job)
    done: T = await asyncio.wrap_future(job.done)
    return done


class Attended:
    """Runs coroutines from blocking code as `asyncio.Runner` does, one at a time, and their `in_caller` calls here.

    Ctrl-C cancels what runs, waits for its end, and is raised here; a second one does not wait. A forked process, which
    has no thread but its own, begins anew.
    """

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._asked: SimpleQueue[Callable[[asyncio.Runner], None] | None] = SimpleQueue()
        # One for all runs: a task that outlives its own is attended to in the next.
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._turn = threading.Lock()
        self._caller: threading.Thread | None = None
        self._thread: threading.Thread | None = None
        self._running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = []

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """The result of `coroutine`; all of them run on one loop.

        Raises:
            RuntimeError: it is called from within a run, which would wait for itself.
        """
        if self._process != os.getpid():
            self._begin()
        if threading.current_thread() in (self._thread, self._caller):
            coroutine.close()
            raise RuntimeError("Attended.run() is called from what it runs, and would wait for itself: await instead")
        with self._turn:
            self._caller = threading.current_thread()
            try:
                return self._attend(coroutine)
            finally:
                self._caller = None

    def _attend(self, coroutine: Coroutine[Any, Any, T]) -> T:
        outcome: Future[T] = Future()
        running = self._running
        interrupted = threading.Event()

        async def begin() -> T:
            running.append((asyncio.get_running_loop(), asyncio.current_task()))
            if interrupted.is_set():
                coroutine.close()
                raise CancelledError
            _jobs.set(self._jobs)
            return await coroutine

        def serve(runner: asyncio.Runner) -> None:
            try:
                outcome.set_result(runner.run(begin()))
            except BaseException as error:
                outcome.set_exception(error)
            running.clear()
            self._jobs.put(None)  # wakes who waits

        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="toolenvs-episodes", daemon=True)
            self._thread.start()
        self._asked.put(serve)
        try:
            while not outcome.done():
                if (job := _next(self._jobs)) is not None:
                    job()
        except BaseException:
            interrupted.set()
            self._cancel_running()
            while not outcome.done():
                if (job := _next(self._jobs)) is not None:
                    job.done.cancel()
            _cancel(self._jobs)
            raise
        return outcome.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _cancel_running(self) -> None:
        for loop, task in tuple(self._running):
            assert task is not None  # it was asked for within one
            with contextlib.suppress(RuntimeError):  # it has just ended, and the loop with it
                loop.call_soon_threadsafe(_cancel_once, task)

    def close(self) -> None:
        """Cancel what runs, end the loop and its thread; nothing where none was needed, or a second time."""
        if self._thread is None or self._process != os.getpid():
            return
        self._asked.put(None)
        self._cancel_running()
        while self._thread.is_alive():  # what a second interrupt left running may still ask for a call
            _cancel(self._jobs)
            self._thread.join(_WAIT_S)
        self._thread = None

    def _serve(self) -> None:
        with asyncio.Runner() as runner:
            while (serve := self._asked.get()) is not None:
                serve(runner)
