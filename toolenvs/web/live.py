"""The live web, as far as a list of hosts allows it, and nothing that is not public."""

import asyncio
import contextlib
import ssl
import threading
from collections.abc import Coroutine, Iterable
from typing import Any, ClassVar, TypeVar

import httpcore
import httpx

from toolenvs.errors import ConfigError
from toolenvs.web.faults import Fault
from toolenvs.web.guard import Policy
from toolenvs.web.limits import Limits
from toolenvs.web.source import Source
from toolenvs.web.transport import thread
from toolenvs.web.transport.backend import Resolver
from toolenvs.web.transport.network import NetworkTransport
from toolenvs.web.urls import Url, canonical

T = TypeVar("T")
_CLOSE_S = 5.0


class Live(Source):
    """The live web, read only: no forms with POST, robots.txt obeyed, a pace for each host."""

    live: ClassVar[bool] = True

    def __init__(
        self,
        *,
        allow: Iterable[str] = (),
        deny: Iterable[str] = (),
        home: str = "",
        policy: Policy | None = None,
        resolver: Resolver | None = None,
        network: httpcore.AsyncNetworkBackend | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Make a source that connects to what it is allowed to.

        Args:
            allow: see `Policy`; without it nothing is opened.
            deny: see `Policy`.
            home: where an episode may begin.
            policy: in place of `allow` and `deny`.
            resolver: looks names up; by default the operating system's.
            network: connects to judged addresses; by default httpcore's own.
            tls: which certificates are believed; by default those of the package certifi.

        Raises:
            ConfigError: nothing is allowed, or a pattern or the address of `home` is wrong.
        """
        if isinstance(allow, str) or isinstance(deny, str):
            raise ConfigError("web: allow and deny are lists of hosts, such as ['docs.python.org', '*.gnu.org']")
        self.policy = policy or Policy(allow=tuple(allow), deny=tuple(deny))
        if not self.policy.allow:
            raise ConfigError(
                "web: the live web is opened only as far as allow=[...] names hosts ('*': all public ones)"
            )
        self._options: dict[str, Any] = {"resolver": resolver, "network": network, "tls": tls}
        try:
            self.home = canonical(home).text if home else ""
        except Fault as fault:
            raise ConfigError(f"web: home={home!r}: {fault.told}") from None

    def transport(self, limits: Limits) -> NetworkTransport:
        """Connections of one episode, which share nothing with those of another."""
        return NetworkTransport(self.policy, **self._options)

    def check(self, url: Url) -> None:
        """That the policy allows an address.

        Raises:
            Fault: blocked.
        """
        self.policy.check(url)

    def fault(self, error: Exception) -> Fault | None:
        """Why a server gave nothing: on the live web no server's failure is this side's."""
        if isinstance(error, httpcore.ConnectError | httpcore.ConnectTimeout):
            if "certificate" in str(error).lower() or "ssl" in str(error).lower():
                return Fault("http_status", "the server's certificate or encryption is not right: open another site")
            return Fault("not_found", "nothing answers at this address: open another page")
        if isinstance(error, httpcore.LocalProtocolError):
            return Fault("bad_url", "this address cannot be asked for: open another page")
        if isinstance(error, httpcore.RemoteProtocolError) and "too long" in str(error).lower():
            return Fault("too_large", "the server's headers are too long: open another page")
        if isinstance(error, httpcore.NetworkError | httpcore.ProtocolError | httpcore.TimeoutException):
            return Fault("http_status", "the server broke off its answer, or it is no HTTP: try another page")
        return None

    async def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a load on the loop that all connections live in."""
        return await thread.there(coroutine)

    def end(self, transport: httpx.AsyncBaseTransport) -> None:
        """Close an episode's connections."""
        there = thread.running()
        if there is None or not isinstance(transport, NetworkTransport) or not transport.used:
            return
        closing = asyncio.run_coroutine_threadsafe(transport.aclose(), there)
        if threading.current_thread().name != thread.NAME:  # that one would wait for itself
            with contextlib.suppress(Exception):
                closing.result(_CLOSE_S)
