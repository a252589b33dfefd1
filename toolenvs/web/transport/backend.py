"""The connect step of the network transport: names are resolved here, once, and every address is judged."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import httpcore

from toolenvs.web.faults import Fault
from toolenvs.web.guard import Policy
from toolenvs.web.urls import literal

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""A name and a port -> the addresses of the name, as texts; () where it has none."""
_MAX_TRIED = 3
_MAX_READ_BYTES = 8_192
"""At a time: what a server makes of these (thousands of chunks of one byte) is worked through without a pause, and all
episodes share one loop."""


async def system_resolver(host: str, port: int) -> Sequence[str]:
    """The addresses that the operating system knows for a name."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return ()
    return [str(answer[4][0]) for answer in found]


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Connects to addresses that the policy allows, and to nothing else."""

    def __init__(
        self,
        policy: Policy,
        *,
        resolver: Resolver | None = None,
        network: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        """Make the backend.

        Args:
            policy: what may be connected to.
            resolver: looks names up; by default the operating system's.
            network: connects to an address; by default httpcore's own. Only ever asked for judged addresses.
        """
        self._policy = policy
        self._resolver = resolver or system_resolver
        self._network = network or httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """A connection to one of the addresses of `host`, all of which are allowed.

        Raises:
            Fault: blocked or not_found.
            httpcore.ConnectError: none of them answers.
        """
        answers = [host] if literal(host) is not None else await self._resolver(host, port)
        addresses = self._policy.connect(host, port, answers)
        for address in addresses[: _MAX_TRIED - 1]:
            try:
                stream = await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
                return _Stream(stream)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if address == addresses[-1]:
                    raise
        return _Stream(await self._network.connect_tcp(addresses[-1], port, timeout, local_address, socket_options))

    async def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[Any] | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Never.

        Raises:
            Fault: blocked.
        """
        raise Fault("blocked", "sockets of this machine are not opened: open a public site")

    async def sleep(self, seconds: float) -> None:
        """Wait between attempts."""
        await asyncio.sleep(seconds)


class _Stream(httpcore.AsyncNetworkStream):
    """A connection that is read in small pieces."""

    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return await self._stream.read(min(max_bytes, _MAX_READ_BYTES), timeout)

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        return _Stream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
