"""The host's side of one cell: its three channels, and one run of a program as a state machine over them."""

import fcntl
import os
import select
import signal
import socket
import threading
import time
from collections.abc import Sequence
from typing import Literal

from toolenvs.errors import SandboxError
from toolenvs.sandbox import outputs, wire
from toolenvs.sandbox.cgroups import Slot, Slots
from toolenvs.sandbox.limits import Limits
from toolenvs.sandbox.result import Result, Status
from toolenvs.sandbox.server import Server
from toolenvs.sandbox.watch import Watch

COME_UP_LIMIT_S = 30.0
COPY_LIMIT_S = 3.0
_READ_BYTES = 1 << 16
_PIPE_CHARS = 16_384  # whatever they are, a pipe holds them
_STATUS: dict[int, Status] = {wire.OK: "ok", wire.ERROR: "error", wire.MEMORY: "memory"}


class Cell:
    """One confined process and its channels."""

    def __init__(self, server: Server, number: int, channels: list[int], slots: tuple[Slot, ...] = ()) -> None:
        """Take over the host's ends of its channels (control, stdout, stderr), and a hold on each of its slots.

        The first of `slots` holds its control groups; its user belongs to the last, which it shares with its copies.
        """
        self.server = server
        self.number = number
        self.control = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, fileno=channels[0])
        self.out, self.err = channels[1:]
        self.greeted = False
        self.fresh = True
        """Whether no program ran in it yet."""
        self.closed = False
        self.watch: Watch | None = None
        """Where an event loop has it registered."""
        self.channels, self.streams = select.poll(), select.poll()  # both ask in the order of registration
        self.open_streams = {self.out, self.err}
        self._slots = slots
        self._closing = threading.Lock()
        for descriptor in channels:
            os.set_blocking(descriptor, False)
            self.channels.register(descriptor, select.POLLIN)
        for descriptor in self.open_streams:
            self.streams.register(descriptor, select.POLLIN)

    @classmethod
    def spawn(cls, server: Server, *, forkable: bool = False, slots: Slots | None = None) -> "Cell":
        """Order a new cell, perhaps one that can be copied; it is there when it answers.

        Raises:
            SandboxError: the fork server is dead, this process is out of descriptors, or no control group can be had.
        """
        slot = slots.take() if slots else None
        ours: list[int] = []
        theirs: list[int] = []
        try:
            ours, theirs = _channels()
            if slot:
                theirs += slot.entrances()
            number = server.spawn(theirs, forkable=forkable, user=slot.user if slot else 0)
            return cls(server, number, ours, (slot,) if slot else ())
        except BaseException:
            for descriptor in ours:
                os.close(descriptor)
            if slot:
                slot.let_go()
            raise
        finally:
            for descriptor in theirs:
                os.close(descriptor)

    def begin_copy(self, nonce: int) -> "Cell":
        """Ask the interpreter for a copy of itself; its answer comes as to a run.

        Raises:
            SandboxError: the fork server is dead, or this process is out of descriptors.
        """
        slots = (self._slots[0].sibling(), self._slots[-1].hold()) if self._slots else ()
        ours: list[int] = []
        theirs: list[int] = []
        groups: list[int] = []
        hello, answer = socket.socketpair()
        with hello, answer:
            try:
                ours, theirs = _channels()
                groups = slots[0].entrances(for_others=True) if slots else []
                copy = Cell(self.server, self.server.admit(self.number, [answer.fileno(), *groups]), ours, slots)
                copy.fresh = False
                try:
                    header = wire.REQUEST.pack(wire.REQUEST_MAGIC, wire.BRANCH, 0, nonce, 0, 0.0, 0, 0, 0)
                    socket.send_fds(self.control, [header], [*theirs, hello.fileno()])
                except OSError:
                    pass  # it is gone; reading its answer says so
            except BaseException:
                for descriptor in ours:
                    os.close(descriptor)
                for slot in slots:
                    slot.let_go()
                raise
            finally:
                for descriptor in (*theirs, *groups):
                    os.close(descriptor)
        return copy

    @property
    def alive(self) -> bool:
        """Whether its end of the control channel is open, as far as can be told without waiting."""
        control = self.control.fileno()
        return not any(event & select.POLLHUP and channel == control for channel, event in self.channels.poll(0))

    def ended(self, stream: int) -> None:
        """Its standard output or error has ended: nobody waits for that any more."""
        for poll in (self.streams, self.channels):
            poll.unregister(stream)
        watch = self.watch  # its loop may leave this cell meanwhile, in its own thread
        if watch is not None:
            watch.forget(stream)
        self.open_streams.discard(stream)

    def ran_out_of_memory(self) -> bool:
        """Whether its control group met the limit on memory, and the kernel ended a process for that."""
        return bool(self._slots) and self._slots[0].ran_out_of_memory()

    def kill(self) -> None:
        """Kill it and close its channels."""
        if self._close():
            self.server.kill(self.number)
            self._leave_slots()

    def end(self) -> None:
        """Kill it while another thread or task waits for it: that one sees the channels end, and closes them."""
        self.server.kill(self.number)

    def reap(self) -> int:
        """Kill it if it still lives, close its channels; its wait status."""
        self._close()
        try:
            return self.server.reap(self.number)
        finally:
            self._leave_slots()

    def _close(self) -> bool:
        """Close its channels; False when another thread or an earlier call did."""
        with self._closing:
            if self.closed:
                return False
            self.closed = True
        watch = self.watch
        if watch is not None:
            watch.leave(self)
        self.control.close()
        os.close(self.out)
        os.close(self.err)
        return True

    def _leave_slots(self) -> None:
        with self._closing:
            slots, self._slots = self._slots, ()
        for slot in slots:
            slot.let_go()


def _channels() -> tuple[list[int], list[int]]:
    """Fresh control, stdout and stderr channels: our ends, the cell's ends."""
    opened: list[int] = []
    try:
        ours, theirs = socket.socketpair()
        opened += [ours.detach(), theirs.detach(), *os.pipe(), *os.pipe()]
    except OSError as error:
        for descriptor in opened:
            os.close(descriptor)
        raise SandboxError(f"no descriptors for another cell: {error.strerror} (raise `ulimit -n`)") from error
    return opened[::2], opened[1::2]


class Exchange:
    """One request to a cell, sent at once, and what comes back; does no waiting of its own.

    Call `pump` whenever the cell's channels are ready, `expire` when `deadline` (monotonic) passes, until `pump` or
    `expire` says that it is finished; then `conclude` gives the result. Total on hostile input.
    """

    def __init__(
        self, cell: Cell, limits: Limits, request: bytes, nonce: int, timeout_s: float, *, enclosed: int = -1
    ) -> None:
        """Send the request, with the descriptor `enclosed` unless that is -1."""
        self._started_s = time.monotonic()
        self.cell = cell
        self._unsent = memoryview(request)
        if enclosed >= 0:
            self._send_with(enclosed)
        self._send()  # before anything else: the cell reads it while this one goes on
        self._limits = limits
        self._nonce = nonce
        self._timeout_s = timeout_s
        self._answer = bytearray()
        self._status = self._flags = 0
        self._body: list[bytes] = []  # the value, the error, the ends of stdout and stderr, the block of files
        self._files: dict[str, bytes] = {}
        self._streams = {cell.out: bytearray(), cell.err: bytearray()}
        self._max_bytes = 4 * limits.output_chars + 2 * _READ_BYTES
        self._interrupted = False
        self._ending: Literal["", "answered", "left", "garbage", "flood", "timeout"] = ""
        # The program's time begins when its interpreter is there: waiting for that is not the program's doing.
        come_up_s = 0.0 if cell.greeted else COME_UP_LIMIT_S if cell.fresh else COPY_LIMIT_S
        self.deadline = self._started_s + max(timeout_s, come_up_s)

    @property
    def sending(self) -> bool:
        """Whether part of the request is still to be sent, so that its channel has to be waited for as well."""
        return bool(self._unsent)

    @property
    def must_wait(self) -> bool:
        """Whether `conclude` has to ask the fork server how the cell ended."""
        return self._ending == "left"

    def pump(self, ready: Sequence[tuple[int, int]] | None = None) -> bool:
        """Move what can be moved without waiting; whether the exchange is finished.

        Args:
            ready: what `Cell.channels` has just said; None: ask again.
        """
        if not self._ending:
            if self._unsent:
                self._send()
            # Streams last: what was written before an answer is there when the answer is. `channels` looks at them
            # after control too, so that its word holds for an answer that it saw, though not for one behind a greeting.
            if ready is None or not self.cell.greeted:
                self._read_control()
                self._read_streams()
            else:
                control = self.cell.control.fileno()
                if any(descriptor == control for descriptor, _ in ready):
                    self._read_control()
                for descriptor, _ in ready:
                    if descriptor != control:
                        self._read_stream(descriptor)
        return bool(self._ending)

    def expire(self) -> bool:
        """The deadline has passed: interrupt the program, the second time give up; whether it is finished."""
        if self._interrupted or self._unsent or not self.cell.greeted:
            self._read_streams()
            self._ending = "timeout"
            return True
        self._interrupted = True
        self.cell.server.interrupt(self.cell.number)
        self.deadline = time.monotonic() + self._limits.grace_s
        return False

    def conclude(self) -> Result:
        """The result; the cell is killed unless it answered properly. May wait a moment for its end.

        Raises:
            SandboxError: the cell never came up, was killed from outside, or its fork server is dead.
        """
        failed = self.cell.fresh and not self.cell.greeted  # a copy is the program's from the start
        status: Status
        value: str | None = None
        error: str | None = None
        truncated = False
        files: dict[str, bytes] = {}
        exit_code: int | None = None
        if self._ending == "answered":
            status, truncated, value, error = self._parsed()
            files = self._files
            if self._interrupted:
                status, error, value = "timeout", self._late(), None
        elif self._ending == "timeout":
            self.cell.kill()
            if failed:
                self.cell.server.dead = True
                raise SandboxError(f"a cell of the local sandbox did not come up within {COME_UP_LIMIT_S:g} s")
            status, error = "timeout", self._late()
        elif self._ending == "flood":
            self.cell.kill()
            status, truncated, error = "output", True, "the program was stopped: too much output"
        elif self._ending == "garbage":
            self.cell.kill()
            status, error = "crashed", "the program disturbed its interpreter's answer"
        else:
            starved = self.cell.ran_out_of_memory()
            ended = self.cell.reap()
            exit_code = None if ended == wire.CUT_OFF else os.waitstatus_to_exitcode(ended)
            killed = os.WIFSIGNALED(ended) and os.WTERMSIG(ended) == signal.SIGKILL
            if starved and killed:
                status, error = "memory", "MemoryError: the program was stopped at its limit on memory"
            elif failed:
                raise SandboxError(f"a cell of the local sandbox did not come up ({_how(ended)}): {self._text()[1]}")
            elif killed:  # no program can do that to itself
                raise SandboxError("a cell of the local sandbox was killed from outside while it ran a program")
            else:
                status, error = "crashed", f"the interpreter {_how(ended)}"
        out, err = self._text()
        limit = self._limits.output_chars
        truncated = truncated or len(out) > limit or len(err) > limit
        self.cell.fresh = False
        seconds = time.monotonic() - self._started_s
        texts = out[:limit], err[:limit], value, error
        return Result(status, *texts, truncated, seconds, files=files, exit_code=exit_code)

    def refusal(self) -> str | None:
        """After a request to branch: why it was refused, or None."""
        if self._ending != "answered":
            return "the interpreter ended"
        return None if self._status == wire.OK else self._body[1].decode("utf-8", "replace") or "refused"

    def _late(self) -> str:
        return f"TimeoutError: the program ran longer than {self._timeout_s:g} s"

    def _text(self) -> tuple[str, str]:
        out, err = self._streams.values()
        if self._ending == "answered":
            out += self._body[2]
            err += self._body[3]
        return out.decode("utf-8", "replace") if out else "", err.decode("utf-8", "replace") if err else ""

    def _parsed(self) -> tuple[Status, bool, str | None, str | None]:
        flags, limit = self._flags, self._limits.output_chars
        truncated = bool(flags & wire.TRUNCATED)
        value = error = None
        if flags & wire.HAS_VALUE:
            value = self._body[0].decode("utf-8", "replace")
            truncated = truncated or len(value) > limit
            value = value[:limit]
        if flags & wire.HAS_ERROR:
            error = self._body[1].decode("utf-8", "replace")[: wire.MAX_ERROR_CHARS]
        return _STATUS.get(self._status, "crashed"), truncated, value, error

    def _send_with(self, descriptor: int) -> None:
        try:
            sent = socket.send_fds(self.cell.control, [self._unsent[:_READ_BYTES]], [descriptor], socket.MSG_NOSIGNAL)
        except OSError:
            return  # it is gone, or does without
        self._unsent = self._unsent[sent:]

    def _send(self) -> None:
        while self._unsent:
            try:
                sent = self.cell.control.send(self._unsent, socket.MSG_NOSIGNAL)
            except BlockingIOError:
                return
            except OSError:
                self._unsent = self._unsent[:0]  # it is gone; the read side says so
                return
            self._unsent = self._unsent[sent:]

    def _read_control(self) -> None:
        data = b""
        while not self._ending and len(data) in (0, _READ_BYTES):  # after less there was no more
            try:
                data = self.cell.control.recv(_READ_BYTES)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            if not data:
                self._ending = "left"
                return
            if not self.cell.greeted:
                self.cell.greeted = True
                self.deadline = time.monotonic() + self._timeout_s
                data = data[1:]
            self._answer += data
            self._check()

    def _check(self) -> None:
        if len(self._answer) < wire.ANSWER.size:
            return
        magic, nonce, self._status, self._flags, *sizes = wire.ANSWER.unpack_from(self._answer)
        size = wire.ANSWER.size + sum(sizes)
        if (
            magic != wire.ANSWER_MAGIC
            or nonce != self._nonce
            or self._status > wire.REFUSED
            or max(sizes[:-1]) > self._max_bytes
            or sizes[-1] > outputs.MAX_PACKED_BYTES
            or len(self._answer) > size
        ):
            self._ending = "garbage"
        elif len(self._answer) == size:
            whole, at = bytes(self._answer), wire.ANSWER.size
            for part in sizes:
                self._body.append(whole[at : at + part] if part else b"")
                at += part
            try:
                self._files = outputs.unpack(self._body[4]) if self._body[4] else {}
                self._ending = "answered"
            except ValueError:
                self._ending = "garbage"

    def _read_streams(self) -> None:
        for descriptor, _ in self.cell.streams.poll(0):
            self._read_stream(descriptor)

    def _read_stream(self, descriptor: int) -> None:
        stream = self._streams[descriptor]
        data = b""
        while len(data) in (0, _READ_BYTES):  # after less the pipe was empty
            try:
                data = os.read(descriptor, _READ_BYTES)
            except BlockingIOError:
                return
            if not data:
                self.cell.ended(descriptor)
                return
            stream += data
            if len(stream) > self._max_bytes:
                self._ending = "flood"
                return


def request(
    code: str, stdin: str, files: bytes = b"", *, nonce: int, timeout_s: float, seed: int | None, final: bool
) -> bytes:
    """The frame that asks for a run; `files` is a block of `outputs.pack`.

    Raises:
        UnicodeEncodeError: the program or its input holds lone surrogates.
    """
    program, entry = code.encode(), stdin.encode()
    flags = final * wire.FINAL | (seed is not None) * wire.SEED
    number = int(seed or 0) % 2**64
    sizes = len(program), len(entry), len(files)
    header = wire.REQUEST.pack(wire.REQUEST_MAGIC, wire.RUN, flags, nonce, number, timeout_s, *sizes)
    return b"".join((header, program, entry, files))


def enclosure(stdin: str) -> int:
    """The descriptor of a file that holds `stdin` and never changes; -1: a pipe of the cell does, or there is none."""
    if len(stdin) <= _PIPE_CHARS:
        return -1
    try:
        descriptor = os.memfd_create("stdin", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except OSError:
        return -1
    try:
        with open(descriptor, "wb", closefd=False) as file:
            file.write(stdin.encode())
        os.lseek(descriptor, 0, os.SEEK_SET)
        fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    except OSError:
        os.close(descriptor)
        return -1
    return descriptor


def _how(wait_status: int) -> str:
    if wait_status == wire.CUT_OFF:
        return "let go of its control channel"
    code = os.waitstatus_to_exitcode(wait_status)
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"
