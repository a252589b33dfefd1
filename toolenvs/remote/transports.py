"""The two ways to a server of environments: a request of HTTP for each question, or one WebSocket for all of them."""

import asyncio
import importlib
import json
from abc import ABC, abstractmethod
from typing import Any

from toolenvs import bearer
from toolenvs.errors import MissingExtraError
from toolenvs.remote.wire import Json
from toolenvs.retrieval.http.connections import MAX_ANSWER_BYTES, Connections, TransportFault

Answer = tuple[int, Any, str]
"""Status as HTTP has it, what was answered, and the seconds that a Retry-After asks to wait ("" for none)."""
_PATHS = {
    "describe": ("POST", "/v1/describe"),
    "tasks": ("POST", "/v1/tasks"),
    "begin": ("PUT", "/v1/sessions/{}"),
    "end": ("DELETE", "/v1/sessions/{}"),
    "step": ("POST", "/v1/sessions/{}/step"),
    "fork": ("POST", "/v1/sessions/{}/fork"),
    "heartbeat": ("POST", "/v1/heartbeat"),
}
_OPEN_S = 10.0


class Transport(ABC):
    """Carries questions to a server. To be used on the loop of its connections."""

    @abstractmethod
    async def send(self, operation: str, session: str, body: Json) -> Answer:
        """What is answered.

        Raises:
            TransportFault: nothing is, or nobody knows.
        """

    async def aclose(self) -> None:  # noqa: B027 - by default it is the connections' to let go
        """Let go of the connection."""


class OverHttp(Transport):
    """A request for each question, on connections that are kept."""

    def __init__(self, url: str, connections: Connections) -> None:
        self._url = url
        self._connections = connections

    async def send(self, operation: str, session: str, body: Json) -> Answer:
        """See `Transport.send`."""
        method, path = _PATHS[operation]
        content = None if method == "DELETE" else json.dumps(body).encode()
        url = self._url + path.format(session)
        status, headers, received = await self._connections.send(method, url, content, "application/json")
        return status, _parsed(received), headers.get("retry-after", "")


class OverSocket(Transport):
    """One WebSocket, opened when it is first needed and again where it broke; answers come in any order."""

    def __init__(self, url: str, token: str) -> None:
        try:
            self._client = importlib.import_module("websockets.asyncio.client")
            self._errors = importlib.import_module("websockets.exceptions")
        except ImportError:
            raise MissingExtraError("websockets", "remote", "a remote environment over a WebSocket") from None
        self._url = f"ws{url.removeprefix('http')}/v1/socket"
        self._headers = bearer.headers(token)
        self._opening = asyncio.Lock()
        self._socket: Any = None
        self._reader: asyncio.Task[None] | None = None
        self._waiting: dict[int, asyncio.Future[Answer]] = {}
        self._asked = 0

    async def send(self, operation: str, session: str, body: Json) -> Answer:
        """See `Transport.send`."""
        async with self._opening:
            if self._socket is None:
                refusal = await self._open()
                if refusal is not None:
                    return refusal
            socket = self._socket
        self._asked += 1
        number = self._asked
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answered
        try:
            await socket.send(json.dumps({"id": number, "operation": operation, "session": session, "body": body}))
            return await answered
        except self._errors.ConnectionClosed as error:
            raise TransportFault(f"the WebSocket broke: {error}") from error
        finally:
            self._waiting.pop(number, None)

    async def _open(self) -> Answer | None:
        """Open it; where the server refuses, its answer."""
        try:
            self._socket = await self._client.connect(
                self._url,
                additional_headers=self._headers,
                compression=None,
                max_size=MAX_ANSWER_BYTES,
                open_timeout=_OPEN_S,
                proxy=None,  # it goes where the address says, through no proxy that a variable names
            )
        except self._errors.InvalidStatus as error:
            response = error.response
            return response.status_code, _parsed(response.body or b""), response.headers.get("Retry-After", "")
        except (OSError, TimeoutError, self._errors.WebSocketException) as error:
            raise TransportFault(f"{type(error).__name__}: {error}") from error
        self._reader = asyncio.create_task(self._read(self._socket))
        return None

    async def _read(self, socket: Any) -> None:
        try:
            async for message in socket:
                told = _parsed(message.encode() if isinstance(message, str) else message)
                number = told.get("id") if isinstance(told, dict) else None
                answered = self._waiting.get(number) if isinstance(number, int) else None
                if answered is not None and not answered.done():
                    answered.set_result((int(told["status"]), told.get("body"), str(told.get("retry_after", ""))))
        except self._errors.ConnectionClosed:
            pass
        finally:
            self._socket = None
            for answered in self._waiting.values():
                if not answered.done():
                    answered.set_exception(TransportFault("the WebSocket broke"))

    async def aclose(self) -> None:
        """Close it."""
        if self._socket is not None:
            await self._socket.close()
        if self._reader is not None:
            await asyncio.wait((self._reader,))


def _parsed(received: bytes) -> Any:
    try:
        return json.loads(received)
    except (ValueError, RecursionError):
        return {"detail": received[:300].decode("utf-8", "replace")}
