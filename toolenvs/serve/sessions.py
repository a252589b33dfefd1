"""What keeps its state between requests: interpreters, episodes.

A client chooses a session's id (32 hex digits, its key to it) and numbers what it does there. A request that got lost
on the way back can so be sent again: it is answered with what the first one gave, and nothing is done twice.
"""

import asyncio
import re
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from toolenvs.serve.http import Refused, log

Answer = dict[str, Any]
_REMEMBERED = 1000
_ID = re.compile(r"[0-9a-f]{32}")


class Closable(Protocol):
    """What a session is."""

    async def aclose(self) -> None:
        """Free what it holds."""


T = TypeVar("T", bound=Closable)
R = TypeVar("R")


@dataclass(slots=True)
class _Live(Generic[T]):
    beginning: asyncio.Task[T]
    client: str
    parent: str
    number: int = 0
    """Of the last run."""
    run: asyncio.Task[Answer] | None = None
    """The last run, going on or done."""
    forking: asyncio.Lock = field(default_factory=asyncio.Lock)
    forks: int = 0
    """Copies that are being made of it, or wait to be."""
    used_s: float = field(default_factory=time.monotonic)

    @property
    def busy(self) -> bool:
        return not self.beginning.done() or (self.run is not None and not self.run.done())


class Sessions(Generic[T]):
    """The live sessions by id.

    Args:
        most: sessions at one time.
        per_client: of them, those of one client; None for no limit of its own.
        idle_s: after so long without a request, or a `touch`, a session is ended.
    """

    def __init__(self, *, most: int, idle_s: float, per_client: int | None = None) -> None:
        self._most = most
        self._per_client = per_client
        self._idle_s = idle_s
        self._live: dict[str, _Live[T]] = {}
        self._ended: deque[str] = deque(maxlen=_REMEMBERED)
        self._sweeper: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self.expired = 0
        """How many were ended because nobody used them."""

    def __len__(self) -> int:
        return len(self._live)

    async def create(self, key: str, make: Callable[[], Awaitable[T]], *, client: str = "") -> T:
        """The session `key`, which `make` makes unless it is there, or is being made.

        What is being made is made to its end, even if its client goes away; `end` stops it.

        Raises:
            Refused: the id is none (422) or of one that was ended (409), or there are too many (429).
        """
        _check(key)
        if key in self._ended:  # its client gave up before this request was read
            raise Refused(409, "this session was ended: choose another id")
        live = self._live.get(key)
        if live is None:
            live = self._begin(key, make, client, parent="")
        live.used_s = time.monotonic()
        return await _result(live.beginning)

    async def run(self, key: str, number: int, work: Callable[[T], Coroutine[Any, Any, Answer]]) -> Answer:
        """The answer of run `number` of a session: of the one that goes on or is done, or of `work` begun now.

        The run goes on when its client goes away; `end` stops it.

        Raises:
            Refused: no such session (404), another run is going on or came later (409), and whatever `work` raises.
        """
        live = self._of(key)
        live.used_s = time.monotonic()
        if number != live.number or live.run is None:
            if live.busy or live.forks:
                raise Refused(409, "this session is busy with another run: one at a time")
            if number < live.number:
                raise Refused(409, f"run {number} came after run {live.number} of its session")
            live.number = number
            live.run = asyncio.create_task(work(live.beginning.result()))
            live.run.add_done_callback(_retrieve)
        run = live.run
        try:
            return await _result(run)
        except Refused:
            if live.run is run:
                live.run = None  # it did not begin, so the next attempt may
            raise
        finally:
            live.used_s = time.monotonic()

    async def fork(self, key: str, copy: str, make: Callable[[T], Awaitable[T]], *, client: str = "") -> T:
        """The session `copy`, which `make` makes of the session `key` as it is, unless it is there.

        Raises:
            Refused: no such session (404), it is busy (409), too many live (429), a bad id (422).
        """
        live = self._of(key)
        live.used_s = time.monotonic()
        _check(copy)
        found = self._live.get(copy)
        if found is None:
            if live.busy:
                raise Refused(409, "this session is busy with a run: fork it afterwards")

            async def copied() -> T:
                try:
                    async with live.forking:
                        return await make(live.beginning.result())
                finally:
                    live.forks -= 1
                    live.used_s = time.monotonic()

            found = self._begin(copy, copied, client, parent=key)
            live.forks += 1
        elif found.parent != key:
            raise Refused(409, "another session has that id: choose one at random")
        return await _result(found.beginning)

    def get(self, key: str) -> T:
        """The session, to be read only.

        Raises:
            Refused: there is none (404), or it is being made (409).
        """
        live = self._of(key)
        live.used_s = time.monotonic()
        if not live.beginning.done():
            raise Refused(409, "this session is being made")
        return live.beginning.result()

    def touch(self, keys: Iterable[str]) -> list[str]:
        """Renew sessions as a use of them would; those that are not there."""
        missing = []
        for key in keys:
            live = self._live.get(key)
            if live is None:
                missing.append(key)
            else:
                live.used_s = time.monotonic()
        return missing

    async def end(self, key: str) -> None:
        """End a session and what runs in it; one that is not there is ended already."""
        if not _ID.fullmatch(key):  # of no session, and as long as a client likes
            return
        self._ended.append(key)
        live = self._live.pop(key, None)
        if live is not None:
            closing = asyncio.create_task(self._close(live))  # to its end, though its client goes away meanwhile
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)
            await asyncio.shield(closing)

    async def aclose(self) -> None:
        """End every session."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        await asyncio.gather(*(self.end(key) for key in list(self._live)))
        if self._closing:
            await asyncio.wait(self._closing)

    def _begin(self, key: str, make: Callable[[], Awaitable[T]], client: str, parent: str) -> _Live[T]:
        if len(self._live) >= self._most:
            raise Refused(429, f"{len(self._live)} sessions live, the most that may: end some", {"Retry-After": "2"})
        mine = sum(live.client == client for live in self._live.values()) if self._per_client is not None else 0
        if self._per_client is not None and mine >= self._per_client:
            raise Refused(429, f"{mine} sessions of {client} live, the most of a client", {"Retry-After": "2"})

        async def begin() -> T:
            return await make()

        live = _Live(asyncio.create_task(begin()), client, parent)
        self._live[key] = live
        live.beginning.add_done_callback(lambda beginning: self._begun(key, live))
        if self._sweeper is None:
            self._sweeper = asyncio.create_task(self._sweep())
        return live

    def _begun(self, key: str, live: _Live[T]) -> None:
        live.used_s = time.monotonic()
        _retrieve(live.beginning)
        failed = live.beginning.cancelled() or live.beginning.exception() is not None
        if failed and self._live.get(key) is live:
            del self._live[key]  # the next attempt may make it

    def _of(self, key: str) -> _Live[T]:
        live = self._live.get(key)
        if live is None:
            raise Refused(404, f"no such session: it was ended, or not used for {self._idle_s:g} s, or never made")
        return live

    async def _close(self, live: _Live[T]) -> None:
        if not live.beginning.done():
            live.beginning.cancel()
            await asyncio.wait((live.beginning,))
        if live.beginning.cancelled() or live.beginning.exception() is not None:
            return
        try:
            await live.beginning.result().aclose()
        except Exception as error:  # it is gone for its client either way
            log.warning("a session could not be closed: %s: %s", type(error).__name__, error)
        if live.run is not None and not live.run.done():
            live.run.cancel()
            await asyncio.wait((live.run,))

    async def _sweep(self) -> None:
        every_s = min(30.0, self._idle_s / 4)
        while True:
            began_s = time.monotonic()
            await asyncio.sleep(every_s)
            late_s = time.monotonic() - began_s - every_s
            for live in self._live.values():  # while this process stood still, nobody could reach it
                live.used_s += late_s
            old_s = time.monotonic() - self._idle_s
            old = [key for key, live in self._live.items() if live.used_s < old_s and not live.busy and not live.forks]
            self.expired += len(old)
            await asyncio.gather(*(self.end(key) for key in old))


def _check(key: str) -> None:
    if not _ID.fullmatch(key):
        raise Refused(422, "a session's id is 32 hexadecimal digits, chosen at random by the client")


async def _result(task: "asyncio.Task[R]") -> R:
    """What a task gives; it goes on where who waits for it is cancelled."""
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        if task.cancelled():
            raise Refused(404, "no such session: it was ended meanwhile") from None
        raise


def _retrieve(task: "asyncio.Task[Any]") -> None:
    """Where its client went away, nobody else asks how it ended."""
    if not task.cancelled():
        task.exception()
