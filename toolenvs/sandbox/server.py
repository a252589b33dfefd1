"""The host's side of one fork server: start it, give it orders, hear how cells ended."""

import contextlib
import json
import os
import select
import socket
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path

from toolenvs.errors import SandboxError
from toolenvs.sandbox import wire
from toolenvs.sandbox.walls import Plan

BOOT_LIMIT_S = 60.0
REAP_LIMIT_S = 10.0
_ENDED = os.WEXITED | os.WNOHANG | os.WNOWAIT
_END_LIMIT_S = 5.0
_SEND_LIMIT_S = 5  # for an order; a fork server that is stopped takes none when its queue is full

_PACKAGE = Path(__file__).resolve().parent.parent
# The two parent packages are stood in for, so that the fork server imports nothing but its own few modules.
_BOOT = (
    "import sys,types\n"
    "for name,path in (('toolenvs',sys.argv[2]),('toolenvs.sandbox',sys.argv[2]+'/sandbox')):\n"
    " module=sys.modules[name]=types.ModuleType(name); module.__path__=[path]\n"
    "from toolenvs.sandbox import zygote\n"
    "zygote.main()\n"
)
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/tmp",
    "PYTHONHASHSEED": "0",
    "MALLOC_ARENA_MAX": "2",  # each arena costs 64 MB of address space
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}


class Server:
    """One fork server. Thread-safe."""

    def __init__(self, plan: Plan) -> None:
        """Start it and wait until it serves.

        Raises:
            SandboxError: it did not come up; the message says which step failed.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", _SEND_LIMIT_S, 0))
        self._socket = ours
        self._lock = threading.Lock()
        self._reaping = threading.Lock()
        self._next_cell = 0
        self.dead = False
        self._guarded = plan["tier"] == "fork"
        self._copied = False
        self._cells: set[int] = set()
        try:
            self.process = _execute(plan, theirs)
        finally:
            theirs.close()
        _SERVERS.add(self)
        kind, _, _, text = self._receive(BOOT_LIMIT_S)
        if kind != wire.READY:
            self.close()
            raise SandboxError(f"the {plan['tier']} tier of the local sandbox did not start: {text}")

    def spawn(self, descriptors: list[int], *, forkable: bool = False, user: int = 0) -> int:
        """Order a cell; its number.

        Args:
            descriptors: its control, stdout and stderr channels, then the files that take it into its control groups.
            forkable: let `admit` copy it.
            user: its user in the hardened tier.

        Raises:
            SandboxError: the fork server is dead.
        """
        with self._lock:
            self._next_cell += 1
            order = wire.SPAWN_FORKABLE if forkable else wire.SPAWN
            self._send(order, self._next_cell, user, descriptors=descriptors)
            self._cells.add(self._next_cell)
            return self._next_cell

    @property
    def running(self) -> bool:
        """Whether it still serves, as far as can be told without asking it."""
        process = self.process
        try:  # what `process.poll` asks, in one step
            if process.returncode is not None or os.waitid(os.P_PID, process.pid, _ENDED):
                self.dead = True
        except ChildProcessError:  # another has been told of its end
            self.dead = True
        return not self.dead

    @property
    def live(self) -> int:
        """Cells that were ordered and not yet killed."""
        return len(self._cells)

    def interrupt(self, cell: int) -> None:
        """Send the interrupt of a user at a keyboard to a cell."""
        with self._lock:
            self._send(wire.INTERRUPT, cell)

    def admit(self, parent: int, descriptors: list[int]) -> int:
        """Let `parent` copy itself once; the copy's number.

        Args:
            parent: the cell that is copied.
            descriptors: where the copy's hello comes, then the files that take it into its control groups.

        Raises:
            SandboxError: the fork server is dead.
        """
        with self._lock:
            self._next_cell += 1
            self._copied = True
            self._send(wire.ADMIT, self._next_cell, parent, descriptors=descriptors)
            self._cells.add(self._next_cell)
            return self._next_cell

    def kill(self, cell: int) -> None:
        """Kill a cell and forget it; nothing when the server is dead, as its cells then are."""
        with self._lock:
            self._cells.discard(cell)
            with contextlib.suppress(SandboxError):
                self._send(wire.KILL, cell)

    def reap(self, cell: int) -> int:
        """Kill a cell if it still lives; its wait status, or `wire.CUT_OFF` if that was what ended it.

        Raises:
            SandboxError: the fork server is dead.
        """
        with self._reaping:
            with self._lock:
                self._cells.discard(cell)
                self._send(wire.REAP, cell)
            while True:
                kind, about, status, _ = self._receive(REAP_LIMIT_S)
                if kind == wire.EXIT and about == cell:
                    return status

    def close(self) -> None:
        """End the fork server and every cell of it."""
        self.dead = True
        if self._guarded and self._copied:  # its guardian is to live until the copies have ended
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(_END_LIMIT_S)
        self._socket.close()
        self.process.kill()
        self.process.wait()

    def abandon(self) -> None:
        """In a forked child of the host: let go of what belongs to the parent."""
        self.dead = True
        self._socket.close()

    def _send(self, order: int, cell: int, other: int = 0, *, descriptors: Sequence[int] = ()) -> None:
        if self.dead:
            raise SandboxError("the fork server of the local sandbox has ended")
        try:
            socket.send_fds(self._socket, [wire.ORDER.pack(order, cell, other)], descriptors)
        except OSError as error:
            self.dead = True
            raise SandboxError(f"the fork server of the local sandbox has ended ({error.strerror})") from error

    def _receive(self, limit_s: float) -> tuple[int, int, int, str]:
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        data = b""
        with contextlib.suppress(ConnectionResetError):  # killed with orders unread
            if poll.poll(limit_s * 1000):
                data = self._socket.recv(wire.MAX_REPORT_BYTES)
        if len(data) < wire.REPORT.size:
            self.dead = True
            code = self.process.poll()
            raise SandboxError(f"the fork server of the local sandbox ended or hangs (exit code {code})")
        kind, cell, status = wire.REPORT.unpack_from(data)
        return kind, cell, status, data[wire.REPORT.size :].decode("utf-8", "replace")


def _execute(plan: Plan, control: socket.socket) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-s", "-P", "-S", "-c", _BOOT, json.dumps(plan), str(_PACKAGE), str(control.fileno())],
        pass_fds=[control.fileno()],
        env=_ENVIRONMENT,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


_SERVERS: "weakref.WeakSet[Server]" = weakref.WeakSet()


def _abandon_all() -> None:
    for server in list(_SERVERS):
        server.abandon()


os.register_at_fork(after_in_child=_abandon_all)
