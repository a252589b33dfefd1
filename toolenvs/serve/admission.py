"""How much work a server takes at one time: some runs, some waiting, the rest is sent away with a time to come back."""

import asyncio
import time
from collections import Counter
from types import TracebackType

from toolenvs.serve.http import Refused


class Admission:
    """Places for work, given out in the order of asking.

    Args:
        max_running: pieces of work at one time.
        max_queued: how many more may wait.
        per_client: pieces of one client, running and waiting.
        queue_s: seconds that one may wait.
    """

    def __init__(self, *, max_running: int, max_queued: int, per_client: int, queue_s: float) -> None:
        self._max_running = max_running
        self._max_queued = max_queued
        self._per_client = per_client
        self._queue_s = queue_s
        self._places = asyncio.Semaphore(max_running)
        self._clients: Counter[str] = Counter()
        self._typical_s = 0.1
        self.running = 0
        self.queued = 0

    def place(self, client: str) -> "Place":
        """A place for one piece of work of `client`: `async with` waits for it.

        Raises:
            Refused: 429, too much is waiting or is this client's; 503, it waited too long. Both say when to try again.
        """
        return Place(self, client)

    @property
    def retry_after_s(self) -> int:
        """When a place is likely to be free, in whole seconds."""
        return max(1, min(30, round(self._typical_s * (self.queued + 1) / self._max_running)))

    async def _enter(self, client: str) -> None:
        if self._clients[client] >= self._per_client:
            raise self._refused(429, f"{self._per_client} requests of {client} are here already, the most for a client")
        waits = self._places.locked()
        if waits and self.queued >= self._max_queued:
            raise self._refused(429, f"{self.running} programs run and {self.queued} wait, the most that may")
        self._clients[client] += 1
        self.queued += 1
        try:
            async with asyncio.timeout(self._queue_s if waits else None):
                await self._places.acquire()
        except BaseException as error:
            self._forget(client)
            if isinstance(error, TimeoutError):
                raise self._refused(503, f"no place was free for {self._queue_s:g} s") from None
            raise
        finally:
            self.queued -= 1
        self.running += 1

    def _leave(self, client: str, seconds: float) -> None:
        self.running -= 1
        self._places.release()
        self._forget(client)
        self._typical_s += 0.1 * (seconds - self._typical_s)

    def _forget(self, client: str) -> None:
        self._clients[client] -= 1
        if not self._clients[client]:
            del self._clients[client]

    def _refused(self, status: int, why: str) -> Refused:
        return Refused(status, f"{why}; try again later", {"Retry-After": str(self.retry_after_s)})


class Place:
    """One piece of work's place."""

    def __init__(self, admission: Admission, client: str) -> None:
        self._admission = admission
        self._client = client
        self.waited_s = 0.0
        """How long it waited."""

    async def __aenter__(self) -> "Place":
        asked_s = time.monotonic()
        await self._admission._enter(self._client)
        self._began_s = time.monotonic()
        self.waited_s = self._began_s - asked_s
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self._admission._leave(self._client, time.monotonic() - self._began_s)
