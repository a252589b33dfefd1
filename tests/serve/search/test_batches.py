"""How queries of many requests are put together, bounded, and given back."""

import asyncio
import threading
from collections.abc import Iterable

import pytest

from toolenvs.errors import RetrievalError
from toolenvs.retrieval import Hit, Retriever
from toolenvs.serve.http import Refused
from toolenvs.serve.search.batches import Batches, Cache, Watch


class Echo(Retriever):
    """Finds for each query the query itself; waits, where it is told to, until it may go on."""

    backend, fingerprint, size = "echo", "e", 10

    def __init__(self, *, held: bool = False, in_memory: bool = False) -> None:
        self.calls: list[tuple[list[str], int]] = []
        self.go = threading.Event()
        self.in_memory = in_memory
        self.thread: int | None = None
        if not held:
            self.go.set()

    def _search(self, queries: list[str], k: int) -> list[list[Hit]]:
        self.thread = threading.get_ident()
        self.calls.append((queries, k))
        assert self.go.wait(60)
        if "poison" in queries:
            raise RetrievalError("poisoned")
        return [[Hit(query, float(k), "", "")] for query in queries]

    def fetch(self, ids: Iterable[str]) -> list[Hit | None]:
        return [None for _ in ids]


def batches(retriever: Retriever, **changes: object) -> Batches:
    limits = {"max_batch": 4, "threads": 1, "max_queued": 100, "per_client": 100, "queue_s": 60.0, "cache": 0}
    ignored = Watch(lambda *_: None, lambda *_: None, lambda *_: None)
    return Batches(retriever, **{**limits, **changes}, watch=ignored)  # type: ignore[arg-type]


def ids(answer: list[list[Hit]]) -> list[list[str]]:
    return [[hit.id for hit in hits] for hits in answer]


async def until(condition) -> None:
    while not condition():
        await asyncio.sleep(0.001)


async def test_what_came_meanwhile_is_searched_together() -> None:
    echo = Echo(held=True)
    pool = batches(echo)
    futures = [pool.search("a", [query], 3) for query in "pqrstu"]
    await until(lambda: echo.calls)
    assert echo.calls == [(["p"], 3)]  # the first one waited for nobody
    echo.go.set()
    assert [ids(await future) for future in futures] == [[[query]] for query in "pqrstu"]
    assert echo.calls[1:] == [(list("qrst"), 3), (["u"], 3)]
    pool.close()


async def test_short_batches_are_searched_on_the_loop_itself() -> None:
    echo = Echo(in_memory=True)
    pool = batches(echo)
    for _ in range(200):
        await pool.search("a", ["x"], 1)
    assert echo.thread == threading.get_ident()
    futures = [pool.search("a", [query], 3) for query in "pqrstu"]
    assert [ids(await future) for future in futures] == [[[query]] for query in "pqrstu"]
    assert echo.calls[-2:] == [(list("pqrs"), 3), (list("tu"), 3)]
    pool.close()


async def test_each_request_gets_as_many_as_it_asked_for() -> None:
    echo = Echo(held=True)
    pool = batches(echo, max_batch=10)
    futures = [pool.search("a", ["x"], k) for k in (9, 1, 2, 1)]
    echo.go.set()
    assert [(await future)[0][0].score for future in futures] == [9, 1, 2, 1]
    assert echo.calls[1:] == [(["x", "x"], 1), (["x"], 2)]
    pool.close()


async def test_the_same_query_twice_is_searched_once() -> None:
    echo = Echo()
    pool = batches(echo, cache=2)
    assert ids(await pool.search("a", ["x", "y", "x"], 1)) == [["x"], ["y"], ["x"]]
    assert ids(await pool.search("a", ["y", "x"], 1)) == [["y"], ["x"]]
    assert echo.calls == [(["x", "y"], 1)]
    await pool.search("a", ["x"], 2)  # another number is another answer
    await pool.search("a", ["x"], 1)
    await pool.search("a", ["y"], 1)  # wanted longest ago, so forgotten
    assert echo.calls == [(["x", "y"], 1), (["x"], 2), (["y"], 1)]
    assert await pool.search("a", [], 1) == []
    pool.close()


def test_an_empty_result_is_remembered_too() -> None:
    cache = Cache(1)
    cache.put("x", 1, [])
    assert cache.get("x", 1) == []
    assert cache.get("x", 2) is None


async def test_clients_take_turns() -> None:
    echo = Echo(held=True)
    pool = batches(echo, max_batch=2)
    first = pool.search("many", [f"m{number}" for number in range(9)], 1)
    single = pool.search("one", ["s"], 1)
    await until(lambda: echo.calls)
    echo.go.set()
    await single
    assert [queries for queries, _ in echo.calls].index(["s"]) <= 2
    assert ids(await first) == [[f"m{number}"] for number in range(9)]
    pool.close()


async def test_too_much_is_sent_away_with_a_time_to_come_back() -> None:
    echo = Echo(held=True)
    pool = batches(echo, max_queued=5, per_client=6)
    running = pool.search("a", ["r"], 1)
    await until(lambda: echo.calls)
    waiting = [pool.search("a", list("vw"), 1), pool.search("b", list("xy"), 1)]
    for client, queries, why in (
        ("c", "123", "4 queries wait already; 5 may"),
        ("a", "1234", "3 queries of a are here"),
    ):
        with pytest.raises(Refused, match=why) as refused:
            pool.search(client, list(queries), 1)
        assert refused.value.status == 429
        assert int(refused.value.headers["Retry-After"]) >= 1
    echo.go.set()
    await asyncio.gather(running, *waiting)
    assert (pool.queued, pool.running) == (0, 0)
    assert ids(await pool.search("a", list("1234"), 1)) == [["1"], ["2"], ["3"], ["4"]]
    pool.close()


async def test_what_is_cancelled_is_not_searched() -> None:
    echo = Echo(held=True)
    pool = batches(echo, max_queued=2, per_client=3)
    running = pool.search("a", ["r"], 1)
    await until(lambda: echo.calls)
    gone, stays = pool.search("a", ["gone"], 1), pool.search("a", ["stays"], 1)
    gone.cancel()
    running.cancel()
    echo.go.set()
    assert ids(await stays) == [["stays"]]
    assert [queries for queries, _ in echo.calls] == [["r"], ["stays"]]
    assert pool.queued == 0
    assert ids(await pool.search("a", ["x", "y"], 1)) == [["x"], ["y"]]  # their places are free again
    pool.close()


async def test_a_wait_ends() -> None:
    echo = Echo(held=True)
    pool = batches(echo, queue_s=0.05)
    running = pool.search("a", ["r"], 1)
    await until(lambda: echo.calls)
    late = pool.search("a", ["late"], 1)
    await asyncio.sleep(0.1)
    echo.go.set()
    with pytest.raises(Refused, match=r"no turn came for 0\.05 s") as refused:
        await late
    assert refused.value.status == 503
    assert ids(await running) == [["r"]]
    pool.close()


async def test_a_query_that_fails_fails_alone() -> None:
    echo = Echo(held=True)
    pool = batches(echo)
    futures = {query: pool.search("a", [query], 1) for query in ("r", "x", "poison", "y")}
    await until(lambda: echo.calls)
    echo.go.set()
    with pytest.raises(RetrievalError, match="poisoned"):
        await futures.pop("poison")
    for query, future in futures.items():
        assert ids(await future) == [[query]]
    pool.close()


async def test_a_retriever_that_loses_a_list_is_a_failure() -> None:
    class Loses(Echo):
        def _search(self, queries: list[str], k: int) -> list[list[Hit]]:
            return [[] for _ in queries[1:]]

    pool = batches(Loses())
    with pytest.raises(RuntimeError, match="answered 2 queries with 1 lists"):
        await pool.search("a", ["x", "y"], 1)
    pool.close()
