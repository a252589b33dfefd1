"""The fork servers of one box, and the cells that stand ready in them.

A request takes a cell that is already forked; the next one is forked after the answer, out of the request's way. How
many stand ready follows demand: twice as many after each request that found none, fewer after a quiet spell.
"""

import os
import threading
import time
from collections import deque

from toolenvs.errors import SandboxError
from toolenvs.sandbox.cell import Cell
from toolenvs.sandbox.cgroups import Slots
from toolenvs.sandbox.limits import Limits, plan
from toolenvs.sandbox.server import Server

_MAX_READY = 8
_QUIET_S = 10.0


class Pool:
    """Cells of one kind ("bare", "full" or "wide"). Thread-safe."""

    def __init__(
        self,
        tier: str,
        kind: str,
        limits: Limits,
        *,
        slots: Slots | None = None,
        subprocesses: bool = False,
        seed: int = 0,
    ) -> None:
        self._plan = plan(tier, kind, limits, subprocesses=subprocesses, seed=seed)
        self._slots = slots
        self._max_servers = len(os.sched_getaffinity(0))
        self._lock = threading.Lock()
        self._starting = threading.Lock()
        self._growing = False
        self._closed = False
        self._servers: list[Server] = []
        self._ready: deque[Cell] = deque()
        self._depth = 1
        self._missed_s = time.monotonic()

    @property
    def servers(self) -> tuple[Server, ...]:
        """The fork servers that run now."""
        return tuple(self._servers)

    def start(self) -> None:
        """Start the first fork server unless one runs.

        Raises:
            SandboxError: it does not come up.
        """
        with self._starting:
            self._drop_dead()
            if not self._servers:
                self._add()

    @property
    def started(self) -> bool:
        """Whether a fork server runs, so that `take` does not wait for one."""
        return any(server.running for server in self._servers)

    def take(self, *, forkable: bool = False) -> Cell:
        """A cell that no program ran in.

        Args:
            forkable: one that may be copied; such are made on the spot.

        Raises:
            SandboxError: no fork server comes up.
        """
        for _ in range(3):
            with self._lock:
                while self._ready and not forkable:
                    cell = self._ready.popleft()
                    if cell.server.running and cell.alive:
                        return cell
                    cell.kill()
                if not forkable:
                    self._depth = min(self._depth * 2, _MAX_READY)
                    self._missed_s = time.monotonic()
            if not self.started:  # `start` waits for a fork server that `_grow` is adding; nobody else has to
                self.start()
            living = [server for server in self._servers if server.running]
            if not living:
                continue
            if forkable:  # sessions last: of one server, all of them share its memory, a megabyte less for each
                server = living[0]
            else:
                server = min(living, key=lambda server: server.live)
                if server.live >= 1 and len(living) < self._max_servers:
                    self._grow()
            try:
                return Cell.spawn(server, forkable=forkable, slots=self._slots)
            except SandboxError:
                if not server.dead:
                    raise
        raise SandboxError("the fork servers of the local sandbox end as soon as they start")

    def refill(self) -> None:
        """Order cells until as many stand ready as demand asks for."""
        now_s = time.monotonic()
        surplus: list[Cell] = []
        with self._lock:
            if self._closed:
                return
            if now_s - self._missed_s > _QUIET_S and self._depth > 1:
                self._depth -= 1
                self._missed_s = now_s
            living = [server for server in self._servers if server.running]
            try:
                while living and len(self._ready) < self._depth:
                    server = min(living, key=lambda server: server.live)
                    self._ready.append(Cell.spawn(server, slots=self._slots))
            except SandboxError:
                pass  # the next request finds out, and says so
            while len(self._ready) > self._depth:
                surplus.append(self._ready.pop())
        for cell in surplus:
            cell.kill()

    def close(self) -> None:
        """End everything."""
        with self._lock:
            self._closed = True
            while self._ready:
                self._ready.pop().kill()
        with self._starting:
            for server in self._servers:
                server.close()
            self._servers = []

    def _add(self) -> None:
        if self._closed:
            raise SandboxError("this sandbox is closed")
        self._servers = [*self._servers, Server(self._plan)]

    def _drop_dead(self) -> None:
        for server in self._servers:
            if not server.running:
                server.close()
        self._servers = [server for server in self._servers if not server.dead]

    def _grow(self) -> None:
        """Start one more fork server beside the running work."""
        with self._lock:
            if self._growing:
                return
            self._growing = True
        threading.Thread(target=self._grow_now, name="sandbox-start", daemon=True).start()

    def _grow_now(self) -> None:
        try:
            with self._starting:
                self._drop_dead()
                if len(self._servers) < self._max_servers:
                    self._add()
        except SandboxError:
            return  # the servers that run go on; the next miss tries again
        finally:
            self._growing = False
