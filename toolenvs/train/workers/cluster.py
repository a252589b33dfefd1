"""What is asked of whatever starts workers and reaches them."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from toolenvs.errors import EngineError


class WorkerDied(EngineError):
    """A worker, or its machine, is gone, and what it was doing with it."""


class Cluster(ABC):
    """Processes that answer calls. Hands, shared data and calls are opaque; calls are hashable."""

    @abstractmethod
    def start(self) -> Any:
        """A process with a `toolenvs.train.workers.worker.Host` in it, by a hand to reach it; does not wait for it."""

    @abstractmethod
    def call(self, hand: Any, method: str, *arguments: Any) -> Any:
        """Ask a worker; gives a call, whose answer `result` has later. Shared data arrives as the bytes it was."""

    @abstractmethod
    def share(self, data: bytes) -> Any:
        """Lay data where every worker finds it; it is forgotten with the last one who holds what is returned."""

    @abstractmethod
    def wait(self, calls: Sequence[Any], timeout_s: float) -> list[Any]:
        """Those that ended; waits until there is one, or for `timeout_s` wall-clock seconds at most."""

    @abstractmethod
    def result(self, call: Any) -> Any:
        """What `Host.call` answered to a call that ended.

        Raises:
            WorkerDied: nothing, and never will.
        """

    @abstractmethod
    def end(self, hand: Any) -> None:
        """End a worker at once, where it is not gone yet."""

    @abstractmethod
    def close(self) -> None:
        """End everything that was started. A second call does nothing."""
