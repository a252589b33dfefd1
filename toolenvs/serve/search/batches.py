"""Queries of many requests, searched together: those that came while the batch before was searched; none is awaited."""

import asyncio
import functools
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from toolenvs.retrieval import Hit, Retriever
from toolenvs.serve.http import Refused

T = TypeVar("T")
_SHORT_S = 0.01
"""A batch that takes less is searched on the event loop: handing it to a thread and back costs as much as a search."""
Hits = list[Hit]
Answer = list[Hits]


@dataclass(slots=True, eq=False)
class _Request:
    """Queries of one request, and what has been found for them so far."""

    client: str
    k: int
    future: "asyncio.Future[Answer]"
    found: list[Hits | None]
    missing: int
    """Queries without an answer so far."""


@dataclass(slots=True, eq=False)
class _Piece:
    """Part of a request's queries, not larger than a batch."""

    request: _Request
    queries: list[str]
    places: list[list[int]]
    """For each query where its result belongs: a request may ask the same twice."""
    came_s: float


@dataclass(slots=True)
class Watch:
    """Told what happens, for the metrics."""

    batch: Callable[[int, float], None]
    """How many queries were searched together, and for how many seconds."""
    waited: Callable[[float], None]
    """How many seconds a query waited."""
    cached: Callable[[int], None]
    """How many queries were answered from the cache."""


class Batches:
    """Searches of one retriever. All methods are to be called on one event loop.

    Clients take turns: from each one piece of a request in each round, so that one with thousands of queries does not
    hold up another's single one.

    Args:
        retriever: searched in threads of its own.
        max_batch: queries that are searched together.
        threads: batches that are searched at one time.
        max_queued: queries that may wait.
        per_client: queries of one client, waiting and being searched.
        queue_s: seconds that a query may wait.
        cache: queries whose results are kept.
        watch: told what happens.
    """

    def __init__(
        self,
        retriever: Retriever,
        *,
        max_batch: int,
        threads: int,
        max_queued: int,
        per_client: int,
        queue_s: float,
        cache: int,
        watch: Watch,
    ) -> None:
        self._retriever = retriever
        self._max_batch = max_batch
        self._threads = threads
        self._max_queued = max_queued
        self._per_client = per_client
        self._queue_s = queue_s
        self._cache = Cache(cache)
        self._watch = watch
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="toolenvs-search")
        self._waiting: OrderedDict[str, deque[_Piece]] = OrderedDict()
        self._clients: Counter[str] = Counter()
        self._typical_s = 1.0
        """What a query takes; nothing is known at first."""
        self._due = False
        """Whether a batch is going to be searched on the event loop."""
        self.running = 0
        """Batches."""
        self.queued = 0
        """Queries."""

    def search(self, client: str, queries: Sequence[str], k: int) -> "asyncio.Future[Answer]":
        """What is found for each query; cancel the future, and queries that still wait are dropped.

        Raises:
            Refused: 429, too many wait or are this client's; says when to try again. The future may get 503.
            RetrievalError: of the future; the retriever failed.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Answer] = loop.create_future()
        found = [self._cache.get(query, k) for query in queries]
        places: dict[str, list[int]] = {}
        for place, (query, known) in enumerate(zip(queries, found, strict=True)):
            if known is None:
                places.setdefault(query, []).append(place)
        if len(places) < len(found):
            self._watch.cached(sum(known is not None for known in found))
        if not places:
            future.set_result([hits or [] for hits in found])
            return future
        self._admit(client, len(places))
        request = _Request(client, k, future, found, len(places))
        wanted, now_s = list(places), time.monotonic()
        line = self._waiting.setdefault(client, deque())
        for start in range(0, len(wanted), self._max_batch):
            part = wanted[start : start + self._max_batch]
            line.append(_Piece(request, part, [places[query] for query in part], now_s))
        self.queued += len(wanted)
        self._clients[client] += len(wanted)
        self._pump()
        return future

    async def call(self, function: Callable[..., T], *arguments: object) -> T:
        """Something else with the retriever, in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self._executor, function, *arguments)

    def close(self) -> None:
        """Wait for what is being searched; what waits is never searched."""
        self._waiting.clear()
        self._executor.shutdown(wait=True, cancel_futures=True)

    def _admit(self, client: str, count: int) -> None:
        if self._clients[client] + count > self._per_client:
            why = f"{self._clients[client]} queries of {client} are here already; {self._per_client} may be"
        elif self.queued + count > self._max_queued:
            why = f"{self.queued} queries wait already; {self._max_queued} may"
        else:
            return
        self._forget(client, 0)
        raise self._refused(429, why)

    def _refused(self, status: int, why: str) -> Refused:
        after_s = max(1, min(30, round(self._typical_s * self.queued / self._threads)))
        return Refused(status, f"{why}; try again later", {"Retry-After": str(after_s)})

    def _pump(self) -> None:
        if self._due or not self._waiting:
            return
        if self._retriever.in_memory and self._typical_s * min(self.queued, self._max_batch) < _SHORT_S:
            self._due = True
            asyncio.get_running_loop().call_soon(self._here)  # when all requests that have come are read
            return
        while self.running < self._threads and self._waiting:
            batch = self._next()
            if not batch:
                return
            self.running += 1
            began_s = time.monotonic()
            work = asyncio.get_running_loop().run_in_executor(self._executor, self._work, batch)
            work.add_done_callback(functools.partial(self._done, batch, began_s))

    def _here(self) -> None:
        self._due = False
        began_s, batch = time.monotonic(), self._next()
        if batch:
            self._finish(batch, began_s, self._work(batch))

    def _next(self) -> list[_Piece]:
        """The pieces of the next batch, one of each client in turn."""
        batch: list[_Piece] = []
        size, now_s = 0, time.monotonic()
        while self._waiting:
            client, line = next(iter(self._waiting.items()))
            piece = line[0]
            count = len(piece.queries)
            late = now_s - piece.came_s > self._queue_s
            gone = piece.request.future.done()
            if batch and not (gone or late) and size + count > self._max_batch:
                break
            line.popleft()
            self.queued -= count
            if line:
                self._waiting.move_to_end(client)
            else:
                del self._waiting[client]
            if gone or late:
                if late and not gone:
                    why = self._refused(503, f"no turn came for {self._queue_s:g} s")
                    piece.request.future.set_exception(why)
                self._forget(client, count)
                continue
            self._watch.waited(now_s - piece.came_s)
            batch.append(piece)
            size += count
        return batch

    def _work(self, batch: list[_Piece]) -> list[Answer | Exception]:
        """In a thread: the answer to each piece. Where a search of several fails, each is searched by itself."""
        by_k: dict[int, list[int]] = {}
        for number, piece in enumerate(batch):
            by_k.setdefault(piece.request.k, []).append(number)
        answers: list[Answer | Exception] = [[] for _ in batch]
        for k, numbers in by_k.items():
            try:
                found = iter(self._search([query for number in numbers for query in batch[number].queries], k))
                for number in numbers:
                    answers[number] = [next(found) for _ in batch[number].queries]
            except Exception as error:
                for number in numbers:
                    answers[number] = error if len(numbers) == 1 else self._alone(batch[number].queries, k)
        return answers

    def _alone(self, queries: list[str], k: int) -> Answer | Exception:
        try:
            return self._search(queries, k)
        except Exception as error:
            return error

    def _search(self, queries: list[str], k: int) -> Answer:
        found = self._retriever.search(queries, k)
        if len(found) != len(queries):
            raise RuntimeError(f"the retriever answered {len(queries)} queries with {len(found)} lists")
        return found

    def _done(self, batch: list[_Piece], began_s: float, work: "asyncio.Future[list[Answer | Exception]]") -> None:
        self.running -= 1
        if not work.cancelled():  # as when the server ends
            self._finish(batch, began_s, work.result())

    def _finish(self, batch: list[_Piece], began_s: float, answers: list[Answer | Exception]) -> None:
        size, seconds = sum(len(piece.queries) for piece in batch), time.monotonic() - began_s
        self._typical_s += 0.1 * (seconds / size - self._typical_s)
        for piece in batch:
            self._forget(piece.request.client, len(piece.queries))
        self._watch.batch(size, seconds)
        self._pump()  # the next batch is searched while the answers to this one are written
        for piece, answer in zip(batch, answers, strict=True):
            self._deliver(piece, answer)

    def _deliver(self, piece: _Piece, answer: Answer | Exception) -> None:
        request = piece.request
        if isinstance(answer, Exception):
            if not request.future.done():
                request.future.set_exception(answer)
            return
        for query, hits, places in zip(piece.queries, answer, piece.places, strict=True):
            self._cache.put(query, request.k, hits)
            for place in places:
                request.found[place] = hits
        request.missing -= len(piece.queries)
        if not request.missing and not request.future.done():
            request.future.set_result([hits or [] for hits in request.found])

    def _forget(self, client: str, count: int) -> None:
        self._clients[client] -= count
        if not self._clients[client]:
            del self._clients[client]


@dataclass(slots=True)
class Cache:
    """What was found for the queries asked last."""

    size: int
    _known: OrderedDict[tuple[str, int], Hits] = field(default_factory=OrderedDict)

    def get(self, query: str, k: int) -> Hits | None:
        """The hits, if they are known."""
        if not self.size:
            return None
        hits = self._known.get((query, k))
        if hits is not None:
            self._known.move_to_end((query, k))
        return hits

    def put(self, query: str, k: int, hits: Hits) -> None:
        """Keep the hits, in the place of those that were wanted longest ago."""
        if not self.size:
            return
        self._known[query, k] = hits
        if len(self._known) > self.size:
            self._known.popitem(last=False)
