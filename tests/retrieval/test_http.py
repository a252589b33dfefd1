"""The client, against a small server that answers as others' do, or as it should not."""

import asyncio
import json
import multiprocessing
import os
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import msgpack
import pytest

from toolenvs import retrieval
from toolenvs.errors import ConfigError, RetrievalError
from toolenvs.retrieval import Hit
from toolenvs.tasks import Task
from toolenvs.tools import search as tool

Answer = tuple[int, dict[str, str], bytes]


class Fake:
    """Answers each request with what `answers` gives, and keeps the requests."""

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.answer: Callable[[str, bytes], Answer] = lambda path, body: (404, {}, b"{}")
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:  # noqa: N802
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                fake.requests.append((self.path, {key.lower(): value for key, value in self.headers.items()}, body))
                status, headers, content = fake.answer(self.path, body)
                if status == 0:  # says nothing, and hangs up
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in {"Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def gives(self, *answers: Any) -> None:
        """These, one after the other; the last one for ever. What is no triple is JSON with status 200."""
        left = list(answers)

        def answer(path: str, body: bytes) -> Answer:
            one = left.pop(0) if len(left) > 1 else left[0]
            return one if isinstance(one, tuple) else (200, {}, json.dumps(one).encode())

        self.answer = answer


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Fake]:
    monkeypatch.setattr("toolenvs.retrying._FIRST_WAIT_S", 0.001)
    one = Fake()
    yield one
    one.server.shutdown()
    one.thread.join()
    one.server.server_close()


DENSE = {"id": "7", "contents": '"Merrow"\nMerrow is a harbour town.\nIt has a river.'}
STORED = {"title": "Merrow", "text": "Merrow is a harbour town.", "contents": '"Merrow"\nMerrow is a harbour town.'}
GOOGLE = {"document": {"contents": '"Merrow"\nA town.'}}


def test_search_r1(fake: Fake) -> None:
    """Its dense servers give corpus rows, its BM25 server title, text and contents without an id."""
    fake.gives({"result": [[{"document": DENSE, "score": 0.875}, {"document": STORED, "score": 0.5}], []]})
    with retrieval.open(fake.url) as client:
        found = client.search(["harbour towns", ""], 2)
    assert found[0][0] == Hit("7", 0.875, "Merrow", "Merrow is a harbour town.\nIt has a river.")
    assert (found[0][1].score, found[0][1].title, found[0][1].text) == (0.5, "Merrow", "Merrow is a harbour town.")
    assert len(found[0][1].id) == 16
    assert found[1] == []
    (path, headers, body), *_ = fake.requests
    assert (path, headers["content-type"]) == ("/retrieve", "application/json")
    assert json.loads(body) == {"queries": ["harbour towns", ""], "topk": 2, "return_scores": True}


def test_search_r1s_web_servers_give_no_score(fake: Fake) -> None:
    fake.gives({"result": [[GOOGLE, GOOGLE]]})
    with retrieval.open(fake.url + "/retrieve") as client:
        assert [(hit.score, hit.title, hit.text) for hit in client.search(["x"], 1)[0]] == [(0.0, "Merrow", "A town.")]


def test_skyrl_gym(fake: Fake) -> None:
    def answer(path: str, body: bytes) -> Answer:
        hit = {"document": {**DENSE, "id": json.loads(body)["query"]}, "score": 1}
        return 200, {}, json.dumps({"result": [[hit]]}).encode()

    fake.answer = answer
    with retrieval.open(fake.url, dialect="skyrl") as client:
        assert [[hit.id for hit in hits] for hits in client.search(["a", "b", "c"], 3)] == [["a"], ["b"], ["c"]]
    assert sorted(json.loads(body)["query"] for _, _, body in fake.requests) == ["a", "b", "c"]
    assert json.loads(fake.requests[0][2]).keys() == {"query", "topk", "return_scores"}


def test_gem(fake: Fake) -> None:
    packed = msgpack.packb({"result": [{"document": DENSE, "score": 1.5}, {"document": DENSE, "score": None}]})
    fake.gives((200, {}, packed))
    with retrieval.open(f"{fake.url}#gem") as client:
        assert [hit.score for hit in client.search(["x"], 3)[0]] == [1.5, 0.0]
    assert msgpack.unpackb(fake.requests[0][2]) == {"query": "x", "topk": 3, "return_scores": True}


def test_r1_searcher(fake: Fake) -> None:
    fake.gives({"queries": ["x"], "answers": [["12\tMerrow is a town", "7 8 sails"]]})
    with retrieval.open(fake.url, dialect="r1-searcher") as client:
        assert client.search(["x"], 2) == [[Hit("12", 1.0, "", "Merrow is a town"), Hit("7", 0.5, "", "8 sails")]]
    assert fake.requests[0][0] == "/queries"
    assert json.loads(fake.requests[0][2]) == {"queries": ["x"], "k": 2}


def test_asearcher(fake: Fake) -> None:
    fake.gives(
        {"result": [[{"contents": '"Merrow"\nA town.', "url": "wiki/Merrow"}]]}, {"result": [{"contents": "A"}, None]}
    )
    with retrieval.open(fake.url, dialect="asearcher") as client:
        assert client.search(["x"], 2) == [[Hit("wiki/Merrow", 1.0, "Merrow", "A town.")]]
        assert client.fetch(["wiki/A", "wiki/B"]) == [Hit("wiki/A", 0.0, "", "A"), None]
    assert [path for path, _, _ in fake.requests] == ["/retrieve", "/access"]


WRONG: list[Any] = [
    {"result": []},  # no list for the query: never an empty observation
    {"result": [[], []]},
    {"result": None},
    {"result": {}},
    {"result": [None]},
    {"result": ["text"]},
    {"result": [[None]]},
    {"result": [[DENSE]]},
    {"result": [[{"document": None, "score": 1}]]},
    {"result": [[{"document": {}, "score": 1}]]},
    {"result": [[{"document": {"contents": None}, "score": 1}]]},
    {"result": [[{"document": {"contents": 5}, "score": 1}]]},
    {"result": [[{"document": DENSE, "score": "high"}]]},
    {"result": [[{"document": DENSE, "score": True}]]},
    (200, {}, b'{"result": [[{"document": {"id": "1", "contents": "x"}, "score": NaN}]]}'),
    (200, {}, b'{"result": [[{"document": {"id": "1", "contents": "x"}, "score": 1%s}]]}' % (b"0" * 400)),
    {"detail": "nothing here"},
    [],
    None,
    "busy",
    (200, {}, b""),
    (200, {}, b"<html>proxy error</html>"),
    (200, {}, b"[" * 100_000),
    (200, {}, b"\xff\xfe"),
]


@pytest.mark.parametrize("dialect", ["search-r1", "skyrl", "gem", "r1-searcher", "asearcher"])
@pytest.mark.parametrize("number", range(len(WRONG)))
def test_an_answer_of_the_wrong_shape_is_a_failure(fake: Fake, dialect: str, number: int) -> None:
    wrong = WRONG[number]
    if dialect == "asearcher" and wrong == {"result": [[DENSE]]}:  # that is how ASearcher answers
        wrong = {"result": [[{"document": DENSE}]]}
    if dialect == "gem" and not isinstance(wrong, tuple):
        wrong = (200, {}, msgpack.packb([wrong] if wrong == {"result": []} else wrong))
    fake.gives(wrong)
    with (
        retrieval.open(fake.url, dialect=dialect) as client,
        pytest.raises(RetrievalError, match="something else") as told,
    ):
        client.search(["x"], 3)
    assert fake.url in str(told.value)
    assert len(fake.requests) == 1


def test_more_hits_than_wanted_are_cut_off(fake: Fake) -> None:
    fake.gives({"result": [[{"document": {**DENSE, "id": str(number)}, "score": 1.0} for number in range(9)]]})
    with retrieval.open(fake.url) as client:
        assert [hit.id for hit in client.search(["x"], 2)[0]] == ["0", "1"]


GOOD = {"result": [[{"document": DENSE, "score": 1.0}]]}


@pytest.mark.parametrize("status", [0, 429, 500, 502, 503, 504])
def test_what_may_be_better_a_moment_later_is_asked_again(fake: Fake, status: int) -> None:
    fake.gives((status, {}, b"busy"), (status, {}, b"busy"), GOOD)
    with retrieval.open(fake.url) as client:
        assert client.search(["x"], 1)[0][0].id == "7"
    assert len(fake.requests) == 3


def test_in_the_end_it_fails(fake: Fake) -> None:
    fake.gives((503, {}, b'{"detail": "still loading"}'))
    with retrieval.open(fake.url, attempts=3) as client, pytest.raises(RetrievalError, match="3 times.*still loading"):
        client.search(["x"], 1)
    assert len(fake.requests) == 3


@pytest.mark.parametrize("status", [301, 400, 401, 404, 422])
def test_a_refusal_is_final(fake: Fake, status: int) -> None:
    fake.gives((status, {"Location": "http://192.0.2.1/"}, b'{"detail": "no"}'))
    with retrieval.open(fake.url) as client, pytest.raises(RetrievalError, match=f"asked once: status {status}: no"):
        client.search(["x"], 1)
    assert len(fake.requests) == 1


@pytest.mark.parametrize("when", ["3600", "Fri, 31 Dec 2100 23:59:59 GMT"])
def test_the_time_to_come_back_is_kept(fake: Fake, when: str) -> None:
    """Within the deadline there is none, so the server is not asked again."""
    fake.gives((429, {"Retry-After": when}, b""))
    with retrieval.open(fake.url, deadline_s=0.2) as client, pytest.raises(RetrievalError, match="asked once"):
        client.search(["x"], 1)
    assert len(fake.requests) == 1


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (
        retrieval.open(f"http://127.0.0.1:{port}", attempts=2) as client,
        pytest.raises(RetrievalError, match="2 times"),
    ):
        client.search(["x"], 1)


def test_a_server_that_never_answers_is_given_up(fake: Fake) -> None:
    wait = threading.Event()
    fake.answer = lambda path, body: (0 * wait.wait(60), {}, b"")
    try:
        with (
            retrieval.open(fake.url, attempts=2, answer_s=0.05) as client,
            pytest.raises(RetrievalError, match="2 times: no answer in time"),
        ):
            client.search(["x"], 1)
    finally:
        wait.set()


async def test_cancelling_closes_the_connection() -> None:
    closed = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"}")
        came.set()
        assert await reader.read() == b""  # the end
        closed.set()
        writer.close()

    came = asyncio.Event()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        with retrieval.open(url) as client:
            task = asyncio.create_task(client.asearch(["x"], 1))
            await came.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await closed.wait()


async def test_closing_is_told_to_who_waits(fake: Fake) -> None:
    """They did not cancel anything, and must not seem to."""
    came, wait = threading.Event(), threading.Event()
    fake.answer = lambda path, body: (came.set() or 0 * wait.wait(60), {}, b"")
    try:
        client = retrieval.open(fake.url)
        asked = asyncio.create_task(client.asearch(["x"], 1))
        await asyncio.to_thread(came.wait)
        await asyncio.to_thread(client.close)
        with pytest.raises(RetrievalError, match="was closed during the request"):
            await asked
    finally:
        wait.set()


@pytest.mark.parametrize("when", ["\u00b2", "Mon, 01 Jan 2001 00:00:00 +99999999999999"])
def test_a_time_to_come_back_that_is_none_is_no_fault(fake: Fake, when: str) -> None:
    fake.gives((429, {"Retry-After": when}, b""), GOOD)
    with retrieval.open(fake.url) as client:
        assert client.search(["x"], 1)[0][0].id == "7"


def test_too_large_an_answer_is_not_read(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolenvs.retrieval.http.connections.MAX_ANSWER_BYTES", 1000)
    fake.gives((200, {}, b"[" + b" " * 10_000 + b"]"))
    with retrieval.open(fake.url, attempts=1) as client, pytest.raises(RetrievalError, match="larger than 1000 bytes"):
        client.search(["x"], 1)


def test_another_index_behind_the_address_is_noticed(fake: Fake) -> None:
    content = json.dumps(GOOD).encode()
    fake.gives(
        (200, {"X-Toolenvs-Index": "one"}, content), (200, {}, content), (200, {"X-Toolenvs-Index": "two"}, content)
    )
    with retrieval.open(fake.url) as client:
        client.search(["x"], 1)
        client.search(["x"], 1)  # says nothing
        with pytest.raises(RetrievalError, match=r"another index \(two\) than one"):
            client.search(["x"], 1)
    with retrieval.open(fake.url, fingerprint="three") as client, pytest.raises(RetrievalError, match="than three"):
        client.search(["x"], 1)


def test_a_server_that_does_not_tell_its_size(fake: Fake) -> None:
    fake.gives({"status": "healthy"})
    with retrieval.open(fake.url) as client, pytest.raises(RetrievalError, match="no `toolenvs serve search`"):
        _ = client.size


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("http://", {}, "is no address"),
        ("ftp://x/y", {"backend": "http"}, "is no address"),
        ("index", {"backend": "http"}, "is no address"),
        ("http://x", {"dialect": "skryl"}, "did you mean 'skyrl'"),
        ("http://x#gemm", {}, "did you mean 'gem'"),
        ("http://x", {"attempts": 0}, "attempts must be a positive number"),
        ("http://x", {"deadline_s": float("nan")}, "deadline_s must be a positive number"),
        ("http://x", {"unheard_of": 1}, "unheard_of"),
    ],
)
def test_wrong_arguments(source: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        retrieval.open(source, **options)


def test_bad_queries_are_the_callers_fault(fake: Fake) -> None:
    with retrieval.open(fake.url) as client:
        for queries, k in (("x", 1), ([1], 1), (["x"], 0), (["x"], True)):
            with pytest.raises(ConfigError):
                client.search(queries, k)  # type: ignore[arg-type]
        assert client.search([], 3) == []
    assert fake.requests == []
    with pytest.raises(RetrievalError, match="is closed"):
        client.search(["x"], 1)
    client.close()


def _in_a_child(client: retrieval.Retriever, pipe: Any) -> None:
    pipe.send(client.search(["x"], 1))
    client.close()
    os._exit(0)


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_forked_child_has_connections_of_its_own(fake: Fake) -> None:
    fake.gives(GOOD)
    with retrieval.open(fake.url) as client:
        mine = client.search(["x"], 1)
        receiver, sender = multiprocessing.Pipe(duplex=False)
        child = multiprocessing.get_context("fork").Process(target=_in_a_child, args=(client, sender))
        child.start()
        assert receiver.recv() == mine
        child.join()
        assert client.search(["x"], 1) == mine


def test_many_event_loops_one_after_the_other(fake: Fake) -> None:
    fake.gives(GOOD)
    with retrieval.open(fake.url) as client:
        for _ in range(3):
            assert asyncio.run(client.asearch(["x"], 1))[0][0].id == "7"


async def test_a_page_may_point_at_a_server(fake: Fake) -> None:
    fake.gives({"result": [[{"document": DENSE, "score": 2.0}]]})
    one = tool.Tool(tool.Options(index=f"{fake.url}/retrieve"))
    await one.check()
    task = Task(id="t", question="?")
    session = await one.open(task, seed=0, progress=0.0)
    result = await session.call({"query": "harbour"})
    assert result.text == "Doc 1(Title: Merrow) Merrow is a harbour town.\nIt has a river."
    fake.gives({"result": []})
    with pytest.raises(RetrievalError):
        await session.call({"query": "harbour"})
