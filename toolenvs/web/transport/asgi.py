"""An ASGI application as a site: no socket, no port, no server."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import httpx

Message = MutableMapping[str, Any]
App = Callable[
    [MutableMapping[str, Any], Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]], Awaitable[None]
]


class _Full(Exception):
    """More was sent than is read."""


class AsgiTransport(httpx.AsyncBaseTransport):
    """Asks an application directly (ASGI 3, HTTP). What it raises gets out: it is the site's fault, not the page's."""

    def __init__(self, app: App, *, max_body_bytes: int) -> None:
        """Make the transport.

        Args:
            app: the application.
            max_body_bytes: of an answer, as sent; an application that sends more is stopped.
        """
        self._app = app
        self._max_body_bytes = max_body_bytes

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The application's whole answer, at most a byte more than the cap.

        Raises:
            RuntimeError: the application ended without an answer.
        """
        content = await request.aread()
        path, _, query = request.url.raw_path.partition(b"?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": request.method,
            "headers": [(name.lower(), value) for name, value in request.headers.raw],
            "scheme": request.url.scheme,
            "path": request.url.path,
            "raw_path": path,
            "query_string": query,
            "server": (request.url.host, request.url.port or {"http": 80, "https": 443}[request.url.scheme]),
            "client": ("127.0.0.1", 123),
            "root_path": "",
        }
        asked: list[Message] = [{"type": "http.request", "body": content, "more_body": False}]
        answer: dict[str, Any] = {}
        body = bytearray()
        full = False

        async def receive() -> Message:
            return asked.pop() if asked else {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            nonlocal full
            if message["type"] == "http.response.start":
                answer.update(status=message["status"], headers=list(message.get("headers", ())))
            elif message["type"] == "http.response.body":
                body.extend(message.get("body", b"")[: self._max_body_bytes + 1 - len(body)])
                full = full or len(body) > self._max_body_bytes
                if full:
                    raise _Full

        try:
            await self._app(scope, receive, send)
        except Exception:
            if not full:
                raise
        if not answer:
            raise RuntimeError(f"the application gave no answer to {request.method} {request.url}")
        stream = httpx.ByteStream(bytes(body))  # not as content, which httpx would decompress at once
        return httpx.Response(answer["status"], headers=answer["headers"], stream=stream)
