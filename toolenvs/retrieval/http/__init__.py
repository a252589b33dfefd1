"""A retriever behind a server: one of ours, or one that answers as Search-R1's, SkyRL-Gym's, GEM's, R1-Searcher's do.

    with retrieval.open("http://127.0.0.1:8000") as retriever:                    # toolenvs serve search, Search-R1
        retriever.search(["who wrote the first novel"], k=3)
    retrieval.open("http://127.0.0.1:8000", dialect="gem")                        # or "http://127.0.0.1:8000#gem"

What is not found is an answer; whatever keeps an answer from coming, or is none, is a `RetrievalError`.
"""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from toolenvs import address, bearer
from toolenvs.errors import ConfigError, MissingExtraError, RetrievalError
from toolenvs.loop_thread import LoopThread
from toolenvs.retrieval.base import Hit, Retriever, check
from toolenvs.retrieval.http import asearcher, dialects
from toolenvs.retrieval.http.connections import Connections
from toolenvs.retrying import AttemptFailed, retried, retry_after_s

__all__ = ["RETRIED", "Http"]

T = TypeVar("T")
RETRIED = (408, 429, 500, 502, 503, 504)
"""Status codes that may be another one a moment later."""
INDEX_HEADER = "x-toolenvs-index"
"""Names the index of an answer of `toolenvs serve search`."""
_lock = threading.Lock()
_AT_ONCE = 16
"""Requests of one call that are on their way at one time."""
_SHOWN_CHARS = 200


class Http(Retriever):
    """A server's retriever. Works in forked children and from several event loops too.

    Args:
        source: the server's address, such as "http://127.0.0.1:8000". A path that it ends with is the one asked, else
            it is the dialect's own; "#skyrl" at its end names the dialect.
        dialect: a name of `dialects.DIALECTS`; by default what the address names, else "search-r1".
        token: sent as a bearer token; "": none; None: what the environment variable TOOLENVS_SEARCH_TOKEN holds.
        attempts: how often a request is sent until it counts as failed.
        answer_s: after so long without a whole answer an attempt counts as lost.
        deadline_s: for one call, all attempts and the waits between them.
        max_queries: queries of one request; a call with more sends several.
        fingerprint: of the index that must answer; by default whichever answers first, from then on no other.

    Raises:
        ConfigError: an argument is wrong.
        MissingExtraError: httpx is not installed.
    """

    backend = "http"
    workers = 16

    def __init__(
        self,
        source: str,
        *,
        dialect: str = "",
        token: str | None = None,
        attempts: int = 6,
        answer_s: float = 30.0,
        deadline_s: float = 120.0,
        max_queries: int = 512,
        fingerprint: str = "",
    ) -> None:
        try:
            import httpx
        except ImportError:
            raise MissingExtraError("httpx", "remote", "retrieval over HTTP") from None
        given, _, named = str(source).partition("#")
        self._dialect = dialects.of(dialect or named)
        given = address.http(given, "retrieval: source", 8000)
        url = httpx.URL(given)
        numbers = {"attempts": attempts, "answer_s": answer_s, "deadline_s": deadline_s, "max_queries": max_queries}
        for name, value in numbers.items():
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 2**31:
                raise ConfigError(f"retrieval: {name} must be a positive number, not {value!r}")
        self._root = str(url.copy_with(path="", query=None)).rstrip("/")
        self.url = given if url.path.strip("/") else self._root + self._dialect.PATH
        """Where queries are posted to."""
        self._attempts = int(attempts)
        self._answer_s = answer_s
        self._deadline_s = deadline_s
        self._max_queries = int(max_queries)
        self._fingerprint = fingerprint
        self._size: int | None = None
        self._headers = bearer.headers(bearer.token(token, "TOOLENVS_SEARCH_TOKEN"))
        self._mine: dict[int, Connections] = {}
        """Of each process that used it; what a fork inherits is the parent's to use and to close."""
        self._closed = False

    @property
    def size(self) -> int:  # type: ignore[override]
        """Number of passages, as the server says.

        Raises:
            RetrievalError: it does not say.
        """
        if self._size is None:
            self._introduce()
        assert self._size is not None
        return self._size

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        """Of the server's index.

        Raises:
            RetrievalError: it does not say.
        """
        if not self._fingerprint:
            self._introduce()
        return self._fingerprint

    def search(self, queries: Sequence[str], k: int = 10) -> list[list[Hit]]:
        """As `Retriever.search`."""
        check(queries, k)
        return self._thread().run(self._asearch(list(queries), k))

    async def asearch(self, queries: Sequence[str], k: int = 10) -> list[list[Hit]]:
        """As `search`. Cancelling closes the connection, whereupon a server of ours drops the queries."""
        check(queries, k)
        return await self._thread().arun(self._asearch(list(queries), k))

    def _search(self, queries: list[str], k: int) -> list[list[Hit]]:
        return self.search(queries, k)

    def fetch(self, ids: Iterable[str]) -> list[Hit | None]:
        """The passages with these ids, which a server of ours or ASearcher's has; None for those that it has not.

        Raises:
            RetrievalError: the server failed, or has no passages by their ids.
        """
        return self._thread().run(self._afetch(list(ids)))

    def close(self) -> None:
        """Close the connections."""
        super().close()
        with _lock:
            self._closed = True
            mine = self._mine.get(os.getpid())
        if mine is not None:
            mine.close()

    def _thread(self) -> LoopThread:
        """Where the connections of this process live.

        Raises:
            RetrievalError: they are closed.
        """
        with _lock:
            if self._closed:
                raise RetrievalError("this retriever is closed: open another")
            mine = self._mine.get(os.getpid())
            if mine is None:
                mine = Connections(self._headers, owner="this retriever", error=RetrievalError)
                self._mine[os.getpid()] = mine
        return mine.thread

    def _introduce(self) -> None:
        """Ask the server what it is."""
        end_s = time.monotonic() + self._deadline_s
        health = self._thread().run(self._send("GET", f"{self._root}/health", None, end_s))
        told = dialects.json_of(health)
        size = told.get("passages") if isinstance(told, dict) else None
        if not isinstance(told, dict) or not isinstance(size, int) or not isinstance(told.get("fingerprint"), str):
            raise RetrievalError(f"{self._root}/health does not tell of an index: it is no `toolenvs serve search`")
        self._check_index(told["fingerprint"])
        self._size = size

    async def _asearch(self, queries: list[str], k: int) -> list[list[Hit]]:
        end_s = time.monotonic() + self._deadline_s
        most = 1 if self._dialect.SINGLE else self._max_queries
        parts = [queries[start : start + most] for start in range(0, len(queries), most)]
        if len(parts) == 1:
            return await self._part(parts[0], k, end_s)
        places = asyncio.Semaphore(_AT_ONCE)

        async def one(part: list[str]) -> list[list[Hit]]:
            async with places:
                return await self._part(part, k, end_s)

        tasks = [asyncio.create_task(one(part)) for part in parts]
        try:
            return [hits for found in await asyncio.gather(*tasks) for hits in found]
        finally:
            for task in tasks:
                task.cancel()

    async def _part(self, queries: list[str], k: int, end_s: float) -> list[list[Hit]]:
        content = self._dialect.request(queries, k)
        answer = await self._send("POST", self.url, content, end_s, self._dialect.CONTENT_TYPE)
        return self._read(lambda: checked_lists(self._dialect.parse(answer), queries, k), self.url, answer)

    async def _afetch(self, ids: list[str]) -> list[Hit | None]:
        url, end_s = self._root + asearcher.PAGES_PATH, time.monotonic() + self._deadline_s
        answer = await self._send("POST", url, asearcher.pages_request(ids), end_s)
        return self._read(lambda: asearcher.parse_pages(answer, ids), url, answer)

    def _read(self, parse: Callable[[], T], url: str, answer: bytes) -> T:
        try:
            return parse()
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, RecursionError) as error:
            shown = answer[:_SHOWN_CHARS].decode("utf-8", "replace")
            raise RetrievalError(f"{url} answered with something else ({error}): {shown!r}") from error

    async def _send(
        self, method: str, url: str, content: bytes | None, end_s: float, content_type: str = "application/json"
    ) -> bytes:
        """The answer's body, after as many attempts as it takes and may take.

        Raises:
            RetrievalError: every attempt failed, the server refused, or another index answered.
        """

        async def attempt() -> bytes:
            status, headers, answer = await self._mine[os.getpid()].send(method, url, content, content_type)
            if status == 200:
                self._check_index(headers.get(INDEX_HEADER, ""))
                return answer
            after_s = retry_after_s(headers.get("retry-after", ""))
            raise AttemptFailed(f"status {status}: {_detail(answer)}", final=status not in RETRIED, after_s=after_s)

        return await retried(
            attempt, name=url, error=RetrievalError, attempts=self._attempts, answer_s=self._answer_s, end_s=end_s
        )

    def _check_index(self, told: str) -> None:
        """That the same index answers as before; a server that names none is believed.

        Raises:
            RetrievalError: another does.
        """
        if not told:
            return
        if self._fingerprint and told != self._fingerprint:
            raise RetrievalError(
                f"{self._root} now answers from another index ({told:.12}) than {self._fingerprint:.12}: start the "
                "server with that one, or open the retriever anew"
            )
        self._fingerprint = told


def _renew_lock() -> None:
    """Another thread of the parent may have held it at the moment of the fork."""
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


def checked_lists(found: list[list[Hit]], queries: list[str], k: int) -> list[list[Hit]]:
    """One list for each query, none with more than `k` hits: what is more is cut off.

    Raises:
        ValueError: there are more lists or fewer.
    """
    if len(found) != len(queries):
        raise ValueError(f"{len(found)} lists for {len(queries)} queries")
    return [hits[:k] for hits in found]


def _detail(answer: bytes) -> str:
    """What a server said of its refusal."""
    try:
        told = dialects.json_of(answer)
    except ValueError:
        told = answer[:_SHOWN_CHARS].decode("utf-8", "replace")
    return str(told.get("detail", told) if isinstance(told, dict) else told)[: 2 * _SHOWN_CHARS]
