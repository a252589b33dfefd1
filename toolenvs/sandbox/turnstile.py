"""A bounded number of places, given out in the order of asking, to threads and coroutines alike."""

import asyncio
import threading
from collections import deque
from concurrent.futures import Future


class Turnstile:
    """`places` at most are taken at one time."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._lock = threading.Lock()
        self._waiting: deque[Future[None]] = deque()

    def enter(self) -> None:
        """Take a place, waiting in this thread."""
        waiter = self._ask()
        if waiter is not None:
            try:
                waiter.result()
            except BaseException:
                self._withdraw(waiter)
                raise

    async def aenter(self) -> None:
        """Take a place, waiting in the running loop."""
        waiter = self._ask()
        if waiter is not None:
            try:
                await asyncio.wrap_future(waiter)
            except BaseException:
                self._withdraw(waiter)
                raise

    def leave(self) -> None:
        """Give a place back: to the first who waits, if any."""
        with self._lock:
            while self._waiting:
                waiter = self._waiting.popleft()
                if waiter.set_running_or_notify_cancel():
                    break
            else:
                self._free += 1
                return
        waiter.set_result(None)

    def _ask(self) -> "Future[None] | None":
        with self._lock:
            if self._free:
                self._free -= 1
                return None
            waiter: Future[None] = Future()
            self._waiting.append(waiter)
            return waiter

    def _withdraw(self, waiter: "Future[None]") -> None:
        if not waiter.cancel() and not waiter.cancelled():
            self.leave()  # the place came while its owner was going away
