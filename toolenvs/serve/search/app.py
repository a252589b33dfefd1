"""The endpoints of the search server, as an ASGI application."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

import toolenvs
from toolenvs.errors import RetrievalError
from toolenvs.retrieval import Retriever
from toolenvs.serve import metrics
from toolenvs.serve.fields import Fields
from toolenvs.serve.http import (
    Guard,
    Handler,
    Refused,
    answer,
    body,
    client_of,
    content_type,
    json_body,
    otherwise,
    parse_json,
    show,
)
from toolenvs.serve.search.batches import Answer, Batches, Watch
from toolenvs.serve.search.dialects import asearcher, gem, r1_searcher, search_r1, skyrl
from toolenvs.serve.search.dialects.asked import Asked
from toolenvs.serve.search.settings import Settings

INDEX_HEADER = "x-toolenvs-index"
"""Names the index of an answer, so that a client notices when another one stands behind the address."""
_PREFIX = "toolenvs_search"
_BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_PATIENCE_S = 0.1
"""Most searches are over before it is worth asking whether the client still waits."""


def build(retriever: Retriever, settings: Settings) -> ASGIApp:
    """The application; it closes the retriever when it shuts down."""
    return _Server(retriever, settings)


class _Server:
    """Searches go straight to their handlers; all else goes through Starlette, which costs twice as much."""

    def __init__(self, retriever: Retriever, settings: Settings) -> None:
        self._retriever = retriever
        self._settings = settings
        self._threads = settings.threads or retriever.workers
        self._requests = metrics.Counter(f"{_PREFIX}_requests_total", "Requests by path and status code.")
        self._queries = metrics.Counter(f"{_PREFIX}_queries_total", "Queries, by whether they were searched or known.")
        self._batch = metrics.Histogram(f"{_PREFIX}_batch_queries", "Queries that were searched together.", _BATCHES)
        self._search_s = metrics.Histogram(f"{_PREFIX}_search_seconds", "Wall time of a batch.")
        self._queue_s = metrics.Histogram(f"{_PREFIX}_queue_seconds", "Wait of queries for their batch.")
        self._batches = Batches(
            retriever,
            max_batch=settings.max_batch,
            threads=self._threads,
            max_queued=settings.max_queued,
            per_client=settings.max_per_client,
            queue_s=settings.queue_s,
            cache=settings.cache,
            watch=Watch(self._searched, self._queue_s.observe, self._known),
        )
        self._metrics: list[metrics.Metric] = [
            self._requests,
            self._queries,
            self._batch,
            self._search_s,
            self._queue_s,
            metrics.Gauge(f"{_PREFIX}_running", "Batches that are searched now.", lambda: self._batches.running),
            metrics.Gauge(f"{_PREFIX}_queued", "Queries that wait now.", lambda: self._batches.queued),
        ]
        self._index = (INDEX_HEADER.encode(), retriever.fingerprint.encode())
        guard = Guard(self._requests, settings.token)
        self._direct: dict[str, Handler] = {
            "/retrieve": guard("/retrieve", self.retrieve),
            "/queries": guard("/queries", self.queries),
            "/access": guard("/access", self.access),
        }
        routes = [
            *(Route(path, handler, methods=["POST"]) for path, handler in self._direct.items()),
            Route("/health", guard("/health", self.health, open_to_all=True), methods=["GET"]),
            Route("/metrics", guard("/metrics", show(self._metrics)), methods=["GET"]),
        ]
        self._rest = Starlette(routes=routes, lifespan=self._lifespan, exception_handlers=otherwise(self._requests))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        handler = self._direct.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        if handler is None:
            await self._rest(scope, receive, send)
            return
        response = await handler(Request(scope, receive))
        await response(scope, receive, send)

    @contextlib.asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            self._batches.close()
            self._retriever.close()

    async def retrieve(self, request: Request) -> Response:
        """Search-R1's, SkyRL-Gym's, ASearcher's and GEM's path; they differ in what they send."""
        settings = self._settings
        received = await body(request, max_bytes=settings.max_body_bytes, limit_s=settings.body_s)
        declared = content_type(request)
        if declared in gem.CONTENT_TYPES or (not declared and gem.is_map(received)):
            fields = Fields(gem.parse(received))
            flat = not fields.has("queries")
            return await self._found(
                request,
                gem.read(fields, settings),
                lambda asked, found: gem.write(asked, found, flat=flat),
                gem.CONTENT_TYPE,
            )
        if declared not in ("", "application/json") and not declared.endswith("+json"):
            raise Refused(415, "the body must be JSON or msgpack: send Content-Type: application/json")
        fields = Fields(parse_json(received))
        dialect = skyrl if fields.has("query") and not fields.has("queries") else search_r1
        return await self._found(request, dialect.read(fields, settings), dialect.write)

    async def queries(self, request: Request) -> Response:
        """R1-Searcher's path."""
        fields = await self._fields(request)
        return await self._found(request, r1_searcher.read(fields, self._settings), r1_searcher.write)

    async def access(self, request: Request) -> Response:
        """ASearcher's pages, which are passages by their ids."""
        urls = asearcher.read(await self._fields(request), self._settings)
        try:
            pages = await self._batches.call(self._retriever.fetch, urls)
        except RetrievalError as error:
            raise Refused(503, str(error)) from error
        return self._answer(asearcher.write(pages), "application/json")

    async def health(self, _: Request) -> Response:
        """What this server is and allows."""
        names = ("topk", "max_topk", "max_queries", "max_query_chars", "max_body_bytes", "max_queued", "max_per_client")
        return answer(
            {
                "status": "ok",
                "server": "toolenvs",
                "version": toolenvs.__version__,
                "backend": self._retriever.backend,
                "passages": self._retriever.size,
                "fingerprint": self._retriever.fingerprint,
                "dialects": ["search-r1", "skyrl", "gem", "r1-searcher", "asearcher"],
                "limits": {name: getattr(self._settings, name) for name in names},
            }
        )

    async def _fields(self, request: Request) -> Fields:
        settings = self._settings
        return Fields(await json_body(request, max_bytes=settings.max_body_bytes, limit_s=settings.body_s))

    async def _found(
        self,
        request: Request,
        asked: Asked,
        write: Callable[[Asked, Answer], bytes],
        media_type: str = "application/json",
    ) -> Response:
        """The answer to a search.

        Raises:
            Refused: too much waits (429), it waited too long (503), or the retriever failed (503).
            ClientDisconnect: the client went away.
        """
        try:
            found = await _while_wanted(request, self._batches.search(client_of(request), asked.queries, asked.k))
        except RetrievalError as error:
            raise Refused(503, str(error)) from error
        return self._answer(write(asked, found), media_type)

    def _answer(self, content: bytes, media_type: str) -> Response:
        """Without what Starlette works out for each response anew."""
        response = Response.__new__(Response)
        response.status_code, response.body, response.background = 200, content, None
        response.raw_headers = [
            (b"content-length", str(len(content)).encode()),
            (b"content-type", media_type.encode()),
            self._index,
        ]
        return response

    def _searched(self, queries: int, seconds: float) -> None:
        self._queries.add(queries, source="index")
        self._batch.observe(queries)
        self._search_s.observe(seconds)

    def _known(self, queries: int) -> None:
        self._queries.add(queries, source="cache")


async def _while_wanted(request: Request, found: "asyncio.Future[Any]") -> Any:
    """The result of `found`, which is cancelled when the client goes away before.

    Raises:
        ClientDisconnect: it did.
    """
    if found.done():
        return found.result()
    watching: asyncio.Task[None] | None = None

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        found.cancel()

    def begin() -> None:
        nonlocal watching
        watching = asyncio.create_task(watch())

    later = asyncio.get_running_loop().call_later(_PATIENCE_S, begin)
    try:
        return await found
    except asyncio.CancelledError:
        if watching is not None and watching.done():
            raise ClientDisconnect from None
        raise
    finally:
        later.cancel()
        if watching is not None:
            watching.cancel()
