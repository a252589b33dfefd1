"""The processes of one database: lent to one query at a time, started when first needed, and replaced when killed.

Sets of questions are about hundreds of databases: of the processes that wait, over all databases, the one that has
waited longest is ended as soon as there are more than `MAX_IDLE`.
"""

import asyncio
import os
import threading
import weakref
from collections import deque
from concurrent.futures import Future, wait
from typing import Any

from toolenvs import loop
from toolenvs.databases import wire
from toolenvs.databases.lane import LOOK_S, Lane
from toolenvs.databases.worker import Gone, Worker
from toolenvs.errors import DatabaseError

MAX_IDLE = 64
"""Processes of all databases that wait for a query."""


class Pool:
    """At most `size` processes. From any thread or event loop; a forked child starts its own."""

    def __init__(self, first: dict[str, Any], size: int) -> None:
        self._first = first
        self._size = size
        self._renew()

    def _renew(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._idle: list[Worker] = []
        self._lent = 0
        self._waiting: deque[Future[Worker | None]] = deque()
        self._lanes: dict[asyncio.AbstractEventLoop, Lane] = {}
        self._last_lane: Lane | None = None
        self._closed = False

    def _renew_if_forked(self) -> None:
        if self._pid != os.getpid():
            for worker in self._idle:
                worker.leave()
            closed = self._closed
            self._renew()
            self._closed = closed

    def exchange(self, frame: bytes, timeout_s: float) -> dict[str, Any]:
        """The answer of some process; see `Worker.exchange`. Time spent in waiting for a free one is not counted.

        Raises:
            DatabaseError: the database was closed, or cannot be opened again.
        """
        worker = self.place()
        if isinstance(worker, Future):
            worker = self._granted(worker)
        try:
            worker = self.ready(worker)
            try:
                return worker.exchange(frame, timeout_s)
            except Gone as gone:
                if not gone.from_outside:
                    raise
            worker = Worker(self._first)  # a query leaves nothing, so that it may run again
            return worker.exchange(frame, timeout_s)
        finally:
            self.give_back(worker)

    async def aexchange(self, frame: bytes, timeout_s: float) -> dict[str, Any]:
        """As `exchange`."""
        if not loop.alone.get():
            try:
                return wire.decode(await self._lane().exchange(frame, timeout_s))
            except ValueError as error:
                raise DatabaseError(f"the database's process answered with {error}") from None
        worker = self.place()
        if isinstance(worker, Future):
            worker = await self._agranted(worker)
        try:
            if worker is None or not worker.waits:
                worker = await asyncio.to_thread(self.ready, worker)
            _only(self, worker)
            try:
                return await worker.aexchange(frame, timeout_s)
            except Gone as gone:
                if not gone.from_outside:
                    raise
            worker = await asyncio.to_thread(Worker, self._first)
            return await worker.aexchange(frame, timeout_s)
        finally:
            self.give_back(worker)

    def _granted(self, place: "Future[Worker | None]") -> Worker | None:
        """What a place holds once it is free."""
        try:
            while not wait([place], LOOK_S).done:
                self.free()
            return place.result()
        except BaseException:  # an interrupt while it waited
            self._return(place)
            raise

    async def _agranted(self, place: "Future[Worker | None]") -> Worker | None:
        """As `_granted`."""
        try:
            granted = asyncio.wrap_future(place)
            while not (await asyncio.wait([granted], timeout=LOOK_S))[0]:
                self.free()
            return granted.result()
        except BaseException:
            self._return(place)
            raise

    def _return(self, place: "Future[Worker | None]") -> None:
        """Nobody waits for it any more; it may have been granted at the same moment."""
        if not place.cancel():
            self.give_back(place.result())

    def _lane(self) -> Lane:
        """That of the running loop."""
        running = asyncio.get_running_loop()
        self._renew_if_forked()
        lane = self._last_lane
        if lane is None or lane.loop is not running:
            with self._lock:
                lane = self._lanes.get(running)
            if lane is None:
                self.free()
                lane = Lane(self, running)
                with self._lock:
                    self._lanes[running] = lane
            self._last_lane = lane
        return lane

    def free(self) -> None:
        """Take back what is lent to loops that were closed, though their tasks had not ended."""
        with self._lock:
            gone = [self._lanes.pop(loop) for loop in [*self._lanes] if loop.is_closed()]
            if self._last_lane in gone:
                self._last_lane = None
        for lane in gone:
            lane.leave()

    @property
    def left(self) -> bool:
        """Whether a process could be had now."""
        return self._lent < self._size

    @property
    def wanted(self) -> bool:
        """Whether somebody waits for one."""
        return bool(self._waiting)

    def place(self) -> "Worker | Future[Worker | None] | None":
        """The right to use a process, now or, by a future, later: an idle one, or None: start one."""
        self._renew_if_forked()
        if not self.left:
            self.free()
        with self._lock:
            if self._closed:
                raise DatabaseError("this database is closed: open it again")
            if self._lent < self._size:
                self._lent += 1
                idle = self._idle.pop() if self._idle else None
                _idle_anywhere.remove(idle)
                return idle
            place: Future[Worker | None] = Future()
            self._waiting.append(place)
            return place

    def ready(self, worker: Worker | None) -> Worker:
        """It, or a new one where it has ended."""
        if worker is not None and worker.waits:
            return worker
        if worker is not None:
            worker.kill()
        return Worker(self._first)

    def give_back(self, worker: Worker | None) -> None:
        """End its loan."""
        usable = worker is not None and worker.channel.fileno() >= 0
        too_many: list[tuple[Worker, Pool]] = []
        granted: Future[Worker | None] | None = None
        with self._lock:
            while self._waiting and granted is None:
                place = self._waiting.popleft()
                granted = place if place.set_running_or_notify_cancel() else None
            if granted is None:
                self._lent -= 1
                if usable and worker is not None and not self._closed:
                    self._idle.append(worker)
                    too_many = _idle_anywhere.add(worker, self)
                    worker = None
        if granted is not None:  # outside the lock: a lane whose loop is closed gives it back at once
            granted.set_result(worker if usable else None)
            return
        if usable and worker is not None:
            worker.kill()
        for longest, pool in too_many:
            pool._retire(longest)

    def _rest(self, worker: Worker) -> None:
        """Let a process that waits sleep; one that is lent has something to do."""
        with self._lock:
            if worker in self._idle:
                worker.rest()

    def close(self) -> None:
        """End the processes that no query uses now, and the others as they come back."""
        if self._pid != os.getpid():
            for worker in self._idle:
                worker.leave()
            self._idle = []
            return
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for worker in idle:
            _idle_anywhere.remove(worker)
            worker.kill()

    def _retire(self, worker: Worker) -> None:
        """End a process, unless it was lent in the meantime."""
        with self._lock:
            if worker not in self._idle:
                return
            self._idle.remove(worker)
        worker.kill()


class _Idle:
    """The processes of all pools that wait, in the order in which they began to. It asks no pool for its lock."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # a pool may be collected, and so closed, while this thread holds it
        self._pools: dict[Worker, Pool] = {}

    def add(self, worker: Worker, pool: Pool) -> list[tuple[Worker, Pool]]:
        """Note one; give those that are too many by now."""
        with self._lock:
            self._pools[worker] = pool
            if len(self._pools) <= MAX_IDLE:
                return []
            late = list(self._pools.items())[: len(self._pools) - MAX_IDLE]
            for longest, _ in late:
                self._pools.pop(longest, None)
            return late

    def remove(self, worker: Worker | None) -> None:
        """Forget one, if it is known."""
        if worker is not None:
            with self._lock:
                self._pools.pop(worker, None)


_idle_anywhere = _Idle()


class _Latest(threading.local):
    asked: "tuple[weakref.ref[Pool], weakref.ref[Worker]] | None" = None


_latest = _Latest()


def _only(pool: Pool, worker: Worker) -> None:
    """Note whom a caller with nothing else to do asks; the one that it asked before need not stay awake beside it."""
    of, before = (one() for one in _latest.asked) if _latest.asked else (None, None)
    if before is not worker:
        if isinstance(of, Pool) and isinstance(before, Worker):
            of._rest(before)
        _latest.asked = weakref.ref(pool), weakref.ref(worker)


def _forget() -> None:
    """A forked child leaves the parent's processes alone, and another thread may have held the lock."""
    global _idle_anywhere, _latest
    _idle_anywhere, _latest = _Idle(), _Latest()


os.register_at_fork(after_in_child=_forget)


__all__ = ["Gone", "Pool"]
