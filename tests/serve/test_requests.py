"""Whatever bytes come, the answer is a status that fits and a message that helps, and the server lives on."""

import json
import socket

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.serve.serving import connected, received, send

CODE = {"code": "print(1)", "language": "python"}
HEAD = b"POST /run_code HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


@pytest.mark.parametrize(
    ("content", "status", "message"),
    [
        (b"", 400, "no JSON"),
        (b"{", 400, "no JSON"),
        (b"\xff\xfe{}", 400, "no JSON"),
        (b"[" * 100_000, 400, "nested too deeply"),
        (b"9" * 10_000, 400, "no JSON"),
        (b"null", 422, "must be a JSON object, not null"),
        (b"[]", 422, "must be a JSON object, not a list"),
        (b"NaN", 422, "must be a JSON object, not a number"),
    ],
)
def test_bodies_that_are_no_object(served, content: bytes, status: int, message: str) -> None:
    headers = {"Content-Type": "application/json"}
    for path in ("/run_code", "/run_jupyter"):
        response = httpx.post(served.url + path, content=content, headers=headers, timeout=30, trust_env=False)
        assert response.status_code == status
        assert message in json.dumps(response.json()["detail"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"code": None}, "code"),
        ({"code": 1}, "must be a string, not a number"),
        ({"code": ["print(1)"]}, "must be a string, not a list"),
        ({"language": 3}, "only 'python'"),
        ({"language": "python3"}, "only 'python'"),
        ({"run_timeout": "soon"}, "finite number, not 'soon'"),
        ({"run_timeout": True}, "finite number"),
        ({"run_timeout": float("nan")}, "finite number"),
        ({"run_timeout": float("inf")}, "finite number"),
        ({"run_timeout": 10**400}, "finite number"),
        ({"run_timeout": 0}, "more than 0"),
        ({"run_timeout": 1e6}, "--max-timeout-s"),
        ({"memory_limit_MB": 1e6}, "--max-memory-mb"),
        ({"stdin": 5}, "must be a string"),
        ({"files": []}, "object of path: base64"),
        ({"files": {"a": 1}}, "base64"),
        ({"files": {"a": "a"}}, "base64"),
        ({"files": {"/etc/x": "aGk="}}, "below the folder"),
        ({"files": {"../x": "aGk="}}, "below the folder"),
        ({"files": {"a\0b": "aGk="}}, "below the folder"),
        ({"fetch_files": "x"}, "list of strings"),
        ({"fetch_files": ["\ud800"]}, "below the folder"),
        ({"seed": 1.5}, "whole number"),
    ],
)
def test_values_that_cannot_be(served, change: dict[str, object], message: str) -> None:
    content = json.dumps({**CODE, **change}).encode()
    headers = {"Content-Type": "application/json"}
    response = httpx.post(served.url + "/run_code", content=content, headers=headers, timeout=30, trust_env=False)
    assert response.status_code == 422
    assert message in json.dumps(response.json()["detail"])


def test_every_fault_is_told_at_once(served) -> None:
    detail = served.post("/run_code", {"run_timeout": -1}).json()["detail"]
    assert {(problem["loc"][1], problem["type"]) for problem in detail} == {
        ("code", "missing"),
        ("language", "missing"),
        ("run_timeout", "greater_than"),
    }


def test_what_others_leave_out_or_add_is_fine(served) -> None:
    ran = served.run("print(input())", stdin="x", run_timeout="5", compile_timeout=9, memory_limit_MB=-1, unheard_of=[])
    assert ran["run_result"]["stdout"] == "x\n"
    assert served.run("print(1)", stdin=None, run_timeout=None)["status"] == "Success"


def test_lone_surrogates_are_the_programs_own_fault(served) -> None:
    content = json.dumps({**CODE, "code": "print('\ud800')"}).encode()
    headers = {"Content-Type": "application/json"}
    response = httpx.post(served.url + "/run_code", content=content, headers=headers, timeout=30, trust_env=False)
    assert response.json()["status"] == "Failed"
    assert served.run("'\\ud800'")["toolenvs"]["value"] == "'\\ud800'"


def test_memory_limits_are_kept(served) -> None:
    code = "x = bytearray(700 << 20)"
    assert served.run(code, memory_limit_MB=128)["toolenvs"]["status"] == "memory"
    assert served.run(code)["toolenvs"]["status"] == "memory"
    assert served.run(code, memory_limit_MB=1024)["toolenvs"]["status"] == "ok"


def test_only_json_is_taken(served) -> None:
    """So no web page can make a browser run programs here: browsers send such only after asking."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        response = httpx.post(
            served.url + "/run_code",
            content=json.dumps(CODE),
            headers={"Content-Type": kind},
            timeout=30,
            trust_env=False,
        )
        assert response.status_code == 415
    assert httpx.options(served.url + "/run_code", trust_env=False).status_code == 405


def test_unknown_paths_and_methods(served) -> None:
    assert served.post("/submit", {}).json() == {"detail": "Not Found: POST /submit"}
    assert served.get("/run_code").status_code == 405
    assert served.get("/%00%ff").status_code == 404


def test_ping_and_health(served) -> None:
    assert served.get("/v1/ping").json() == "pong"
    health = served.get("/health").json()
    assert (health["status"], health["server"], health["sessions"]) == ("ok", "toolenvs", True)
    assert health["isolation"] in ("fork", "namespace", "hardened")


def test_metrics_count_what_happened(served) -> None:
    before = served.metrics()
    served.run("print(1)")
    served.run("1 / 0")
    served.post("/run_code", {})
    after = served.metrics()
    grown = {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}
    assert grown['toolenvs_sandbox_runs_total{status="ok"}'] == 1
    assert grown['toolenvs_sandbox_runs_total{status="error"}'] == 1
    assert grown['toolenvs_sandbox_requests_total{code="200",path="/run_code"}'] == 2
    assert grown['toolenvs_sandbox_requests_total{code="422",path="/run_code"}'] == 1
    assert grown["toolenvs_sandbox_run_seconds_count"] == 2
    assert after['toolenvs_sandbox_run_seconds_bucket{le="+Inf"}'] == after["toolenvs_sandbox_run_seconds_count"]


def test_too_large_bodies_are_not_read(start) -> None:
    with start("--max-body-mb", "1", "--max-code-chars", "1000") as served:
        response = served.post("/run_code", {**CODE, "code": "#" * 1001})
        assert (response.status_code, response.json()["detail"][:44]) == (
            413,
            "the program is longer than the 1000 characte",
        )
        assert served.post("/run_code", {**CODE, "code": "#" * (1 << 20)}).status_code == 413
        with connected(served.port) as connection:  # announced, never sent
            connection.sendall(HEAD + b"Content-Length: 99999999999\r\n\r\n")
            assert received(connection).startswith(b"HTTP/1.1 413")
        with connected(served.port) as connection:  # not announced, sent in chunks without end
            connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
            send(connection, b"10000\r\n" + b" " * 65536 + b"\r\n", 40)
            assert received(connection)[:12] in (b"HTTP/1.1 413", b"")  # b"": reset by what was still on its way
        assert served.run("print(1)")["status"] == "Success"


@settings(max_examples=60)
@given(st.binary(max_size=200), st.booleans())
def test_bytes_that_are_no_http(served, noise: bytes, headed: bool) -> None:
    head = (
        b"POST /run_code HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nConnection: close\r\n"
        if headed
        else b""
    )
    with connected(served.port) as connection:
        connection.sendall(head + noise + b"\r\n\r\n")
        connection.shutdown(socket.SHUT_WR)
        answer = received(connection)
    assert not answer or answer.startswith(b"HTTP/1.1 4"), answer
    assert served.process.poll() is None


@settings(max_examples=60)
@given(
    st.dictionaries(
        st.sampled_from(
            ["code", "language", "run_timeout", "stdin", "files", "fetch_files", "memory_limit_MB", "seed", "outputs"]
        ),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20) | st.just("python"),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
            max_leaves=5,
        ),
    )
)
def test_any_json_gets_an_answer(served, body: dict[str, object]) -> None:
    headers = {"Content-Type": "application/json"}
    content = json.dumps(body).encode()
    response = httpx.post(served.url + "/run_code", content=content, headers=headers, timeout=60, trust_env=False)
    assert response.status_code in (200, 422), response.text
    assert response.json()


def test_a_program_that_no_interpreter_can_be_given_is_told_why_it_failed(served) -> None:
    body = json.dumps({"code": "print('\ud800')", "language": "python"})
    headers = {"Content-Type": "application/json"}
    answer = httpx.post(served.url + "/run_code", content=body, headers=headers, timeout=60, trust_env=False).json()
    assert (answer["status"], answer["run_result"]["return_code"]) == ("Failed", 1)
    assert "the program holds a lone surrogate" in answer["run_result"]["stderr"]
