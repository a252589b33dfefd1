"""The process that reads pages of the live web for another one, and that is killed where a page takes too long.

It is started by `toolenvs.web.apart`, reads requests from its socket and answers each with a document. A timer ends it
shortly after a page's deadline, whatever the parser is doing then, and also where nobody is left to kill it.
"""

import json
import resource
import signal
import socket
import struct
from typing import Any

from toolenvs.web.render import render
from toolenvs.web.render.packing import written

GRACE_S = 0.5
"""Of the timer, behind the moment at which the parent kills."""
HEADER = struct.Struct("<II")
"""Bytes of the head, which is JSON, and of the body behind it."""
_WORN_KB = 300_000
"""After a page that took so much memory the process ends."""


def main(descriptor: int, memory_mb: int) -> None:
    """Serve the socket until it is closed."""
    channel = socket.socket(fileno=descriptor)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of the terminal: the parent decides
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for kind, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),  # nothing here writes a file
        (resource.RLIMIT_AS, memory_mb << 20),
    ):
        resource.setrlimit(kind, (value, value))
    render("<p>x", url="http://ready.test/")  # loads the parser
    send(channel, {})
    while (request := receive(channel)) is not None:
        head, body = request
        signal.setitimer(signal.ITIMER_REAL, head["timeout_s"] + GRACE_S)
        answer = _answer(head, body)
        signal.setitimer(signal.ITIMER_REAL, 0)
        worn = peak_kb() > _WORN_KB
        send(channel, {**answer, "last": worn})
        if worn:
            return


def peak_kb() -> int:
    """The most memory that this program had; getrusage() would begin with that of the process that started it."""
    try:
        with open("/proc/self/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))
    except (OSError, StopIteration):  # no Linux
        return 0


def _answer(head: dict[str, Any], body: bytes) -> dict[str, Any]:
    content = body.decode("utf-8", "surrogatepass") if head["decoded"] else body
    try:
        document = render(content, url=head["url"], content_type=head["content_type"], max_bytes=head["max_bytes"])
        return {"document": written(document)}
    except MemoryError:
        return {"failed": "memory"}


def send(channel: socket.socket, head: dict[str, Any], body: bytes = b"") -> None:
    """One message."""
    packed = json.dumps(head, separators=(",", ":")).encode()
    channel.sendall(HEADER.pack(len(packed), len(body)) + packed)
    if body:
        channel.sendall(body)


def receive(channel: socket.socket) -> tuple[dict[str, Any], bytes] | None:
    """The next message; None when the other side has closed.

    Raises:
        TimeoutError: the socket's own timeout passed.
    """
    begun = _bytes(channel, HEADER.size)
    if begun is None:
        return None
    head_size, body_size = HEADER.unpack(begun)
    packed = _bytes(channel, head_size + body_size)
    return None if packed is None else (json.loads(packed[:head_size]), packed[head_size:])


def _bytes(channel: socket.socket, size: int) -> bytes | None:
    received = bytearray()
    while len(received) < size:
        try:
            piece = channel.recv(min(size - len(received), 1 << 20))
        except ConnectionError:
            return None
        if not piece:
            return None
        received += piece
    return bytes(received)
