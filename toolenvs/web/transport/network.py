"""The live web behind a guard: an httpx transport whose connections are judged when they are made."""

import functools
import ssl
from collections.abc import AsyncIterator

import httpcore
import httpx

from toolenvs.web.guard import Policy
from toolenvs.web.transport.backend import GuardedBackend, Resolver

MAX_CONNECTIONS = 4
"""Of one episode."""
KEPT_ALIVE_S = 15.0


class NetworkTransport(httpx.AsyncBaseTransport):
    """HTTP/1.1 over connections of one episode. No proxy, no HTTP/2, no variable of the environment is read."""

    def __init__(
        self,
        policy: Policy,
        *,
        resolver: Resolver | None = None,
        network: httpcore.AsyncNetworkBackend | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Make the transport; it connects when it is first used.

        Args:
            policy: what may be connected to.
            resolver: looks names up; by default the operating system's.
            network: connects to judged addresses; by default httpcore's own.
            tls: which certificates are believed; by default those of the package certifi.
        """
        self.used = False
        """Whether it was asked for anything."""
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=tls or _certificates(),
            max_connections=MAX_CONNECTIONS,
            max_keepalive_connections=MAX_CONNECTIONS,
            keepalive_expiry=KEPT_ALIVE_S,
            http1=True,
            http2=False,
            network_backend=GuardedBackend(policy, resolver=resolver, network=network),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer to a request, its body still to be read; the caller closes it.

        Raises:
            Fault: blocked or not_found, by the guard.
            httpcore's exceptions: the connection or the answer failed.
        """
        self.used = True
        url = request.url
        asked = httpcore.Request(
            method=request.method,
            url=httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        answer = await self._pool.handle_async_request(asked)
        return httpx.Response(answer.status, headers=answer.headers, stream=_Body(answer))

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()


class _Body(httpx.AsyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._answer.aiter_stream():
            yield chunk

    async def aclose(self) -> None:
        await self._answer.aclose()


@functools.cache
def _certificates() -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=False)
