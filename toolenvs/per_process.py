"""What a process makes once and shares: sandboxes, databases, retrievers, sites."""

import atexit
import os
import threading
import weakref
from collections.abc import Callable, Hashable
from typing import Generic, Protocol, TypeVar


class Closable(Protocol):
    """What can be closed; a second call does nothing."""

    def close(self) -> None:
        """Let go of what it holds."""


T = TypeVar("T", bound=Closable)


class PerProcess(Generic[T]):
    """Things by their keys, each made when it is first asked for; closed when the process exits.

    A forked child makes its own: it neither uses nor closes its parent's.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[int, Hashable], T] = {}
        self._lock = threading.Lock()
        itself = weakref.ref(self)
        os.register_at_fork(after_in_child=lambda: _renew_lock(itself()))
        atexit.register(self._close)

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The thing of `key`, which `make` makes where there is none yet; what that raises is raised on."""
        mine = (os.getpid(), key)
        with self._lock:
            if mine not in self._made:
                self._made[mine] = make()
            return self._made[mine]

    def __len__(self) -> int:
        return sum(pid == os.getpid() for pid, _ in self._made)

    def _close(self) -> None:
        for (pid, _), thing in self._made.items():
            if pid == os.getpid():
                thing.close()


def _renew_lock(shared: "PerProcess[T] | None") -> None:
    """Another thread of the parent may have held it at the moment of the fork."""
    if shared is not None:
        shared._lock = threading.Lock()
