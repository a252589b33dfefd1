"""What runs inside a cell: read a program, run it, answer, until the control channel ends.

Everything here shares an interpreter with the program, so nothing here is trusted by the host.
"""

import _signal  # type: ignore[import-not-found]  # `signal` makes enumerations of what it says, each mask anew
import _thread
import array
import ast
import atexit
import builtins
import contextlib
import gc
import io
import linecache
import os
import random
import select
import signal
import socket
import sys
import threading
import time
import traceback
import types
from typing import Any, cast

from toolenvs.sandbox import entry, folders, holdings, kernel, seccomp, wire
from toolenvs.sandbox.outputs import Outputs

CONTROL_FD = 3
_BUFFER_BYTES = 8_192
_DESCRIPTORS_BYTES = socket.CMSG_SPACE(4 * array.array("i").itemsize)  # of a copy: its channels, and its hello
_SIGNALS = set(map(int, signal.valid_signals()))
_SOURCES = 256  # programs of a session whose lines are kept for tracebacks
_HERE = os.path.dirname(__file__)
_getpid = os.getpid  # a program may put another in its place
_REHEARSAL = ("import math\nprint(math.pi)\nprint(1, end='')\n'None'", "1 / 0", *["print(0)"] * 20, "1 +")


class Channel(io.RawIOBase):
    """What is beneath standard output or error: gathers bytes for the pipe, up to a number of characters a run.

    Threads, signal handlers and finalizers write in the middle of a write, and an interrupt ends one anywhere. Python
    calls handlers behind calls and jumps, so what must happen together stands between two of those.
    """

    __slots__ = ("_descriptor", "_handing_over", "_lock", "_max_chars", "_pending", "left", "truncated")

    def __init__(self, descriptor: int, max_chars: int) -> None:
        self._descriptor = descriptor
        self._max_chars = max_chars
        self._lock = _thread.RLock()
        self._pending = bytearray()
        self._handing_over = False
        self.begin()

    def begin(self) -> None:
        """Make room for the output of one more run."""
        self.left = self._max_chars
        self.truncated = False

    def write(self, data: Any, /) -> int:
        """Append bytes, or as many of them as there is room for."""
        piece = bytes(memoryview(data))
        self.put(piece)
        return len(piece)

    def put(self, piece: bytes) -> None:
        """As `write`."""
        with self._lock:
            if len(piece) > self.left or not piece.isascii():
                piece = self._fitting(piece)
            else:
                self.left -= len(piece)
            self._pending += piece
            if len(self._pending) >= _BUFFER_BYTES:
                self._hand_over()

    def _fitting(self, piece: bytes) -> bytes:
        text = piece.decode("utf-8", "replace")
        if len(text) > self.left:
            self.truncated = True
            piece = text[: self.left].encode()
        self.left = max(self.left - len(text), 0)
        return piece

    def _hand_over(self) -> None:
        if self._handing_over:  # called by a handler within
            return
        self._handing_over = True
        try:
            while self._pending:
                writing = map(os.write, (self._descriptor,), (bytes(self._pending),))
                (written,) = writing  # no call: what was written is dropped before any interrupt
                del self._pending[:written]
        finally:
            self._handing_over = False

    def flush(self) -> None:
        """Hand what is pending to the pipe."""
        if self._pending:
            with self._lock:
                self._hand_over()

    def close(self) -> None:
        """As `flush`: whatever else a program puts around this does that when it goes away."""
        self.flush()

    def take(self) -> bytes:
        """What is pending, which is then no longer."""
        with self._lock:
            data, self._pending = self._pending, bytearray()
            return bytes(data)

    def fileno(self) -> int:
        """The descriptor beneath."""
        return self._descriptor

    def writable(self) -> bool:
        """True."""
        return True


class Text(io.TextIOWrapper):
    """The text face of a `Channel`.

    It gathers nothing itself: what writes within a write makes Python 3.11's own lose, double or invent output.
    """

    __slots__ = ("_channel", "_eager", "_newline", "_plain", "_shut")

    def __init__(self, channel: Channel) -> None:
        super().__init__(cast(Any, channel), "utf-8", "backslashreplace")
        self._channel = channel
        self._shut = self._eager = False
        self._plain, self._newline = True, "\n"

    @property
    def closed(self) -> bool:
        """Whether it was closed or detached."""
        return self._shut

    def write(self, text: str, /) -> int:
        """Write `text`."""
        if self._shut:
            raise ValueError("I/O operation on closed file.")
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if self._plain:
            self._channel.put(text.encode("utf-8", "backslashreplace"))
        else:
            self._channel.put(text.replace("\n", self._newline).encode(self.encoding, self.errors or "strict"))
            if self._eager:
                self._channel.flush()
        return len(text)

    def reconfigure(self, *, newline: str | None = None, **options: Any) -> None:
        """Change how text becomes bytes, and whether they wait."""
        super().reconfigure(newline=newline, **options)
        self._newline = newline or "\n"
        self._eager = self.line_buffering or self.write_through
        self._plain = False

    def detach(self) -> Any:
        """Part from the channel, which is what is returned."""
        channel = super().detach()
        self._shut = True
        return channel

    def close(self) -> None:
        """Hand over what was written, and take no more."""
        try:
            super().close()
        finally:
            self._shut = True


class Stream:
    """Standard output or error. It stays the same from run to run, for what holds on to it, such as log handlers."""

    def __init__(self, descriptor: int, max_chars: int) -> None:
        self._opening = descriptor, max_chars
        self._open()

    def _open(self) -> None:
        self._channel = Channel(*self._opening)
        self.text = Text(self._channel)

    def begin(self) -> None:
        """Be whole for the next program, whatever the last one did."""
        text, channel = self.text, self._channel
        if type(text) is not Text or text._shut:
            text = self.text = Text(channel)
        if text.__dict__:
            text.__dict__.clear()
        if channel.__dict__:
            channel.__dict__.clear()
        channel.left, channel.truncated = self._opening[1], False  # as its `begin`, without a call

    @property
    def truncated(self) -> bool:
        """Whether output of this run was left out; exact once it was taken."""
        return self._channel.truncated

    def write(self, text: str) -> None:
        """Write behind the program's own output, however that left the stream."""
        Channel.put(self._channel, text[: self._channel.left + 1].encode("utf-8", "backslashreplace"))

    def take(self) -> bytes:
        """What is pending, which is then no longer: the last of a program's output travels with its answer."""
        try:
            pending = self._channel._pending
            if type(pending) is bytearray and not pending:
                return b""
            return Channel.take(self._channel)  # not what a program may have put in its place
        except BaseException:  # the program changed it from within
            self._open()
            return b""


class Worker:
    """The read-run-answer loop of one cell."""

    def __init__(self, output_chars: int, folder: str | None, seed: int = 0) -> None:
        self._output_chars = output_chars
        self._seed = seed
        self._outputs = Outputs(folder)
        self._interruptible_s = float("inf")
        self._cells = 0
        self._thread = threading.main_thread()
        self._process = os.getpid()
        self._thread_id_at = kernel.thread_id_address()
        self._control: socket.socket
        self._waiting: select.poll
        self._buffer = bytearray(_BUFFER_BYTES)
        self._inbox = b""
        self._descriptors: list[int] = []
        self._original = sys.stdin, sys.stdout, sys.stderr  # to end them would touch twenty pages that cells share
        self._out, self._err = Stream(1, output_chars), Stream(2, output_chars)
        self._entry = entry.Entry(folder)
        self._main = types.ModuleType("__main__")
        self._main.__dict__["__builtins__"] = builtins
        sys.modules["__main__"] = self._main
        builtins.exit = builtins.quit = sys.exit  # type: ignore[assignment]  # programs call them; `site` is not there

    def rehearse(self, programs: tuple[str, ...] = _REHEARSAL) -> None:
        """Run harmless programs, whose output is thrown away, as requests are run.

        In the fork server: what is imported, compiled and specialised on first use is then there for every cell. In a
        cell that stands ready: the pages of memory that a run writes to are its own before a request waits for that.
        """
        scope = self._main.__dict__
        untouched = set(scope)
        host, control = socket.socketpair()
        with host, control:
            self._listen(control)
            for code in programs:
                flags = wire.FINAL * (not _unfinished())
                header = wire.REQUEST.pack(wire.REQUEST_MAGIC, wire.RUN, flags, 0, 0, 60.0, len(code), 0, 0)
                host.sendall(header + code.encode())
                self._turn()
                host.recv(_BUFFER_BYTES)
        sys.stdin, sys.stdout, sys.stderr = self._original
        for name in set(scope) - untouched:  # or a program would find what it has not imported
            del scope[name]
        self._cells = 0
        self._reseed(self._seed)
        for number in range(len(programs)):
            linecache.cache.pop(f"<cell {number + 1}>", None)

    def serve(self) -> None:
        """Answer requests until the channel ends."""
        _signal.signal(_signal.SIGINT, self._interrupt)
        self._thread._set_native_id()  # type: ignore[attr-defined]  # or it tells the fork server's, as the host has it
        self._process = os.getpid()
        self.rehearse(_REHEARSAL[:1])
        self._listen(socket.socket(fileno=CONTROL_FD))
        self._control.sendall(wire.HELLO)
        while True:
            self._turn()

    def _listen(self, control: socket.socket) -> None:
        self._control = control
        self._waiting = select.poll()
        self._waiting.register(control, select.POLLIN)

    def _turn(self) -> None:
        """Answer one request."""
        self._receive()
        _, operation, flags, nonce, seed, timeout_s, code_bytes, stdin_bytes, files_bytes = wire.REQUEST.unpack_from(
            self._inbox
        )
        self._inbox = self._inbox[wire.REQUEST.size :]
        if operation == wire.BRANCH:
            self._branch(nonce)
            return
        code = self._read(code_bytes).decode("utf-8", "replace")
        stdin = self._read(stdin_bytes) if stdin_bytes else b""
        if files_bytes:
            obstacle = self._outputs.put(self._read, files_bytes)
            if obstacle:
                self._answer(nonce, wire.ERROR, False, None, obstacle)
                return
        if flags & wire.SEED:
            self._reseed(seed)
        if self._descriptors:
            self._entry.enclosed, self._descriptors = self._descriptors, []
        self._answer(nonce, *self._run(code, stdin, timeout_s, bool(flags & wire.FINAL)))

    def _reseed(self, seed: int) -> None:
        """Make the global random streams a function of `seed`."""
        random.seed(seed)
        self._outputs.seed = seed
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            numpy.random.seed(seed % 2**32)

    def _receive(self) -> None:
        """Take what has come of the next request, most often all of it."""
        while len(self._inbox) < wire.REQUEST.size:
            try:
                self._waiting.poll()  # who waits in the next call is also woken when the host has read an answer
            except BaseException:  # of a handler that a program left, for an alarm perhaps: it was meant for that one
                self._listen(self._control)  # or it broke what is waited with
                continue
            size, extra, _, _ = self._control.recvmsg_into((self._buffer,), _DESCRIPTORS_BYTES)
            if not size:
                os._exit(0)
            self._inbox += self._buffer[:size]
            for _, _, data in extra:
                self._descriptors += array.array("i", data)

    def _read(self, size: int) -> bytes:
        data, self._inbox = self._inbox[:size], self._inbox[size:]
        while len(data) < size:
            piece = self._control.recv(min(size - len(data), 1 << 20))
            if not piece:
                os._exit(0)
            data += piece
        return data

    def _answer(self, nonce: int, status: int, *parts: Any) -> None:
        self._control.sendall(_frame(nonce, status, *parts))

    def _interrupt(self, *_: object) -> None:
        if time.monotonic() >= self._interruptible_s:
            raise KeyboardInterrupt

    def _run(
        self, code: str, stdin: bytes, timeout_s: float, final: bool
    ) -> tuple[int, bool, str | None, str | None, bytes, bytes, bytes]:
        """Run a program.

        Returns:
            Its status, whether output was cut, the repr of its last expression, its error, the ends of its streams,
            its files.
        """
        self._cells += 1
        out, err = self._out, self._err
        out.begin()
        err.begin()
        sys.stdout = sys.__stdout__ = out.text  # type: ignore[misc]
        sys.stderr = sys.__stderr__ = err.text  # type: ignore[misc]
        sys.stdin = sys.__stdin__ = self._entry.begin(stdin)  # type: ignore[misc]
        value: str | None = None
        failure: BaseException | None = None
        status, error = wire.OK, None
        files, files_lost = b"", False
        try:
            # An interrupt in the first half of its time was meant for the program before.
            self._interruptible_s = time.monotonic() + timeout_s / 2
            try:
                value = self._execute(code)
                self._outputs.draw(err)  # before exit hooks, one of which closes all figures
                if final and _unfinished():
                    _finish()
            except BaseException as raised:
                failure = raised
                if not isinstance(raised, KeyboardInterrupt):
                    self._outputs.draw(err)
                if final and _unfinished():
                    _finish()
            if sys.__dict__.get("stdout") is not out.text or sys.__dict__.get("stderr") is not err.text:
                _flush_replaced()
            if failure is not None:
                status, error = _report(failure, err)
            if not isinstance(failure, KeyboardInterrupt):
                files, files_lost = self._outputs.collect()
        except BaseException as raised:  # the limit was met while a value or a traceback was being written
            status = wire.MEMORY if isinstance(raised, MemoryError) else wire.ERROR
            error = type(failure or raised).__name__
        finally:
            self._interruptible_s = float("inf")
        if _getpid() != self._process:
            _end_child(status, failure, out, err)
        failure = None
        self._entry.end()
        printed, complained = out.take(), err.take()
        truncated = out.truncated or err.truncated or files_lost
        if value is not None and len(value) > self._output_chars:
            value, truncated = value[: self._output_chars], True
        return status, truncated, value, error, printed, complained, files

    def _execute(self, code: str) -> str | None:
        name = f"<cell {self._cells}>"
        linecache.cache[name] = (len(code), None, code.splitlines(keepends=True), name)
        if self._cells > _SOURCES:
            linecache.cache.pop(f"<cell {self._cells - _SOURCES}>", None)
        body, value = _compiled(code, name)
        scope = self._main.__dict__
        if body is not None:
            exec(body, scope)
        if value is None:
            return None
        result = eval(value, scope)
        return None if result is None else repr(result)[: self._output_chars + 1]

    def _branch(self, nonce: int) -> None:
        """Copy this interpreter; the copy serves on the channels that came with the request."""
        descriptors, self._descriptors = self._descriptors, []
        try:
            if len(descriptors) < 4:  # there was no room for more
                raise holdings.HeldError(holdings.FILES)
            files = holdings.reopened(CONTROL_FD, set(descriptors), self._outputs.folder)
        except holdings.HeldError as held:
            for descriptor in descriptors:
                os.close(descriptor)
            self._answer(nonce, wire.REFUSED, False, None, str(held))
            return
        control, out, err, hello = descriptors
        signals = _signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # none may interrupt an admitted fork
        try:
            # The fork server is the copy's parent, as it is this process's: so it knows the copy's fate.
            copied = kernel.fork_sibling(self._thread_id_at)
        except OSError as refused:
            _signal.pthread_sigmask(signal.SIG_SETMASK, signals)
            holdings.close(files)
            for descriptor in descriptors:
                os.close(descriptor)
            told = holdings.REFUSALS.get(refused.errno or 0, f"the copy was refused: {refused.strerror}")
            self._answer(nonce, wire.REFUSED, False, None, told)
            return
        if copied:
            _signal.pthread_sigmask(signal.SIG_SETMASK, signals)
            for descriptor in descriptors:
                os.close(descriptor)
            self._answer(nonce, wire.OK)
            holdings.close(files)
            if self._outputs.folder is not None:
                folders.clear()
            return
        for source, target in ((control, CONTROL_FD), (out, 1), (err, 2)):
            os.dup2(source, target)
            os.close(source)
        holdings.take_over(files)
        if self._outputs.folder is None:  # nor is there a process id namespace, whose end would be its own
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        else:
            self._outputs.folder = folders.own()
        seccomp.install(seccomp.only_signal_nobody())
        _signal.pthread_sigmask(signal.SIG_SETMASK, signals)
        self._thread._set_native_id()  # type: ignore[attr-defined]
        self._process = os.getpid()
        os.write(hello, wire.HELLO)
        os.close(hello)
        self._control.sendall(wire.HELLO)


def _compiled(code: str, name: str) -> tuple[types.CodeType | None, types.CodeType | None]:
    """The statements of a program, and the expression at its end; None for what it does not have."""
    # A last line that is an expression, behind complete statements, is the last statement. That is found out in half
    # the time that the tree of a program takes, which has to become Python objects and be compiled from them.
    before, _, last = code.rstrip().rpartition("\n")
    if last and not last[0].isspace() and "\r" not in code:  # which ends lines too
        try:
            value = compile("\n" * code.count("\n", 0, len(before) + 1) + last, name, "eval", dont_inherit=True)
            return compile(before, name, "exec", dont_inherit=True) if before else None, value
        except (SyntaxError, ValueError):
            pass
    tree = compile(code, name, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)  # ast.parse would show in tracebacks
    assert isinstance(tree, ast.Module)
    end: ast.stmt | None = tree.body[-1] if tree.body else None
    if not isinstance(end, ast.Expr):
        return (compile(tree, name, "exec", dont_inherit=True) if tree.body else None), None
    tree.body.pop()
    body = compile(tree, name, "exec", dont_inherit=True) if tree.body else None
    return body, compile(ast.Expression(end.value), name, "eval", dont_inherit=True)


def _frame(
    nonce: int,
    status: int,
    truncated: bool = False,
    value: str | None = None,
    error: str | None = None,
    out: bytes = b"",
    err: bytes = b"",
    files: bytes = b"",
) -> bytes:
    """The answer to a request."""
    flags = truncated * wire.TRUNCATED | (value is not None) * wire.HAS_VALUE | (error is not None) * wire.HAS_ERROR
    value_bytes = value.encode("utf-8", "backslashreplace") if value else b""
    error_bytes = error.encode("utf-8", "backslashreplace") if error else b""
    sizes = len(value_bytes), len(error_bytes), len(out), len(err), len(files)
    header = wire.ANSWER.pack(wire.ANSWER_MAGIC, nonce, status, flags, *sizes)
    return b"".join((header, value_bytes, error_bytes, out, err, files))


def _unfinished() -> bool:
    """Whether anything is to be done at the end of this interpreter."""
    return bool(_thread._count() or threading._threading_atexits or atexit._ncallbacks())  # type: ignore[attr-defined]


def _end_child(status: int, failure: BaseException | None, out: Stream, err: Stream) -> None:
    """End a process that the program forked and that came to the program's end: only its parent answers."""
    code = failure.code if isinstance(failure, SystemExit) and isinstance(failure.code, int) else status != wire.OK
    with contextlib.suppress(OSError):
        for number, stream in ((1, out), (2, err)):
            data = stream.take()
            while data:
                data = data[os.write(number, data) :]
    os._exit(code & 0xFF)


def _finish() -> None:
    """What an interpreter does at its end: wait for threads, run exit hooks."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()


def _flush_replaced() -> None:
    """Flush what a program has put in the place of standard output and error, as an interpreter does at its end."""
    for name in ("stdout", "stderr"):
        with contextlib.suppress(Exception):
            sys.__dict__[name].flush()


def _report(failure: BaseException, err: Stream) -> tuple[int, str | None]:
    """Write the traceback of `failure`; its status and last line."""
    if isinstance(failure, SystemExit) and failure.code in (None, 0):
        return wire.OK, None
    status = wire.MEMORY if isinstance(failure, MemoryError) else wire.ERROR
    summary = traceback.TracebackException(type(failure), failure, failure.__traceback__, compact=True)
    _hide_this_file(summary)
    error = "".join(summary.format_exception_only()).rstrip("\n").rpartition("\n")[2][: wire.MAX_ERROR_CHARS]
    for line in summary.format():
        err.write(line)
        if err.truncated:
            break
    return status, error


def _hide_this_file(summary: traceback.TracebackException) -> None:
    """Leave the program's own lines: not ours before them, nor those of an interrupt or a write behind them."""
    parts = [summary]
    while parts:
        part = parts.pop()
        part.stack[:] = [frame for frame in part.stack if not frame.filename.startswith(_HERE)]
        parts += [other for other in (part.__cause__, part.__context__, *(part.exceptions or ())) if other is not None]


def start(worker: Worker) -> None:
    """Serve in this process, which is confined, until the channel ends."""
    gc.enable()
    worker.serve()
