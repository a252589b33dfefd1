"""Requests in, answers out: whatever bytes come, the answer is a status and a message that says what was wrong."""

import asyncio
import hmac
import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import Response

from toolenvs.errors import ToolenvsError
from toolenvs.serve.metrics import CONTENT_TYPE, Counter, Metric, render

log = logging.getLogger("toolenvs.serve")
T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]


class Refused(Exception):
    """A request that is not carried out."""

    def __init__(self, status: int, detail: object, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})

    def answer(self) -> Response:
        """As FastAPI says it."""
        return answer({"detail": self.detail}, self.status, self.headers)


def answer(content: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """JSON in ASCII, so that lone surrogates, which programs like to print, can be sent too."""
    return Response(text_of(content), status, headers, media_type="application/json")


def text_of(content: object) -> str:
    """JSON in ASCII."""
    return json.dumps(content)


async def json_body(request: Request, *, max_bytes: int, limit_s: float) -> object:
    """What the body holds.

    Raises:
        Refused: it is no JSON (400, 415), too big (413), or too slow in coming (408).
        ClientDisconnect: the client went away.
    """
    declared = content_type(request) or "application/json"
    if declared != "application/json" and not declared.endswith("+json"):  # nor may a web page post here unasked
        raise Refused(415, "the body must be JSON: send Content-Type: application/json", _CLOSE)
    return parse_json(await body(request, max_bytes=max_bytes, limit_s=limit_s))


def content_type(request: Request) -> str:
    """What the request declares its body to be, without parameters; "" where it declares nothing."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def body(request: Request, *, max_bytes: int, limit_s: float) -> bytes:
    """The body as it came.

    Raises:
        Refused: it is too big (413), or too slow in coming (408).
        ClientDisconnect: the client went away.
    """
    too_big = Refused(413, f"the body is larger than the {max_bytes} bytes that this server takes", _CLOSE)
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length[:20]) > max_bytes:
        raise too_big
    received = bytearray()
    try:
        async with asyncio.timeout(limit_s):
            more = True
            while more:  # Request.stream does the same, at twice the cost
                message = await request.receive()
                if message["type"] == "http.disconnect":
                    raise ClientDisconnect
                received += message.get("body", b"")
                if len(received) > max_bytes:
                    raise too_big
                more = message.get("more_body", False)
    except TimeoutError:
        raise Refused(408, f"the body did not arrive within {limit_s:g} s", _CLOSE) from None
    return bytes(received)


def parse_json(received: bytes) -> object:
    """What a body holds.

    Raises:
        Refused: 400, it is no JSON.
    """
    try:
        return json.loads(received)
    except RecursionError:
        raise Refused(400, "the body is nested too deeply") from None
    except ValueError as error:  # malformed JSON, or no UTF-8
        raise Refused(400, f"the body is no JSON: {error}") from None


async def unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """What `work` gives; it is cancelled when the client goes away. To be used when the body has been read.

    Raises:
        ClientDisconnect: the client went away.
    """
    task = asyncio.create_task(work)
    gone = asyncio.create_task(_gone(request))
    try:
        await asyncio.wait((task, gone), return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise ClientDisconnect
    finally:
        gone.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait((task,))


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def client_of(connection: HTTPConnection) -> str:
    """Address that it comes from."""
    return connection.client.host if connection.client else "an unnamed client"


def show(counted: Sequence[Metric]) -> Handler:
    """The endpoint of metrics, for Prometheus."""

    async def handle(_: Request) -> Response:
        return Response(render(counted), headers={"Content-Type": CONTENT_TYPE})

    return handle


def otherwise(requests: Counter) -> dict[Any, Callable[[Request, Exception], Awaitable[Response]]]:
    """Exception handlers that answer paths and methods that there are not, and count them into `requests`."""

    async def handle(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        requests.add(path="other", code=str(error.status_code))
        detail = f"{error.detail}: {request.method} {request.url.path[:80]}"
        return answer({"detail": detail}, error.status_code, error.headers)

    return {HTTPException: handle}


class Guard:
    """What every endpoint of a server has: a token, a count, and an answer whatever happens."""

    def __init__(self, requests: Counter, token: str = "") -> None:
        """Ask for `token` as a bearer token unless it is empty; count into `requests` by path and code."""
        self._requests = requests
        self._token = token.encode()

    def __call__(self, path: str, handler: Handler, *, open_to_all: bool = False) -> Handler:
        """`handler`, guarded; `path` names it in the metrics."""

        async def guarded(request: Request) -> Response:
            try:
                if not open_to_all:
                    self.check(request)
                response = await handler(request)
            except Refused as refused:
                response = refused.answer()
            except ClientDisconnect:
                response = Response(status_code=499)  # read by nobody
            except ToolenvsError as error:
                log.warning("%s: %s", path, error)
                response = answer({"detail": str(error)}, 500)
            except Exception as error:
                log.exception("%s failed", path)
                response = answer({"detail": f"a fault of the server: {type(error).__name__}"}, 500)
            self._requests.add(path=path, code=str(response.status_code))
            return response

        return guarded

    def check(self, connection: HTTPConnection) -> None:
        """Go on only if it brings the token.

        Raises:
            Refused: 401, it does not.
        """
        kind, _, given = connection.headers.get("authorization", "").partition(" ")
        if self._token and not (kind.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), self._token)):
            raise Refused(401, "this server wants its token: send Authorization: Bearer ...", _CLOSE)


_CLOSE = {"Connection": "close"}
"""The rest of a body that is not wanted is not read either."""
