"""Interpreters that keep their state between requests.

A client chooses a session's id (32 hex digits, its key to it) and numbers its runs. A request that got lost on the way
back can so be sent again: it is answered with what the first one gave, and nothing runs twice.
"""

import asyncio
import contextlib
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from toolenvs.errors import ForkError, ToolenvsError
from toolenvs.sandbox import Box, Session
from toolenvs.serve.http import Refused, log

Answer = dict[str, Any]
Work = Callable[[Session], Coroutine[Any, Any, Answer]]
"""Begins a run in a session."""
_REMEMBERED = 1000
_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(slots=True)
class _Live:
    session: Session
    parent: str = ""
    number: int = 0
    """Of the last run."""
    run: asyncio.Task[Answer] | None = None
    """The last run, going on or done."""
    forking: asyncio.Lock = field(default_factory=asyncio.Lock)
    used_s: float = field(default_factory=time.monotonic)

    @property
    def busy(self) -> bool:
        return self.run is not None and not self.run.done()


class Sessions:
    """The live sessions by id."""

    def __init__(self, *, most: int, idle_s: float) -> None:
        self._most = most
        self._idle_s = idle_s
        self._live: dict[str, _Live] = {}
        self._coming = 0
        self._ended: deque[str] = deque(maxlen=_REMEMBERED)
        self._sweeper: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._live)

    async def create(self, key: str, box: Box, seed: int | None) -> None:
        """Make the session `key`, unless it is there.

        Raises:
            Refused: the id is none (422) or of one that was ended (409), or there are too many (429).
        """
        if not _ID.fullmatch(key):
            raise Refused(422, "a session's id is 32 hexadecimal digits, chosen at random by the client")
        if key in self._ended:  # its client gave up before this request was read
            raise Refused(409, "this session was ended: choose another id")
        if key not in self._live:
            async with self._room():
                live = _Live(await box.asession(seed=seed))
            await self._keep(key, live)

    async def run(self, key: str, number: int, work: Work) -> Answer:
        """The answer of run `number` of a session: of the one that goes on or is done, or of `work` begun now.

        The run goes on when its client goes away; `end` stops it.

        Raises:
            Refused: no such session (404), another run is going on or came later (409), and whatever `work` raises.
        """
        live = self._of(key)
        live.used_s = time.monotonic()
        if number != live.number or live.run is None:
            if live.busy or live.forking.locked():
                raise Refused(409, "this session is busy with another run: one at a time")
            if number < live.number:
                raise Refused(409, f"run {number} came after run {live.number} of its session")
            live.number = number
            live.run = asyncio.create_task(work(live.session))
            live.run.add_done_callback(_retrieve)
        run = live.run
        try:
            return await asyncio.shield(run)
        except Refused:
            if live.run is run:
                live.run = None  # it did not begin, so the next attempt may
            raise
        finally:
            live.used_s = time.monotonic()

    async def fork(self, key: str, copy: str) -> None:
        """Make `copy` a copy of the session as it is, unless it is there.

        Raises:
            Refused: no such session (404), it is busy or cannot be copied (409), too many live (429), a bad id (422).
        """
        live = self._of(key)
        if not _ID.fullmatch(copy):
            raise Refused(422, "a session's id is 32 hexadecimal digits, chosen at random by the client")
        async with live.forking:
            if copy in self._live:
                if self._live[copy].parent != key:
                    raise Refused(409, "another session has that id: choose one at random")
                return
            if live.busy:
                raise Refused(409, "this session is busy with a run: fork it afterwards")
            try:
                async with self._room():
                    forked = await live.session.afork()
            except ForkError as error:
                raise Refused(409, {"fork": str(error)}) from None
            await self._keep(copy, _Live(forked, parent=key))

    async def end(self, key: str) -> None:
        """End a session and what runs in it; one that is not there is ended already."""
        self._ended.append(key)
        live = self._live.pop(key, None)
        if live is not None:
            await self._close(live)

    async def aclose(self) -> None:
        """End every session."""
        if self._sweeper is not None:
            self._sweeper.cancel()
        for key in list(self._live):
            await self.end(key)

    @contextlib.asynccontextmanager
    async def _room(self) -> AsyncIterator[None]:
        if len(self._live) + self._coming >= self._most:
            raise Refused(429, f"{len(self._live)} sessions live, the most that may: end some", {"Retry-After": "2"})
        self._coming += 1
        try:
            yield
        finally:
            self._coming -= 1

    async def _keep(self, key: str, live: _Live) -> None:
        if key in self._live:  # asked for twice at one time
            await self._close(live)
            return
        self._live[key] = live
        if self._sweeper is None:
            self._sweeper = asyncio.create_task(self._sweep())

    def _of(self, key: str) -> _Live:
        live = self._live.get(key)
        if live is None:
            raise Refused(404, f"no such session: it was ended, or not used for {self._idle_s:g} s, or never made")
        return live

    async def _close(self, live: _Live) -> None:
        try:
            await live.session.aclose()
        except ToolenvsError as error:
            log.warning("a session could not be closed: %s", error)
        if live.run is not None:
            await asyncio.wait((live.run,))

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(min(30.0, self._idle_s / 4))
            old_s = time.monotonic() - self._idle_s
            for key in [key for key, live in self._live.items() if live.used_s < old_s and not live.busy]:
                await self.end(key)


def _retrieve(run: asyncio.Task[Answer]) -> None:
    """Where its client went away, nobody else asks how it ended."""
    if not run.cancelled():
        run.exception()
