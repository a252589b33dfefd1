"""Many clients at once, clients that go away, a server that is full."""

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterable, Iterator

import httpx
import uvicorn

from tests.serve.serving import in_thread
from toolenvs import retrieval
from toolenvs.retrieval import Hit, Retriever
from toolenvs.serve import quick, run
from toolenvs.serve.search import Settings, build


class Held(Retriever):
    """A search waits until it may go on."""

    backend, fingerprint, size = "held", "h", 10

    def __init__(self) -> None:
        self.go, self.began, self.searched = threading.Event(), threading.Event(), list[str]()

    def _search(self, queries: list[str], k: int) -> list[list[Hit]]:
        self.began.set()
        assert self.go.wait(60)
        self.searched += queries
        return [[Hit("1", 1.0, "", query)] for query in queries]

    def fetch(self, ids: Iterable[str]) -> list[Hit | None]:
        return [None for _ in ids]


@contextlib.contextmanager
def serving(retriever: Retriever, **settings: int) -> Iterator[str]:
    """In a thread of this process, on the protocol and the loop of the command."""
    listener = run.bind("127.0.0.1", 0)
    application = build(retriever, Settings(**{"cache": 0, **settings}))  # type: ignore[arg-type]
    config = uvicorn.Config(application, http=quick.protocol(30), ws="none", lifespan="on", log_level="error")
    with in_thread(config, listener, quick.loop_factory()):
        yield run.url(listener)


async def test_each_of_many_clients_gets_its_own_answer(served, local: retrieval.Retriever) -> None:
    words = [word for passage in local._store for word in passage.text.split()][:300]
    wanted = local.search(words, 3)
    with retrieval.open(served.url) as client:
        places = asyncio.Semaphore(64)

        async def ask(word: str) -> list[Hit]:
            async with places:
                return (await client.asearch([word], 3))[0]

        assert await asyncio.gather(*map(ask, words)) == wanted
        assert await client.asearch(words * 5, 3) == wanted * 5


def test_a_full_server_answers_429_and_a_client_of_ours_comes_back() -> None:
    held = Held()
    limits = {"max_queries": 1, "max_per_client": 2, "max_queued": 2, "max_batch": 1}
    with serving(held, **limits) as url, retrieval.open(url, attempts=30) as client:
        answers: list[list[list[Hit]]] = []
        ask = lambda query: answers.append(client.search([query], 1))  # noqa: E731
        threads = [threading.Thread(target=ask, args=(str(number),)) for number in range(2)]
        threads[0].start()
        assert held.began.wait(60)
        threads[1].start()
        while "toolenvs_search_queued 1" not in httpx.get(f"{url}/metrics", trust_env=False).text:
            pass
        refused = httpx.post(f"{url}/retrieve", json={"queries": ["x"]}, trust_env=False)
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= 1
        threads.append(threading.Thread(target=ask, args=("2",)))
        threads[2].start()
        held.go.set()
        for thread in threads:
            thread.join()
    assert sorted(found[0][0].text for found in answers) == ["0", "1", "2"]
    assert sorted(held.searched) == ["0", "1", "2"]


def test_queries_of_a_client_that_went_away_are_dropped() -> None:
    held = Held()
    with serving(held) as url:
        port = int(url.rpartition(":")[2])
        head = b"POST /retrieve HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        connections = []
        for body in (b'{"queries": ["first"]}', b'{"queries": ["gone"]}', b'{"queries": ["stays"]}'):
            connections.append(socket.create_connection(("127.0.0.1", port), timeout=60))
            connections[-1].sendall(head % len(body) + body)
            assert held.began.wait(60)
        gauge = lambda: httpx.get(f"{url}/metrics", trust_env=False).text  # noqa: E731
        while "toolenvs_search_queued 2" not in gauge():
            pass
        connections[1].close()
        while 'code="499"' not in gauge():
            pass
        held.go.set()
        for connection in (connections[0], connections[2]):
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
            connection.close()
    assert held.searched == ["first", "stays"]


def test_a_retriever_that_fails_is_not_the_clients_fault() -> None:
    class Broken(Held):
        def _search(self, queries: list[str], k: int) -> list[list[Hit]]:
            from toolenvs.errors import RetrievalError

            raise RetrievalError("the index is gone")

    with serving(Broken()) as url:
        response = httpx.post(f"{url}/retrieve", json={"queries": ["x"]}, trust_env=False)
        assert (response.status_code, response.json()) == (503, {"detail": "the index is gone"})
