"""The queries of one event loop on one pool's processes: many wait, few are worked at.

A process is watched from its first query to its last while others wait, and not anew for each. Who asks looks first
whether another's answer has come, so that no process stands still while the loop has other things to do.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Protocol

from toolenvs.databases.worker import Gone, Worker
from toolenvs.errors import DatabaseError

LOOK_S = 1.0
"""After so long who waits for a process looks whether a loop was closed that took one along."""


class Places(Protocol):
    """Where processes are lent; None stands for one that is yet to be started."""

    @property
    def left(self) -> bool:
        """Whether one could be had now."""

    @property
    def wanted(self) -> bool:
        """Whether somebody waits for one."""

    def place(self) -> "Worker | Future[Worker | None] | None":
        """One, now or later."""

    def ready(self, worker: Worker | None) -> Worker:
        """It, or a new one where it has ended."""

    def give_back(self, worker: Worker | None) -> None:
        """End its loan."""

    def free(self) -> None:
        """Take back what is lent to loops that were closed."""


class _Asked:
    """A query and who waits for its answer."""

    __slots__ = ("again", "answered", "frame", "timeout_s", "until_s")

    def __init__(self, frame: bytes, timeout_s: float, answered: "asyncio.Future[bytearray]") -> None:
        self.frame = frame
        self.timeout_s = timeout_s
        self.until_s = 0.0
        self.answered = answered
        self.again = False
        """Whether a process ended under it before."""


class Lane:
    """For one loop, in whose thread all of it runs but `_bring`, `_arrive` and `leave`."""

    def __init__(self, places: Places, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._places = places
        self._waiting: deque[_Asked] = deque()
        self._working: dict[Worker, _Asked] = {}
        self._sending: dict[Worker, bytes] = {}
        self._coming = 0  # processes that are being started, or waited for
        self._arrived: deque[tuple[Worker | None, BaseException | None]] = deque()
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_s = 0.0

    async def exchange(self, frame: bytes, timeout_s: float) -> bytearray:
        """The body of the answer; time spent in waiting for a process is not counted. Cancelling kills the process.

        Raises:
            TimeoutError: there was none in time.
            Gone: the process ended.
            DatabaseError: the database is closed, or cannot be opened again.
        """
        for worker in [*self._working]:
            self._receive(worker)
        asked = _Asked(frame, timeout_s, self.loop.create_future())
        self._waiting.append(asked)
        try:
            self._call_up()
            return await asked.answered
        except BaseException:
            self._withdraw(asked)
            raise

    def _call_up(self) -> None:
        """A process for everyone who waits, as far as there are any; one that is here is soon free itself."""
        while len(self._waiting) > self._coming and (self._places.left or not (self._working or self._coming)):
            place = self._places.place()
            if isinstance(place, Future):
                self._coming += 1
                place.add_done_callback(lambda place: self._arrive(place.result()))
                self._wake(self.loop.time() + LOOK_S)
            else:
                self._admit(place)

    def _arrive(self, worker: Worker | None, error: BaseException | None = None) -> None:
        """In any thread: a process or the right to start one has come, or none could be started."""
        self._arrived.append((worker, error))
        try:
            self.loop.call_soon_threadsafe(self._come)
        except RuntimeError:  # the loop is closed
            self.leave()

    def _come(self) -> None:
        worker, error = self._arrived.popleft()
        self._coming -= 1
        if error is None:
            self._admit(worker)
        else:
            self._places.give_back(None)
            if self._waiting:
                self._fail(self._waiting.popleft(), error)
        self._call_up_all()
        self._rest()

    def leave(self) -> None:
        """In any thread, when the loop is closed: nobody waits any more, and what was lent to it is free."""
        self._waiting.clear()
        with contextlib.suppress(KeyError):  # another thread does the same
            while self._working:
                worker, _ = self._working.popitem()
                worker.kill()
                self._places.give_back(worker)
        with contextlib.suppress(IndexError):
            while self._arrived:
                self._places.give_back(self._arrived.popleft()[0])

    def _admit(self, worker: Worker | None) -> None:
        if not self._waiting:
            self._places.give_back(worker)
        elif worker is not None and worker.waits:
            self._begin(worker)
        else:
            self._start(worker)

    def _start(self, worker: Worker | None) -> None:
        """A new process in place of one that has ended, or of none; that takes a while."""
        self._coming += 1
        try:
            self.loop.run_in_executor(None, self._bring, worker)
        except RuntimeError as error:
            told = f"a database's process cannot be started ({error}): free memory or threads"
            self._arrive(None, DatabaseError(told))

    def _bring(self, worker: Worker | None) -> None:
        """In a thread. No future tells of it: one of a loop that is closed meanwhile never would."""
        try:
            ready = self._places.ready(worker)
        except BaseException as error:
            self._arrive(None, error)
        else:
            self._arrive(ready)

    def _begin(self, worker: Worker) -> None:
        """The next query, on a process that owes nothing."""
        asked = self._waiting.popleft()
        self._working[worker] = asked  # first, so that an interrupt below loses no place
        asked.until_s = self.loop.time() + asked.timeout_s
        self._wake(asked.until_s)
        if worker.watched_by is not self:
            self.loop.add_reader(worker.channel.fileno(), self._receive, worker)
            worker.watched_by = self
        self._send(worker, asked.frame)

    def _send(self, worker: Worker, frame: bytes) -> None:
        try:
            rest = worker.begun(frame)
        except OSError:
            self._lose(worker)
            return
        if rest:
            self._sending[worker] = rest
            self.loop.add_writer(worker.channel.fileno(), self._send_on, worker)

    def _send_on(self, worker: Worker) -> None:
        self.loop.remove_writer(worker.channel.fileno())
        self._send(worker, self._sending.pop(worker))

    def _receive(self, worker: Worker) -> None:
        """What has come of an answer; the next query goes out where it has come whole."""
        try:
            body = worker.received()
        except BlockingIOError:
            return
        except OSError:
            self._lose(worker)
            return
        if body is None:
            return
        asked = self._working.pop(worker)
        if not asked.answered.done():
            asked.answered.set_result(body)
        if self._waiting and not self._places.wanted:
            self._begin(worker)
        else:
            self._let_go(worker, self._places.give_back)
            self._call_up_all()

    def _call_up_all(self) -> None:
        """As `_call_up`, where nobody is there to be told that it fails."""
        try:
            self._call_up()
        except Exception as error:
            while self._waiting:
                self._fail(self._waiting.popleft(), error)

    def _look(self) -> None:
        """End what has passed its deadline."""
        self._alarm = None
        now_s = self.loop.time()
        for worker, asked in [*self._working.items()]:
            if asked.until_s <= now_s:
                del self._working[worker]
                self._fail(asked, TimeoutError())
                self._let_go(worker, self._drop)
        if self._working:
            self._wake(min(asked.until_s for asked in self._working.values()))
        elif self._coming:
            self._places.free()
            self._wake(now_s + LOOK_S)
        self._call_up_all()
        self._rest()

    def _wake(self, at_s: float) -> None:
        """Look no later than then."""
        if self._alarm is not None:
            if self._alarm_s <= at_s:
                return
            self._alarm.cancel()
        self._alarm, self._alarm_s = self.loop.call_at(at_s, self._look), at_s

    def _rest(self) -> None:
        """A loop that is at rest keeps nothing of ours."""
        if self._alarm is not None and not self._working and not self._coming:
            self._alarm.cancel()
            self._alarm = None

    def _drop(self, worker: Worker) -> None:
        worker.drop()
        self._places.give_back(worker)

    def _lose(self, worker: Worker) -> None:
        """A process has ended."""
        asked = self._working.pop(worker, None)
        self._let_go(worker, lambda worker: None)
        gone = Gone(worker.kill())
        if asked is not None and gone.from_outside and not asked.again:  # a query leaves nothing: it may run again
            asked.again = True
            self._waiting.appendleft(asked)
            self._start(None)
            return
        self._places.give_back(worker)
        if asked is not None:
            self._fail(asked, gone)
        self._call_up_all()

    def _withdraw(self, asked: _Asked) -> None:
        """Whoever asked is gone."""
        if self.loop.is_closed():
            self.leave()
        if asked in self._waiting:
            self._waiting.remove(asked)
        for worker, worked_at in [*self._working.items()]:
            if worked_at is asked:
                del self._working[worker]
                self._let_go(worker, lambda worker: worker.kill())
                self._places.give_back(worker)
                self._call_up_all()

    def _let_go(self, worker: Worker, then: Callable[[Worker], object]) -> None:
        """Watch a process no longer."""
        worker.watched_by = None
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self.loop.remove_reader(worker.channel.fileno())
            if self._sending.pop(worker, None) is not None:
                self.loop.remove_writer(worker.channel.fileno())
        self._rest()
        then(worker)

    def _fail(self, asked: _Asked, error: BaseException) -> None:
        if not asked.answered.done():
            asked.answered.set_exception(error)
