"""The endpoints of the server of environments, as a Starlette application: HTTP, and a WebSocket for many episodes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

import toolenvs
from toolenvs.codec import TokenCodec
from toolenvs.serve import metrics
from toolenvs.serve.env.episode import heard_warnings
from toolenvs.serve.env.operations import PREFIX, Asked, Operations
from toolenvs.serve.env.settings import Settings
from toolenvs.serve.http import (
    Guard,
    Handler,
    Refused,
    answer,
    client_of,
    json_body,
    log,
    otherwise,
    parse_json,
    show,
    text_of,
)

_MAX_IN_FLIGHT = 2048
"""Requests of one WebSocket that are worked on at one time; the next one is not read before."""
_SESSION = "/v1/sessions/{id}"


def build(settings: Settings, codec: TokenCodec | None = None) -> Starlette:
    """The application. Its episodes end when it shuts down.

    Args:
        settings: the limits.
        codec: the tokenizer of every environment; None for none.

    Raises:
        PageError: a page of the settings is not there.
    """
    return _Server(settings, codec).application()


class _Server:
    def __init__(self, settings: Settings, codec: TokenCodec | None) -> None:
        self._settings = settings
        self._operations = Operations(settings, codec)
        self._requests = metrics.Counter(f"{PREFIX}_requests_total", "Requests by path and status code.")
        self._sockets = 0
        self._metrics: list[metrics.Metric] = [
            self._requests,
            *self._operations.metrics,
            metrics.Gauge(f"{PREFIX}_sockets", "WebSockets that are open.", lambda: self._sockets),
        ]
        self._guard = Guard(self._requests, settings.token)

    def application(self) -> Starlette:
        guard = self._guard
        routes = [
            Route("/v1/describe", self._over_http("describe", "/v1/describe"), methods=["POST"]),
            Route("/v1/tasks", self._over_http("tasks", "/v1/tasks"), methods=["POST"]),
            Route(_SESSION, self._over_http("begin", _SESSION), methods=["PUT"]),
            Route(_SESSION, self._over_http("end", _SESSION), methods=["DELETE"]),
            Route(f"{_SESSION}/step", self._over_http("step", f"{_SESSION}/step"), methods=["POST"]),
            Route(f"{_SESSION}/fork", self._over_http("fork", f"{_SESSION}/fork"), methods=["POST"]),
            Route(f"{_SESSION}/render", self._over_http("render", f"{_SESSION}/render"), methods=["GET"]),
            Route("/v1/heartbeat", self._over_http("heartbeat", "/v1/heartbeat"), methods=["POST"]),
            WebSocketRoute("/v1/socket", self._over_socket),
            Route("/health", guard("/health", self.health, open_to_all=True), methods=["GET"]),
            Route("/metrics", guard("/metrics", show(self._metrics)), methods=["GET"]),
        ]
        return Starlette(routes=routes, lifespan=self._lifespan, exception_handlers=otherwise(self._requests))

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        with heard_warnings():
            try:
                yield
            finally:
                await self._operations.aclose()

    def _over_http(self, name: str, path: str) -> Handler:
        async def handle(request: Request) -> Response:
            _refuse_web_pages(request)
            if request.method in ("GET", "DELETE"):
                body: object = dict(request.query_params)
            else:
                settings = self._settings
                body = await json_body(request, max_bytes=settings.max_body_bytes, limit_s=settings.body_s)
            asked = Asked(client_of(request), body, request.path_params.get("id", ""))
            return answer(await self._operations.do(name, asked))

        return self._guard(path, handle)

    async def _over_socket(self, socket: WebSocket) -> None:
        """Requests as messages: `{"id", "operation", "session", "body"}`; answers: `{"id", "status", "body"}`."""
        try:
            _refuse_web_pages(socket)
            self._guard.check(socket)
        except Refused as refused:
            await socket.send_denial_response(refused.answer())
            self._requests.add(path="/v1/socket", code=str(refused.status))
            return
        await socket.accept()
        self._sockets += 1
        turn, running = asyncio.Lock(), set[asyncio.Task[None]]()
        room = asyncio.Semaphore(_MAX_IN_FLIGHT)

        async def serve(message: str) -> None:
            try:
                told = await self._message(socket, message)
                async with turn:
                    await socket.send_text(told)
            except (WebSocketDisconnect, RuntimeError):
                pass  # it is gone
            finally:
                room.release()

        try:
            while True:
                await room.acquire()
                message = await socket.receive_text()
                task = asyncio.create_task(serve(message))
                running.add(task)
                task.add_done_callback(running.discard)
        except (WebSocketDisconnect, KeyError):  # gone, or bytes instead of text
            pass
        finally:
            self._sockets -= 1
            for task in running:
                task.cancel()  # what was begun goes on, and is asked for again
            await asyncio.gather(*running, return_exceptions=True)
            with contextlib.suppress(RuntimeError, WebSocketDisconnect):
                await socket.close(1003)

    async def _message(self, socket: WebSocket, message: str) -> str:
        number, name, headers = None, "unknown", {}
        try:
            asked = parse_json(message.encode())
            if not isinstance(asked, dict):
                raise Refused(400, "a message is an object with 'id', 'operation', 'session' and 'body'")
            number, session = asked.get("id"), asked.get("session", "")
            operation = asked.get("operation")
            known = isinstance(operation, str) and operation in self._operations.known
            if not known or not isinstance(session, str):
                told = ", ".join(self._operations.known)
                raise Refused(422, f"'operation' is one of {told}, and 'session' an id")
            name = str(operation)
            body: object = await self._operations.do(name, Asked(client_of(socket), asked.get("body", {}), session))
            status = 200
        except Refused as refused:
            status, body, headers = refused.status, {"detail": refused.detail}, refused.headers
        except asyncio.CancelledError:
            raise
        except Exception as error:
            log.exception("%s failed", name)
            status, body = 500, {"detail": f"a fault of the server: {type(error).__name__}"}
        self._requests.add(path=f"/v1/socket {name}", code=str(status))
        return text_of({"id": number, "status": status, "body": body, "retry_after": headers.get("Retry-After", "")})

    async def health(self, _: Request) -> Response:
        """What this server is and allows."""
        settings = self._settings
        names = ("max_sessions", "max_sessions_per_client", "lease_s", "step_s", "max_body_bytes")
        codec = self._operations.envs.codec
        return answer(
            {
                "status": "ok",
                "server": "toolenvs",
                "version": toolenvs.__version__,
                "pages": sorted(self._operations.envs.pages),
                "allow": list(settings.allow),
                "tokenizer": None if codec is None else codec.fingerprint,
                "sessions": len(self._operations.sessions),
                "limits": {name: getattr(settings, name) for name in names},
            }
        )


def _refuse_web_pages(connection: Request | WebSocket) -> None:
    """Browsers name where a request comes from, and would let any web page in, by a name that it had rebound.

    Raises:
        Refused: 403, one of them asks.
    """
    if "origin" in connection.headers:
        raise Refused(403, "web pages are not served here: send no Origin")
