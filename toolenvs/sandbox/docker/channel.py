"""The bytes to and from an attached container, over the socket that the SDK opened: a Unix one, TCP or TLS."""

import contextlib
import os
import select
import socket
import ssl
import threading
import time
from typing import Any

from toolenvs.errors import ConfigError

SEND_LIMIT_S = 60.0
_READ_BYTES = 1 << 17


class Channel:
    """One reader, any writers.

    The socket does not block and is used under a lock: an encrypted one may not be read and written at once.
    """

    def __init__(self, attached: Any) -> None:
        """Take over what `attach_socket` gave.

        Raises:
            ConfigError: it is no socket of this process (DOCKER_HOST names ssh).
        """
        self._attached = attached
        connection = getattr(attached, "_sock", attached)
        if not isinstance(connection, socket.socket):
            raise ConfigError("the docker sandbox cannot use ssh://: forward the engine's socket, and name that one")
        self._socket = connection
        self._socket.setblocking(False)
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._closed = False

    def read(self) -> bytes:
        """What came; waits for it; b"" at the end."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        while not self._closed:
            try:
                with self._lock:
                    return self._socket.recv(_READ_BYTES)
            except (BlockingIOError, ssl.SSLWantReadError):
                poll.poll()
            except OSError:
                break
        return b""

    def write(self, data: bytes) -> None:
        """Send all of `data`.

        Raises:
            OSError: the connection is gone, or nobody takes the bytes.
        """
        view = memoryview(data)
        deadline_s = time.monotonic() + SEND_LIMIT_S
        with self._writing:
            while view:
                try:
                    with self._lock:
                        sent = self._socket.send(view)
                    view = view[sent:]
                except (BlockingIOError, ssl.SSLWantWriteError, ssl.SSLWantReadError):
                    poll = select.poll()
                    poll.register(self._socket, select.POLLOUT)
                    left_s = deadline_s - time.monotonic()
                    if left_s <= 0 or not poll.poll(left_s * 1000):
                        raise TimeoutError("the engine takes no more bytes") from None

    def close(self) -> None:
        """End the connection; a reader sees its end."""
        self._closed = True
        with contextlib.suppress(OSError):
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)

    def release(self) -> None:
        """Give the descriptor back; when nobody reads any more, or in a forked child: it ends nothing there."""
        self._closed = True
        descriptor = self._socket.detach()
        if descriptor >= 0:
            os.close(descriptor)
        with contextlib.suppress(AttributeError, OSError, ValueError):
            self._attached._response.close()
