"""The engine's process: reads queries from its socket, answers each, and is killed by the kernel when one hangs.

It is started by `toolenvs.databases.worker`. A timer ends it shortly after a query's deadline, whatever the engine is
doing then, and also where nobody is left to kill it.
"""

import gc
import importlib
import os
import resource
import signal
import socket
from typing import Any, Protocol

from toolenvs.databases import wire
from toolenvs.databases.awake import Awake

GRACE_S = 0.2
"""After the deadline, for an engine that stops by itself."""
_PIECE_BYTES = 1 << 16
PATIENCE_S = 0.002
"""How long it stays awake for the next query, where those before came as soon."""


class Engine(Protocol):
    """One opened database, in the process that may be killed."""

    def query(self, request: dict[str, Any]) -> dict[str, Any]:
        """The fields of a `Result`; `request` holds sql, answer, seed, now and the fields of `Limits`.

        With "again" true where any later request for it gives the same, whatever the seed, and the rows are few.
        """
        ...

    def schema(self, request: dict[str, Any]) -> dict[str, Any]:
        """{"tables": [...]} in the form that `toolenvs.databases.schema.from_message` reads.

        `request` holds samples, seed, now and max_value_bytes: each may change what a view gives.
        """
        ...


def main(descriptor: int) -> None:
    """Serve the socket until it is closed."""
    channel = socket.socket(fileno=descriptor)
    first = _receive(channel)
    if first is None:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: the parent decides
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # nothing here writes a file
    memory = first["memory_mb"] << 20
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    try:
        module, _, name = first["engine"].partition(":")
        opened = getattr(importlib.import_module(module), name)
        engines: list[Engine] = [opened(first | one) for one in ({}, *first.get("beside", ()))]
    except Exception as error:
        channel.sendall(wire.encode({"failed": str(error), "kind": type(error).__name__}))
        return
    gc.collect()
    gc.freeze()  # what is there now stays
    channel.sendall(wire.encode({"ready": os.getpid()}))
    inbox = _Inbox(channel)
    while (request := inbox.next()) is not None:
        signal.setitimer(signal.ITIMER_REAL, request["timeout_s"] + GRACE_S)
        frame = _answer(engines, request)
        signal.setitimer(signal.ITIMER_REAL, 0)
        channel.sendall(frame)


def _answer(engines: list[Engine], request: dict[str, Any]) -> bytes:
    on = request.get("on", 0)
    try:
        if "samples" in request:
            return wire.encode(engines[0].schema(request))
        if isinstance(on, int):
            return wire.encode(engines[on].query(request))
        return wire.encode({"each": _each(engines, request)})
    except MemoryError:
        return wire.encode(out_of_memory())


def _each(engines: list[Engine], request: dict[str, Any]) -> list[dict[str, Any]]:
    """What several engines answer, one after the other. Where the request holds `like`, what is expected of each: up to
    the first that gives something else, or until more than `most_steps` are taken; {} for an expected result, but of
    the first database."""
    if "like" not in request:
        return [_asked(engines[place], request) for place in request["on"]]
    each: list[dict[str, Any]] = []
    steps = 0
    for place, expected in zip(request["on"], request["like"], strict=True):
        one = _asked(engines[place], request)
        steps += one.get("steps") or 0
        same = "rows" in one and not one["truncated"] and wire.digest(one["columns"], one["rows"]) == expected
        each.append({} if same and place else one)
        if not same or steps > request["most_steps"]:
            break
    return each


def _asked(engine: Engine, request: dict[str, Any]) -> dict[str, Any]:
    """What one of several engines answers, within a time of its own."""
    signal.setitimer(signal.ITIMER_REAL, request["timeout_s"] + GRACE_S)
    try:
        return engine.query(request)
    except MemoryError:
        return out_of_memory()


def out_of_memory() -> dict[str, Any]:
    """The answer to a query that needs more memory than there is."""
    return {"status": "error", "code": "memory", "error": "the query needs too much memory: ask for less at once"}


class _Inbox:
    """The messages that come, one at a time. Only for a caller with nothing else to do, who says so, it stays awake."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._awake = Awake(channel, PATIENCE_S, moves=True)
        self._alone = False

    def next(self) -> dict[str, Any] | None:
        """The next query; None when the other side has closed."""
        piece = self._awake.receive() if self._alone else None
        if piece is None:
            piece = self._channel.recv(_PIECE_BYTES)
            self._awake.came()
        while piece.startswith(wire.REST):  # sleep, for the next query takes its time; or comes behind it all the same
            piece = piece[len(wire.REST) :] or self._channel.recv(_PIECE_BYTES)
        message = _message(self._channel, piece)
        self._alone = message is not None and message.get("alone", False)
        return message


def _receive(channel: socket.socket) -> dict[str, Any] | None:
    """The first message; None when the other side has closed."""
    return _message(channel, channel.recv(_PIECE_BYTES))


def _message(channel: socket.socket, piece: bytes) -> dict[str, Any] | None:
    """The message that begins with a piece."""
    received = bytearray()
    while piece:
        if not received and len(piece) == _length(piece):  # most come in one piece
            return wire.decode_request(piece[wire.HEADER.size :])
        received += piece
        if len(received) == _length(received):
            return wire.decode_request(bytes(received[wire.HEADER.size :]))
        piece = channel.recv(_PIECE_BYTES)
    return None


def _length(begun: bytes | bytearray) -> int:
    """Of a frame, header included, as far as its beginning tells."""
    size = wire.HEADER.size
    return size + wire.HEADER.unpack_from(begun)[0] if len(begun) >= size else size + 1
