"""Sessions over HTTP: ids are chosen by clients, runs are numbered, so that a request may be sent again."""

import secrets
from typing import Any

import httpx
import pytest


class Client:
    def __init__(self, served: Any) -> None:
        self.served = served
        self.key = secrets.token_hex(16)

    def put(self, key: str = "", **body: object) -> httpx.Response:
        return httpx.put(f"{self.served.url}/v1/sessions/{key or self.key}", json=body, timeout=60, trust_env=False)

    def run(self, number: object, code: str, key: str = "", **more: object) -> httpx.Response:
        body = {"number": number, "code": code, **more}
        return self.served.post(f"/v1/sessions/{key or self.key}/run", body)

    def out(self, number: int, code: str, key: str = "") -> str:
        response = self.run(number, code, key)
        assert response.status_code == 200, response.text
        return response.json()["run_result"]["stdout"]

    def fork(self, copy: str) -> httpx.Response:
        return self.served.post(f"/v1/sessions/{self.key}/fork", {"copy": copy})

    def delete(self) -> int:
        return httpx.delete(f"{self.served.url}/v1/sessions/{self.key}", timeout=60, trust_env=False).status_code


@pytest.fixture
def client(served) -> Any:
    client = Client(served)
    assert client.put().status_code == 200
    yield client
    assert client.delete() == 204


def test_state_lasts(client) -> None:
    assert client.out(1, "x = 40") == ""
    assert client.out(2, "print(x + 2)") == "42\n"


def test_a_run_that_is_sent_again_does_not_run_again(client) -> None:
    assert client.out(1, "x = 0; print(x)") == "0\n"
    assert [client.out(2, "x += 1; print(x)") for _ in range(3)] == ["1\n"] * 3
    assert client.out(3, "print(x)") == "1\n"
    assert client.run(2, "x += 1").status_code == 409


def test_a_run_goes_on_when_its_client_goes_away_and_can_be_asked_for(client) -> None:
    body = {"number": 1, "code": "import time; time.sleep(1); x = 7; print('slept')"}
    url = f"{client.served.url}/v1/sessions/{client.key}/run"
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(url, json=body, timeout=0.3, trust_env=False)
    assert client.run(2, "print(x)").status_code == 409  # the first one goes on
    assert client.served.post(f"/v1/sessions/{client.key}/run", body).json()["run_result"]["stdout"] == "slept\n"
    assert client.out(2, "print(x)") == "7\n"


def test_making_one_twice_makes_one(client) -> None:
    client.out(1, "x = 1")
    assert client.put().status_code == 200
    assert client.out(2, "print(x)") == "1\n"


def test_copies(client) -> None:
    client.out(1, "x = 1")
    copy = secrets.token_hex(16)
    assert client.fork(copy).status_code == client.fork(copy).status_code == 200
    client.out(2, "x = 2")
    assert client.out(1, "print(x)", key=copy) == "1\n"
    client.out(3, "file = open('f', 'w')")
    assert "open files" in client.fork(secrets.token_hex(16)).json()["detail"]["fork"]
    assert httpx.delete(f"{client.served.url}/v1/sessions/{copy}", trust_env=False).status_code == 204
    assert client.run(2, "1", key=copy).status_code == 404


@pytest.mark.parametrize("key", ["x", "A" * 32, "0" * 31, "0" * 33, "%2e%2e", "0" * 31 + "%0a"])
def test_ids_are_random_hexadecimal(served, key: str) -> None:
    assert Client(served).put(key).status_code == 422


def test_what_is_not_there(served) -> None:
    client = Client(served)
    response = client.run(1, "1")
    assert (response.status_code, response.json()["detail"][:15]) == (404, "no such session")
    assert client.fork(secrets.token_hex(16)).status_code == 404
    assert client.delete() == 204
    assert client.put().status_code == 409  # a beginning that comes after the end begins nothing


@pytest.mark.parametrize("number", [None, 0, -1, 1.5, "1", True])
def test_runs_are_counted_from_one(client, number: object) -> None:
    assert client.run(number, "1").status_code == 422


def test_the_seed_decides(served) -> None:
    first, second = Client(served), Client(served)
    for client in (first, second):
        client.put(seed=5)
    code = "import random; print(random.random())"
    assert first.out(1, code) == second.out(1, code) != first.out(2, code)
    assert {first.delete(), second.delete()} == {204}


def test_there_are_only_so_many_and_idle_ones_end(start) -> None:
    with start("--max-sessions", "2", "--session-idle-s", "6") as served:
        clients = [Client(served) for _ in range(3)]
        assert [client.put().status_code for client in clients] == [200, 200, 429]
        while served.get("/metrics").text.splitlines()[-1] != "toolenvs_sandbox_sessions 0":
            assert served.process.poll() is None
        assert clients[0].run(1, "1").status_code == 404
        assert clients[2].put().status_code == 200
