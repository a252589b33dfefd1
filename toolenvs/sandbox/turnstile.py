"""A bounded number of places, given out to threads and coroutines alike, to their callers in turn."""

import asyncio
import contextlib
import contextvars
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

LOOK_S = 1.0
"""After so long who waits looks for places whose owners are gone without having given them back."""
_CALLER: contextvars.ContextVar[object] = contextvars.ContextVar("sandbox caller")


@contextlib.contextmanager
def calling_as(caller: object) -> Iterator[None]:
    """Whatever is asked for within is asked for by `caller`, an episode for instance; tasks begun within inherit it."""
    token = _CALLER.set(caller)
    try:
        yield
    finally:
        _CALLER.reset(token)


def caller() -> object:
    """Who asks: what `calling_as` says, else the task or thread that this is called in."""
    named = _CALLER.get(None)
    if named is not None:
        return named
    try:
        task: asyncio.Task[Any] | None = asyncio.current_task()
    except RuntimeError:
        task = None
    return threading.get_ident() if task is None else task


class Turnstile:
    """`places` at most are taken at one time. Callers that wait are served in turn, each in the order of its asking."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._lock = threading.Lock()
        self._waiting: OrderedDict[object, deque[Future[None]]] = OrderedDict()
        self._tasks: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakSet[asyncio.Task[Any]]] = WeakKeyDictionary()
        self._forsaken: deque[Callable[[], None] | None] = deque()

    @property
    def waiting(self) -> int:
        """How many wait now."""
        with self._lock:
            return sum(not waiter.cancelled() for queue in self._waiting.values() for waiter in queue)

    def enter(self, by: object = None) -> None:
        """Take a place for the caller `by` (None: `caller()`), waiting in this thread."""
        if self._took():
            return
        waiter, by = self._queue(by)
        try:
            while not wait([waiter], LOOK_S).done:
                self._look()
        except BaseException:
            self._withdraw(waiter, by)
            raise

    async def aenter(self, by: object = None) -> None:
        """As `enter`, waiting in the running loop."""
        self._remember(asyncio.current_task())
        if self._took():
            return
        waiter, by = self._queue(by)
        try:
            granted = asyncio.wrap_future(waiter)
            while not (await asyncio.wait([granted], timeout=LOOK_S))[0]:
                self._look()
        except BaseException:
            self._withdraw(waiter, by)
            raise

    def leave(self) -> None:
        """Give a place back: to the first of the callers who wait, if any, which then waits behind the others."""
        with self._lock:
            while self._waiting:
                by, queue = self._waiting.popitem(last=False)
                waiter = queue.popleft()
                if queue:
                    self._waiting[by] = queue
                if waiter.set_running_or_notify_cancel():
                    break
            else:
                self._free += 1
                return
        waiter.set_result(None)

    def forsake(self, ending: Callable[[], None] | None) -> None:
        """Give a place back from a finalizer, which may take no lock; who comes or waits next calls `ending` before."""
        self._forsaken.append(ending)

    def end_forsaken(self) -> None:
        """Call what is still to be called for places that were forsaken, and give them back."""
        with contextlib.suppress(IndexError):
            while True:
                ending = self._forsaken.popleft()
                try:
                    if ending is not None:
                        ending()
                finally:
                    self.leave()

    def _took(self) -> bool:
        if self._forsaken:
            self.end_forsaken()
        with self._lock:
            if self._free:
                self._free -= 1
                return True
            return False

    def _queue(self, by: object) -> "tuple[Future[None], object]":
        by = caller() if by is None else by
        waiter: Future[None] = Future()
        self._look()
        with self._lock:
            if self._free:  # by now
                self._free -= 1
                waiter.set_result(None)
            else:
                self._waiting.setdefault(by, deque()).append(waiter)
        return waiter, by

    def _remember(self, task: "asyncio.Task[Any] | None") -> None:
        if task is not None:
            loop = task.get_loop()
            tasks = self._tasks.get(loop)
            if tasks is None:
                tasks = self._tasks[loop] = WeakSet()
            tasks.add(task)

    def _look(self) -> None:
        """Take back places whose owners are gone: what was forsaken, and what tasks of closed event loops hold."""
        self.end_forsaken()
        for loop in list(self._tasks):
            if loop.is_closed():
                for task in list(self._tasks.pop(loop, ())):
                    with contextlib.suppress(Exception):  # of the caller's own code behind it
                        task.get_coro().close()

    def _withdraw(self, waiter: "Future[None]", by: object) -> None:
        waiter.cancel()
        if not waiter.cancelled():
            self.leave()  # the place came while its owner was going away
            return
        with self._lock:
            queue = self._waiting.get(by)
            if queue is not None and waiter in queue:
                queue.remove(waiter)
                if not queue:
                    del self._waiting[by]
