"""The connect step of the network transport: names are resolved here, once, and every address is judged."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

import httpcore

from toolenvs.web.faults import Fault
from toolenvs.web.guard import Policy
from toolenvs.web.urls import literal

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""A name and a port -> the addresses of the name, as texts; () where it has none."""
_MAX_TRIED = 3


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
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if address == addresses[-1]:
                    raise
        return await self._network.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

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
