"""The children of this process: a few at work, one warm spare, none shared with a forked process."""

import atexit
import contextlib
import os
import threading

from .child import Child, ChildDied, Outcome

DEADLINE_S = 2.0
"""Wall-clock time for one comparison."""
RETRY_DEADLINE_S = 6.0
"""The same for the second try, in a fresh child, after the machine was too busy for the first."""


class Pool:
    """Lends a child to each caller in turn; callers beyond `size` wait."""

    def __init__(self, size: int) -> None:
        self._free = threading.BoundedSemaphore(size)
        self._lock = threading.Lock()
        self._idle: list[Child] = []
        self._spares = 1
        self._closed = False

    def ask(self, gold: str, answer: str) -> Outcome:
        """Compare two tidied texts in a child; one retry in a fresh child where the first failed.

        Raises:
            ChildDied: both children failed for reasons of the machine.
        """
        with self._free:
            try:
                return self._try(self._take(), gold, answer, DEADLINE_S)
            except (ChildDied, OSError):
                pass
            try:
                return self._try(Child(), gold, answer, RETRY_DEADLINE_S)
            except OSError as error:
                raise ChildDied(f"a child cannot be started: {error}") from error

    def _try(self, child: Child, gold: str, answer: str, deadline_s: float) -> Outcome:
        try:
            outcome = child.ask(gold, answer, deadline_s)
        except BaseException:
            child.kill()
            raise
        if outcome is not Outcome.SPENT:
            self._give(child)
            return outcome
        child.kill()
        with contextlib.suppress(OSError):  # the verdict stands, whatever becomes of the next child
            self._give(Child())  # warms up while nobody waits
        return outcome

    def _take(self) -> Child:
        with self._lock:
            child = self._idle.pop() if self._idle else None
        if child is None or not child.alive:
            if child is not None:
                child.kill()
            child = Child()
        with self._lock:
            if self._spares and not self._idle:
                self._spares -= 1
                self._idle.append(Child())
        return child

    def _give(self, child: Child) -> None:
        with self._lock:
            if not self._closed:
                self._idle.append(child)
                return
        child.kill()

    def close(self) -> None:
        """End every idle child."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for child in idle:
            child.kill()

    def abandon(self) -> None:
        """Forget the children of the process that this one was forked from."""
        for child in self._idle:
            child.disown()


_pool: Pool | None = None
_pool_lock = threading.Lock()


def compare(gold: str, answer: str) -> Outcome:
    """Compare two tidied texts in a child of this process.

    Raises:
        ChildDied: the machine failed twice.
        MissingExtraError: mpmath is not installed.
    """
    return _current().ask(gold, answer)


def _current() -> Pool:
    global _pool
    with _pool_lock:
        if _pool is None:
            _pool = Pool(max(1, min(4, os.cpu_count() or 1)))
            atexit.register(_pool.close)
        return _pool


def _after_fork() -> None:
    """In a forked process: new locks, and none of the parent's children."""
    global _pool, _pool_lock
    _pool_lock = threading.Lock()
    if _pool is not None:
        _pool.abandon()
        atexit.unregister(_pool.close)
        _pool = None


os.register_at_fork(after_in_child=_after_fork)
