"""Tells an engine at a deadline to stop what it does; one thread for all queries of a process."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

_LOOK_S = 0.02
_REST_S = 1.0


class Watchdog:
    """Calls `stop` when a block is not left in time. It looks at the clock now and then, and costs a query nothing."""

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._until = 0.0  # 0: nothing runs
        self._used = 0.0
        self._awake = threading.Event()
        self._lock = threading.Lock()
        threading.Thread(target=self._watch, daemon=True).start()

    @contextlib.contextmanager
    def until(self, timeout_s: float) -> Iterator[None]:
        """Stops the block when it takes longer."""
        self._until = self._used = time.monotonic() + timeout_s
        if not self._awake.is_set():
            self._awake.set()
        try:
            yield
        finally:
            with self._lock:  # no call after the block
                self._until = 0.0

    def _watch(self) -> None:
        while True:
            self._awake.wait()
            time.sleep(_LOOK_S)
            now = time.monotonic()
            with self._lock:
                if self._until and now > self._until:
                    self._stop()
                    self._until = now + 0.1
                elif not self._until and now > self._used + _REST_S:
                    self._awake.clear()
