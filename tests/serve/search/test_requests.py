"""Whatever bytes come, the answer is a status that fits and a message that helps, and the server lives on."""

import json
import socket

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.serve.serving import check_patience, connected, received, send
from toolenvs.serve import quick
from toolenvs.serve.quick import MAX_OVERHEAD_BYTES

GOOD = {"queries": ["novel"], "topk": 1, "return_scores": True}
HEAD = b"POST /retrieve HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("content", "status", "message"),
    [
        (b"", 400, "no JSON"),
        (b"{", 400, "no JSON"),
        (b"\xff\xfe{}", 400, "no JSON"),
        (b"[" * 100_000, 400, "nested too deeply"),
        (b"null", 422, "must be a JSON object, not null"),
        (b"[]", 422, "must be a JSON object, not a list"),
        (b"{}", 422, "queries"),
    ],
)
def test_bodies_that_ask_nothing(served, content: bytes, status: int, message: str) -> None:
    for path in ("/retrieve", "/queries", "/access"):
        response = served.post(path, content=content, headers={"Content-Type": "application/json"})
        assert response.status_code == status
        assert message.replace("queries", "urls" if path == "/access" else "queries") in response.text


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({"queries": "novel"}, 422, "list of strings, not a string"),
        ({"queries": None}, 422, "list of strings, not null"),
        ({"queries": [1]}, 422, "string, not a number"),
        ({"queries": ["x"] * 4097}, 422, "--max-queries"),
        ({"queries": ["x" * 16_385]}, 413, "query 0 is longer than the 16384 characters"),
        ({"topk": -1}, 422, "at least 0"),
        ({"topk": 1001}, 422, "--max-topk"),
        ({"topk": 10**400}, 422, "at most 1000"),
        ({"topk": 1.5}, 422, "whole number"),
        ({"topk": True}, 422, "whole number"),
        ({"topk": "3"}, 422, "whole number"),
        ({"return_scores": "yes"}, 422, "true or false"),
    ],
)
def test_values_that_cannot_be(served, change: dict[str, object], status: int, message: str) -> None:
    response = served.post("/retrieve", {**GOOD, **change})
    assert (response.status_code, message in response.text) == (status, True), response.text[:500]


def test_every_fault_is_told_at_once(served) -> None:
    detail = served.post("/retrieve", {"topk": -1, "return_scores": 1}).json()["detail"]
    assert {problem["loc"][1] for problem in detail} == {"queries", "topk", "return_scores"}


@pytest.mark.parametrize(
    "body",
    [b"\x80", b"\x81\xa1", b"\xde\x00", b"\x81\xc1\xc1", b"\x81\x90\x00", b"\xdf\xff\xff\xff\xff", b"\x81" * 5000],
)
def test_broken_msgpack(served, body: bytes) -> None:
    for headers in ({}, {"Content-Type": "application/msgpack"}):
        assert served.post("/retrieve", content=body, headers=headers).status_code in (400, 422)


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=100))
def test_any_msgpack_gets_an_answer(served, body: bytes) -> None:
    response = served.post("/retrieve", content=body, headers={"Content-Type": "application/msgpack"})
    assert response.status_code in (400, 422)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["queries", "query", "topk", "k", "return_scores", "urls"]),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
            max_leaves=5,
        ),
    )
)
def test_any_json_gets_an_answer(served, body: dict[str, object]) -> None:
    for path in ("/retrieve", "/queries", "/access"):
        headers = {"Content-Type": "application/json"}
        response = served.post(path, content=json.dumps(body).encode(), headers=headers)
        assert response.status_code in (200, 422), response.text
        assert response.json()


def test_only_json_and_msgpack_are_taken(served) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        for path in ("/retrieve", "/queries", "/access"):
            response = served.post(path, content=json.dumps(GOOD), headers={"Content-Type": kind})
            assert response.status_code == 415
    declared = {"Content-Type": "application/json; charset=utf-8"}
    assert served.post("/retrieve", content=json.dumps(GOOD), headers=declared).status_code == 200


def test_unknown_paths_and_methods(served) -> None:
    assert served.post("/rerank", {}).json() == {"detail": "Not Found: POST /rerank"}
    assert served.get("/retrieve").status_code == 405
    assert httpx.options(served.url + "/retrieve", trust_env=False).status_code == 405
    assert served.get("/%00%ff").status_code == 404


def test_health_names_the_index(served, local) -> None:
    health = served.get("/health").json()
    assert (health["status"], health["server"], health["backend"]) == ("ok", "toolenvs", "bm25")
    assert (health["passages"], health["fingerprint"]) == (local.size, local.fingerprint)
    assert served.post("/retrieve", GOOD).headers["x-toolenvs-index"] == local.fingerprint


def test_metrics_count_what_happened(served) -> None:
    before = served.metrics()
    served.post("/retrieve", {"queries": ["asked by no other test", "nor this"], "topk": 2})
    served.post("/retrieve", {"queries": ["asked by no other test"], "topk": 2})
    served.post("/retrieve", {})
    after = served.metrics()
    grown = {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}
    assert grown['toolenvs_search_queries_total{source="index"}'] == 2
    assert grown['toolenvs_search_queries_total{source="cache"}'] == 1
    assert grown['toolenvs_search_requests_total{code="200",path="/retrieve"}'] == 2
    assert grown['toolenvs_search_requests_total{code="422",path="/retrieve"}'] == 1
    assert after["toolenvs_search_queued"] == 0


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200), st.booleans())
def test_bytes_that_are_no_http(served, noise: bytes, headed: bool) -> None:
    head = HEAD + b"Connection: close\r\n" if headed else b""
    with connected(served.port) as connection:
        connection.sendall(head + noise + b"\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        answer = received(connection)
    assert not answer or answer.startswith(b"HTTP/1.1 4"), answer
    assert served.process.poll() is None


def test_too_much_of_anything_is_not_read(start) -> None:
    with start("--max-body-mb", "1") as served:
        assert served.post("/retrieve", {"queries": ["x" * (1 << 20)]}).status_code == 413
        with connected(served.port) as connection:  # announced, never sent
            connection.sendall(HEAD + b"Content-Length: 99999999999\r\n\r\n")
            assert received(connection).startswith(b"HTTP/1.1 413")
        with connected(served.port) as connection:  # not announced, sent in chunks without end
            send(connection, HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
            send(connection, b"10000\r\n" + b" " * 65536 + b"\r\n", 40)
            assert received(connection)[:12] in (b"HTTP/1.1 413", b"")  # b"": reset by what was still on its way
        for opening, more in (
            (b"POST /", b"x" * 1000),  # a path without end
            (HEAD + b"X: ", b"x" * 1000),  # a header without end
            (HEAD, b"X: " + b"x" * 1000 + b"\r\n"),  # headers without end
            (HEAD + b"Transfer-Encoding: chunked\r\n\r\n0\r\n", b"X: " + b"x" * 1000 + b"\r\n"),  # trailers
            (HEAD + b"Transfer-Encoding: chunked\r\n\r\n1", b";x=" + b"x" * 1000),  # what a chunk says of itself
        ):
            with connected(served.port) as connection:
                send(connection, opening)
                send(connection, more, 16 * MAX_OVERHEAD_BYTES // 1000)
                answer = received(connection)
                assert not answer or answer.startswith(b"HTTP/1.1 4"), answer
        assert served.post("/retrieve", GOOD).status_code == 200


def test_requests_may_follow_without_waiting(served) -> None:
    """Pipelining: the answers come whole and in order."""
    body = json.dumps(GOOD).encode()
    one = HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body
    last = one.replace(b"Host: x\r\n", b"Host: x\r\nConnection: close\r\n")
    with connected(served.port) as connection:
        connection.sendall(one * 20 + last)
        answers = received(connection)
    assert answers.count(b"HTTP/1.1 200 OK") == answers.count(b'{"result": [[') == 21


def test_a_connection_that_asks_nothing_is_closed() -> None:
    """On the protocol itself, with short limits."""
    check_patience(quick.protocol(0.3), (b"", b"\r\n", b"GET / HTTP/1.1\r\nX: "))


def test_a_token_is_asked_for(start, local) -> None:
    from toolenvs import retrieval
    from toolenvs.errors import RetrievalError

    with start(token="s3cret") as served:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "Basic s3cret"}):
            for path in ("/retrieve", "/queries", "/access"):
                assert served.post(path, GOOD, headers=headers).status_code == 401
        assert served.get("/metrics").status_code == 401
        assert served.get("/health").status_code == 200
        assert served.post("/retrieve", GOOD, headers={"Authorization": "Bearer s3cret"}).status_code == 200
        with retrieval.open(served.url, token="s3cret") as client:
            assert client.search(["novel"], 2) == local.search(["novel"], 2)
        with retrieval.open(served.url, token="") as client, pytest.raises(RetrievalError, match="asked once.*401"):
            client.search(["novel"], 2)


def test_sigterm_ends_it_well(start) -> None:
    with start() as served:
        assert served.post("/retrieve", GOOD).status_code == 200
        assert served.end() == 0
        with pytest.raises(httpx.ConnectError):
            served.get("/health")
