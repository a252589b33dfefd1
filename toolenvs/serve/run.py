"""Bind an address, serve an ASGI application there, and end well."""

import asyncio
import contextlib
import ipaddress
import resource
import signal
import socket
from collections.abc import Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from toolenvs.errors import ConfigError

MAX_CONNECTIONS = 4096
_BACKLOG = 2048


def bind(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 takes a free one.

    Raises:
        ConfigError: the address is wrong or taken.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(_BACKLOG)
        except BaseException:
            listener.close()
            raise
    except (OSError, OverflowError, UnicodeError) as error:
        raise ConfigError(f"cannot listen on {host} port {port}: {error}; give another --host or --port") from error
    return listener


def url(listener: socket.socket) -> str:
    """Where clients find it."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(listener: socket.socket) -> bool:
    """Whether only this machine reaches it."""
    return ipaddress.ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback


def serve(
    application: Any,
    listener: socket.socket,
    *,
    head_s: float,
    grace_s: float,
    quick: bool = False,
    max_message_bytes: int = 0,
) -> None:
    """Serve until SIGTERM or SIGINT; then take no more, give running requests `grace_s`, and shut the application down.

    Args:
        application: an ASGI application.
        listener: what `bind` gave; closed in the end.
        head_s: how long a connection may take to come up with a whole request head.
        grace_s: how long requests that run may take to end.
        quick: parse with httptools and run on uvloop, for about a third of the CPU time a request.
        max_message_bytes: of a WebSocket's messages; 0 for no WebSockets.
    """
    _raise_descriptors()
    loop_factory = None
    if quick:
        from toolenvs.serve import quick as quickly

        loop_factory = quickly.loop_factory()
    set_up = config(application, head_s=head_s, grace_s=grace_s, quick=quick, max_message_bytes=max_message_bytes)
    with contextlib.closing(listener), _quiet_signals(), asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(uvicorn.Server(set_up).serve(sockets=[listener]))


def config(
    application: Any, *, head_s: float, grace_s: float, quick: bool = False, max_message_bytes: int = 0
) -> uvicorn.Config:
    """How `serve` serves."""
    http = _protocol(head_s)
    if quick:
        from toolenvs.serve import quick as quickly

        http = quickly.protocol(head_s)
    return uvicorn.Config(
        application,
        http=http,
        ws="websockets-sansio" if max_message_bytes else "none",
        ws_max_size=max_message_bytes,
        ws_per_message_deflate=False,
        lifespan="on",
        access_log=False,
        log_level="error",  # a line for each malformed request would let anyone fill the disk
        server_header=False,
        proxy_headers=False,  # a header that anyone can send would be believed from loopback, against limits per client
        timeout_keep_alive=75,
        timeout_graceful_shutdown=max(1, round(grace_s)),
        limit_concurrency=MAX_CONNECTIONS,
    )


@contextlib.contextmanager
def _quiet_signals() -> Iterator[None]:
    """Uvicorn raises the signal that ended it once more when all is done; the process then ends as it should."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _raise_descriptors() -> None:
    """Each connection and each program takes some."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _protocol(head_s: float) -> type[asyncio.Protocol]:
    """HTTP/1.1 that closes connections on which no request comes to be; uvicorn itself would wait for ever."""

    class Impatient(H11Protocol):
        _seen: object = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.loop.call_later(head_s, self._look)

        def _look(self) -> None:
            if self.transport.is_closing() or self.transport.get_protocol() is not self:  # it became a WebSocket
                return
            idle = self.cycle is None or self.cycle.response_complete
            if idle and self.cycle is self._seen and (self.cycle is None or self.conn.trailing_data[0]):
                self.transport.close()
                return
            self._seen = self.cycle
            self.loop.call_later(head_s, self._look)

    return Impatient
