"""How an event loop waits for many cells: through one descriptor, with which each of them is registered once."""

import asyncio
import contextlib
import os
import select
import threading
import time
import weakref
from typing import Any, Protocol

from toolenvs.errors import SandboxError
from toolenvs.sandbox.gathering import Gathering


class Watched(Protocol):
    """What can be waited for, a cell."""

    control: Any
    open_streams: set[int]
    watch: "Watch | None"


class Driven(Protocol):
    """What goes on when its cell is ready, an exchange."""

    deadline: float

    @property
    def cell(self) -> Any:
        """The cell."""

    @property
    def sending(self) -> bool:
        """Whether it waits for room to write."""

    def pump(self) -> bool:
        """Go on; whether it is finished."""

    def expire(self) -> bool:
        """The deadline has passed; whether it is finished."""


class Watch:
    """The cells of one event loop. What is registered stays so from run to run; only leaving is thread-safe."""

    def __init__(self) -> None:
        self._epoll: select.epoll | None = None  # open while a cell is registered
        self._lock = threading.Lock()  # cells leave from any thread
        self._cells: dict[int, Watched] = {}  # by each of its descriptors
        self._running: dict[Watched, tuple[Driven, asyncio.Future[None]]] = {}
        self._sending: set[int] = set()
        self._gathering = Gathering()
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_s = 0.0

    @classmethod
    def of_running_loop(cls) -> "Watch":
        """The one of the running loop."""
        loop = asyncio.get_running_loop()
        watch = _WATCHES.get(loop)
        if watch is None:
            watch = _WATCHES[loop] = cls()
        return watch

    async def drive(self, exchange: Driven) -> None:
        """Carry an exchange through.

        Raises:
            SandboxError: this process is out of what a cell is watched by.
        """
        loop = asyncio.get_running_loop()
        finished: asyncio.Future[None] = loop.create_future()
        epoll = self._join(exchange.cell)
        if not self._running:
            loop.add_reader(epoll.fileno(), self._wake)
        self._running[exchange.cell] = exchange, finished
        try:
            self._attend(exchange)  # what answers may be there does not have to be asked for before it was waited for
            await finished
        finally:
            with self._lock:
                del self._running[exchange.cell]
                if not self._running:  # a loop that is at rest keeps nothing of ours
                    if not loop.is_closed():  # in the middle of this
                        loop.remove_reader(epoll.fileno())
                    self._plan(None)
                    self._close_if_idle()

    def leave(self, cell: Watched) -> None:
        """Watch a cell no longer; nothing when another loop has taken it over meanwhile."""
        with self._lock:
            if cell.watch is not self:
                return
            cell.watch = None
            for descriptor in (cell.control.fileno(), *cell.open_streams):
                self._forget(descriptor)
            self._close_if_idle()

    def forget(self, descriptor: int) -> None:
        """Watch one channel of a cell no longer."""
        with self._lock:
            self._forget(descriptor)

    def abandon(self) -> None:
        """In a forked child of the host: let go of what is the parent's, whose cells this would unregister."""
        self._lock = threading.Lock()
        if self._epoll is not None:
            self._epoll.close()
            self._epoll = None

    def _join(self, cell: Watched) -> select.epoll:
        if cell.watch is self and self._epoll is not None:
            return self._epoll
        before = cell.watch  # whose loop may leave it now, in its own thread
        if before is not None:
            before.leave(cell)
        with self._lock:
            try:
                self._epoll = self._epoll or select.epoll()
                for descriptor in (cell.control.fileno(), *cell.open_streams):
                    self._epoll.register(descriptor, select.EPOLLIN)
                    self._cells[descriptor] = cell
            except OSError as error:
                for descriptor in (cell.control.fileno(), *cell.open_streams):
                    self._forget(descriptor)
                self._close_if_idle()
                raise SandboxError(f"a cell cannot be watched: {error.strerror} (raise `ulimit -n`)") from error
            cell.watch = self
            return self._epoll

    def _forget(self, descriptor: int) -> None:
        if self._epoll is not None:
            with contextlib.suppress(OSError, ValueError):
                self._epoll.unregister(descriptor)
        self._cells.pop(descriptor, None)
        self._sending.discard(descriptor)

    def _close_if_idle(self) -> None:
        if self._epoll is not None and not self._cells and not self._running:
            self._epoll.close()
            self._epoll = None

    def _wake(self) -> None:
        if self._epoll is None:
            return
        ready = self._gathering.more(self._epoll.poll(0), len(self._running), self._epoll.poll)
        for cell in {self._cells.get(descriptor) for descriptor, _ in ready}:
            if cell is None:
                continue  # it left meanwhile
            running = self._running.get(cell)
            if running is None:
                self.leave(cell)  # it ended, or writes unasked: whoever asks it next will see
            else:
                self._step(*running)

    def _step(self, exchange: Driven, finished: "asyncio.Future[None]", *, late: bool = False) -> None:
        if finished.done():
            return
        try:
            done = exchange.pump() or (late and time.monotonic() >= exchange.deadline and exchange.expire())
        except BaseException as error:
            finished.set_exception(error)
            return
        if done:
            finished.set_result(None)
        self._attend(exchange, done=done)

    def _attend(self, exchange: Driven, *, done: bool = False) -> None:
        """Wait for what an exchange waits for now."""
        if exchange.cell.watch is not self or self._epoll is None:
            return
        control = exchange.cell.control.fileno()
        if (exchange.sending and not done) != (control in self._sending):
            self._sending ^= {control}
            writing = select.EPOLLOUT if control in self._sending else 0
            self._epoll.modify(control, select.EPOLLIN | writing)
        if not done:
            self._plan(exchange.deadline)

    def _plan(self, deadline_s: float | None) -> None:
        """Ring at that time at the latest; None: not at all."""
        if self._alarm is not None:
            if deadline_s is not None and deadline_s >= self._alarm_s:
                return
            self._alarm.cancel()
            self._alarm = None
        if deadline_s is not None:
            loop = asyncio.get_running_loop()
            self._alarm_s = deadline_s
            self._alarm = loop.call_at(loop.time() + deadline_s - time.monotonic(), self._ring)

    def _ring(self) -> None:
        self._alarm = None
        now_s = time.monotonic()
        for exchange, finished in list(self._running.values()):
            if exchange.deadline <= now_s:
                self._step(exchange, finished, late=True)
            elif not finished.done():
                self._plan(exchange.deadline)


_WATCHES: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Watch]" = weakref.WeakKeyDictionary()


def _abandon_all() -> None:
    for watch in list(_WATCHES.values()):
        watch.abandon()
    _WATCHES.clear()


os.register_at_fork(after_in_child=_abandon_all)
