"""The frames between the host and the relay in a container: fixed headers, capped lengths, UTF-8, nothing else.

host -> relay    8 bytes of length, the code to run (JSON); the same again with the settings; then REQUEST, the
                 program, its standard input for each call
relay -> host    REPLY, stdout, stderr, value, error, a block of files for each call, in the order in which they end

A call is known by its nonce, which nothing outside the relay learns: no program can answer for it. Imported by the
relay too, so: standard library only.
"""

import struct
from typing import NamedTuple

from toolenvs.sandbox import outputs
from toolenvs.sandbox.result import Result, Status
from toolenvs.sandbox.wire import HAS_ERROR, HAS_VALUE, MAX_ERROR_CHARS, TRUNCATED

RUN, FORK, CLOSE, CANCEL = 1, 2, 3, 4
REQUEST = struct.Struct("<4sBQQQdII")
"""Magic, operation, nonce, session (0: a fresh interpreter), seed (FORK: the copy's session), timeout_s, bytes of
program, bytes of standard input."""
REQUEST_MAGIC = b"TED1"

STATUSES: tuple[Status, ...] = ("ok", "error", "timeout", "memory", "output", "crashed")
READY, CANCELLED, REFUSED, FAILED = 100, 101, 102, 103
"""What a reply's status is besides an index of `STATUSES`: the relay serves; as ordered; no copy can be made; the
sandbox itself failed."""
REPLY = struct.Struct("<4sQBBiIIIII")
"""Magic, nonce, status, flags, exit code, bytes of stdout, stderr, value, error, files."""
REPLY_MAGIC = b"TEA1"
STATE_LOST, HAS_EXIT_CODE = 8, 16
"""Flags beside those of `wire`."""

_STREAM = struct.Struct(">BxxxI")  # the engine's own frames around what a container writes
_STREAM_SIZE = 8


class GarbageError(Exception):
    """What came from the container is no frame."""


class Request(NamedTuple):
    """One order of the host."""

    operation: int
    nonce: int
    session: int = 0
    seed: int = 0
    timeout_s: float = 0.0
    code: bytes = b""
    stdin: bytes = b""

    def packed(self) -> bytes:
        """As it is sent."""
        header = REQUEST.pack(REQUEST_MAGIC, *self[:-2], len(self.code), len(self.stdin))
        return header + self.code + self.stdin


class Reply(NamedTuple):
    """What the relay answered."""

    nonce: int
    status: int
    flags: int = 0
    exit_code: int = 0
    stdout: bytes = b""
    stderr: bytes = b""
    value: bytes = b""
    error: bytes = b""
    files: bytes = b""

    def packed(self) -> bytes:
        """As it is sent."""
        parts = self[4:]
        return REPLY.pack(REPLY_MAGIC, *self[:4], *map(len, parts)) + b"".join(parts)

    def text(self) -> str:
        """The error, of whatever length and content."""
        return self.error.decode("utf-8", "replace")[:MAX_ERROR_CHARS]

    def result(self, output_chars: int, seconds: float) -> Result:
        """The result that it stands for, cut to what the host allows."""
        texts = [part.decode("utf-8", "replace") for part in self[4:8]]
        stdout, stderr, value = (text[:output_chars] for text in texts[:3])
        cut = any(len(text) > output_chars for text in texts[:3])
        return Result(
            STATUSES[self.status],
            stdout,
            stderr,
            value if self.flags & HAS_VALUE else None,
            texts[3][:MAX_ERROR_CHARS] if self.flags & HAS_ERROR else None,
            bool(self.flags & TRUNCATED) or cut,
            seconds,
            bool(self.flags & STATE_LOST),
            outputs.unpack(self.files),
            self.exit_code if self.flags & HAS_EXIT_CODE else None,
        )


def reply(nonce: int, result: Result) -> Reply:
    """The reply that carries `result`."""
    flags = (
        result.truncated * TRUNCATED
        | (result.value is not None) * HAS_VALUE
        | (result.error is not None) * HAS_ERROR
        | result.state_lost * STATE_LOST
        | (result.exit_code is not None) * HAS_EXIT_CODE
    )  # fmt: skip
    parts = (result.stdout, result.stderr, result.value or "", result.error or "")
    out, err, value, error = (part.encode("utf-8", "backslashreplace") for part in parts)
    head = nonce, STATUSES.index(result.status), flags, result.exit_code or 0
    return Reply(*head, out, err, value, error, outputs.pack(dict(result.files)))


class Requests:
    """Takes the host's bytes as they come; gives its orders."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def feed(self, data: bytes) -> list[Request]:
        """The orders that are complete now.

        Raises:
            GarbageError: the host speaks another version.
        """
        self._bytes += data
        found = []
        while len(self._bytes) >= REQUEST.size:
            magic, *numbers, code_bytes, stdin_bytes = REQUEST.unpack_from(self._bytes)
            if magic != REQUEST_MAGIC:
                raise GarbageError("no request")
            middle, end = REQUEST.size + code_bytes, REQUEST.size + code_bytes + stdin_bytes
            if len(self._bytes) < end:
                break
            code, stdin = bytes(self._bytes[REQUEST.size : middle]), bytes(self._bytes[middle:end])
            operation, nonce, session, seed, timeout_s = numbers
            found.append(Request(operation, nonce, session, seed, timeout_s, code, stdin))
            del self._bytes[:end]
        return found


class Replies:
    """Takes what a container writes as it comes; gives its replies. Total: hostile bytes end in `GarbageError`."""

    def __init__(self, max_chars: int) -> None:
        """With the most characters that any part of a reply may hold."""
        self._max_bytes = 4 * max(max_chars, MAX_ERROR_CHARS) + 4
        self._bytes = bytearray()

    def feed(self, data: bytes) -> list[Reply]:
        """The replies that are complete now.

        Raises:
            GarbageError: this is no reply, or one that is too long.
        """
        self._bytes += data
        found = []
        while len(self._bytes) >= REPLY.size:
            magic, nonce, status, flags, exit_code, *sizes = REPLY.unpack_from(self._bytes)
            if magic != REPLY_MAGIC:
                raise GarbageError("no reply")
            if status >= len(STATUSES) and not READY <= status <= FAILED:
                raise GarbageError(f"no status {status}")
            if max(sizes[:-1]) > self._max_bytes or sizes[-1] > outputs.MAX_PACKED_BYTES:
                raise GarbageError(f"a part of {max(sizes)} bytes")
            if len(self._bytes) < REPLY.size + sum(sizes):
                break
            at, parts = REPLY.size, []
            for size in sizes:
                parts.append(bytes(self._bytes[at : at + size]))
                at += size
            del self._bytes[:at]
            try:
                outputs.unpack(parts[-1])
            except ValueError as error:
                raise GarbageError(str(error)) from error
            found.append(Reply(nonce, status, flags, exit_code, *parts))
        return found


class Streams:
    """Takes apart what the engine sends of a container: standard output and standard error in frames of its own."""

    def __init__(self) -> None:
        self._header = b""
        self._kind = 0
        self._left = 0

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """Pieces of standard output (1) and standard error (2), as they come.

        Raises:
            GarbageError: these are not the engine's frames.
        """
        found, at = [], 0
        while at < len(data):
            if not self._left:
                missing = _STREAM_SIZE - len(self._header)
                self._header += data[at : at + missing]
                at += missing
                if len(self._header) < _STREAM_SIZE:
                    break
                self._kind, self._left = _STREAM.unpack(self._header)
                self._header = b""
                if self._kind not in (1, 2):
                    raise GarbageError(f"no stream {self._kind}")
                continue
            piece = data[at : at + self._left]
            found.append((self._kind, piece))
            self._left -= len(piece)
            at += len(piece)
        return found
