"""One engine's process, seen from here: an exchange at a time, and a kill when it does not answer in time."""

import asyncio
import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from toolenvs.databases import wire
from toolenvs.databases.awake import Awake
from toolenvs.databases.child import PATIENCE_S
from toolenvs.errors import ConfigError, DatabaseError, MissingExtraError

KILL_AFTER_S = 0.25
"""After a deadline; the process's own timer, which is earlier, is there for when this one cannot."""
START_TIMEOUT_S = 60.0
_ALONE_MS = 5.0
"""How long an event loop that has nothing else to do is held for an answer."""
_AWAKE_S = 0.002
"""How long a caller that is alone stays awake for an answer, where those before came as soon."""
_MAX_FRAME_BYTES = 1 << 30
_PIECE_BYTES = 1 << 16
"""Received at once: memory for a larger piece would come from the kernel each time."""
_PACKAGE = Path(__file__).resolve().parents[1]
_BOOT = f"""
import sys, types
package = types.ModuleType("toolenvs")  # not the real one, which registers every page
package.__path__ = [{str(_PACKAGE)!r}]
sys.modules["toolenvs"] = package
from toolenvs.databases import child
child.main(int(sys.argv[1]))
"""
_BROKEN_BY_QUERY = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP}


class Gone(Exception):
    """The process ended while it owed an answer; `signal` is what ended it, 0 where it ended by itself."""

    def __init__(self, by: int) -> None:
        super().__init__(by)
        self.signal = by

    @property
    def late(self) -> bool:
        """Whether the deadline ended it."""
        return self.signal == signal.SIGALRM

    @property
    def from_outside(self) -> bool:
        """Whether neither the deadline nor its own work ended it."""
        return not self.late and self.signal not in _BROKEN_BY_QUERY


def _wait_to_write(channel: socket.socket, until_s: float) -> None:
    room = select.poll()
    room.register(channel, select.POLLOUT)
    left_s = until_s - time.monotonic()
    if left_s <= 0 or not room.poll(1000 * left_s):
        raise TimeoutError


class Worker:
    """A process with one opened database. One exchange at a time: the pool sees to that."""

    def __init__(self, first: dict[str, Any]) -> None:
        """Start it and wait until the database is open.

        Raises:
            ConfigError: a setting cannot be used.
            MissingExtraError: the engine needs a package that is not installed.
            DatabaseError: the database cannot be opened.
        """
        self.channel, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _BOOT, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={"PATH": os.defpath, "TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"},
            )
        except OSError as error:
            self.channel.close()
            raise DatabaseError(f"a database's process cannot be started ({error}): free memory or processes") from None
        finally:
            theirs.close()
        self.channel.setblocking(False)
        self._answers = select.poll()
        self._answers.register(self.channel, select.POLLIN)
        self._received = bytearray()
        self.watched_by: object = None
        """The lane whose loop watches the channel."""
        self._awake_until_s = 0.0
        self._awake = Awake(self.channel, _AWAKE_S)
        try:
            answer = self.exchange(wire.encode(first), START_TIMEOUT_S)
        except TimeoutError:
            raise DatabaseError(f"the database did not open within {START_TIMEOUT_S:.0f} s") from None
        except Gone as gone:
            raise DatabaseError(f"the database's process ended while it opened it (signal {gone.signal})") from None
        except BaseException:
            self.kill()
            raise
        if "failed" in answer:
            self.kill()
            if answer["kind"] == "ModuleNotFoundError":
                raise MissingExtraError(
                    answer["failed"].split("'")[1], first["extra"], f"a {first['dialect']} database"
                )
            raise (ConfigError if answer["kind"] == "ConfigError" else DatabaseError)(answer["failed"])

    def exchange(self, frame: bytes, timeout_s: float) -> dict[str, Any]:
        """The answer to a message, which is encoded already; the process is gone after any error.

        Raises:
            TimeoutError: there was none in time.
            Gone: the process ended.
        """
        until_s = time.monotonic() + timeout_s
        body: bytes | bytearray | None = None
        try:
            rest = self.begun(frame)
            if not rest:
                body = self._at_once(1000 * timeout_s)
            if body is None:
                while rest:
                    _wait_to_write(self.channel, until_s)
                    rest = self.begun(rest)
                while (body := self._frame()) is None:
                    left_s = until_s - time.monotonic()
                    if left_s <= 0 or not self._answers.poll(1000 * left_s):
                        raise TimeoutError
                    self._feed(self.channel.recv(_PIECE_BYTES))
            return wire.decode(body)
        except TimeoutError:
            self.drop()
            raise
        except (OSError, ValueError):  # it ended, or says what is no message
            raise Gone(self.kill()) from None
        except BaseException:
            self.kill()
            raise

    async def aexchange(self, frame: bytes, timeout_s: float) -> dict[str, Any]:
        """As `exchange`, in an event loop that has nothing else to do; cancelling kills the process."""
        started_s = time.monotonic()
        body: bytes | bytearray | None = None
        try:
            rest = self.begun(frame)
            if not rest:
                body = self._at_once(min(_ALONE_MS, 1000 * timeout_s))
            if body is None:
                body = await self._slow(rest, started_s + timeout_s)
            answer = wire.decode(body)
        except TimeoutError:
            self.drop()
            raise
        except (OSError, ValueError):  # it ended, or says what is no message
            raise Gone(self.kill()) from None
        except BaseException:
            self.kill()
            raise
        self._awake_until_s = time.monotonic() + PATIENCE_S
        return answer

    async def _slow(self, rest: bytes, until_s: float) -> bytearray:
        """The answer, with the event loop free for others."""
        running = asyncio.get_running_loop()
        async with asyncio.timeout(until_s - time.monotonic()):
            if rest:
                await running.sock_sendall(self.channel, rest)
            while (body := self._frame()) is None:
                self._feed(await running.sock_recv(self.channel, _PIECE_BYTES))
        return body

    def _at_once(self, timeout_ms: float) -> bytes | None:
        """The answer, where it comes in time and in one piece; what came of it is kept otherwise."""
        piece = self._awake.receive()
        if piece is None:
            if not self._answers.poll(timeout_ms):
                return None
            self._awake.came()
            piece = self.channel.recv(_PIECE_BYTES)
        if len(piece) > wire.HEADER.size and len(piece) == wire.HEADER.size + wire.HEADER.unpack_from(piece)[0]:
            return piece[wire.HEADER.size :]
        self._feed(piece)
        return None

    def begun(self, frame: bytes) -> bytes:
        """Send what the socket takes at once; the rest of it.

        Raises:
            OSError: the process ended.
        """
        try:
            return frame[self.channel.send(frame) :]
        except BlockingIOError:
            return frame

    def received(self) -> bytearray | None:
        """What has come meanwhile: the body of an answer, where it is whole.

        Raises:
            BlockingIOError: nothing has come.
            OSError: the process ended.
        """
        self._feed(self.channel.recv(_PIECE_BYTES))
        return self._frame()

    def _feed(self, piece: bytes) -> None:
        if not piece:
            raise ConnectionResetError
        self._received += piece

    def _frame(self) -> bytearray | None:
        """The body of the frame that has come, if it has come whole."""
        have = self._received
        if len(have) < wire.HEADER.size:
            return None
        size = wire.HEADER.unpack_from(have)[0]
        if size > _MAX_FRAME_BYTES:
            raise ConnectionResetError
        if len(have) < wire.HEADER.size + size:
            return None
        self._received = bytearray()
        return have[wire.HEADER.size :]

    @property
    def waits(self) -> bool:
        """Whether it runs and owes nothing: one that has ended, or says what nobody asked, can be read from."""
        return self.channel.fileno() >= 0 and not self._answers.poll(0)

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def kill(self) -> int:
        """End it; the signal that it had ended by before, 0 where it ran or ended by itself."""
        ended = self._ended_by()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()
        self.channel.close()
        return ended

    def drop(self) -> None:
        """End it without waiting for the kernel to free its memory, which can take longer than the query might."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self.channel.close()
        with contextlib.suppress(RuntimeError):  # there are too many threads: it is waited for when it is collected
            threading.Thread(target=self._process.wait, daemon=True).start()

    def _ended_by(self) -> int:
        """A closed channel comes a moment before the wait status."""
        with contextlib.suppress(OSError, ValueError):
            if self.channel.fileno() >= 0 and self._received == b"":
                with contextlib.suppress(BlockingIOError):
                    if self.channel.recv(1, socket.MSG_PEEK) == b"":
                        with contextlib.suppress(subprocess.TimeoutExpired):
                            self._process.wait(1)
        status = self._process.poll()
        return -status if status is not None and status < 0 else 0

    def rest(self) -> None:
        """Tell one that may stay awake for a query that none comes soon."""
        if time.monotonic() < self._awake_until_s:
            with contextlib.suppress(OSError):  # it has ended, which the next query finds
                self.channel.send(wire.REST)

    def leave(self) -> None:
        """Let go of it without ending it: it is the parent's of this forked process."""
        self.channel.close()
        self._process.returncode = 0  # not ours to wait for
