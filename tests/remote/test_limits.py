"""What the server lets in: tokens, limits, web pages, and bytes of any kind."""

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys
from typing import Any

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect as connect_socket

import toolenvs
from toolenvs.errors import ConfigError

BEGIN = {"page": "ReTool-v0", "overrides": {}, "task": 0, "seed": 0}
CODE = "<code>\n```python\nprint(6*7)\n```\n</code>"


class Client:
    def __init__(self, url: str, token: str = "") -> None:
        self.url = url
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    def send(self, method: str, path: str, body: Any = None, **more: Any) -> httpx.Response:
        headers = {**self.headers, **more.pop("headers", {})}
        return httpx.request(method, self.url + path, json=body, headers=headers, timeout=60, trust_env=False, **more)

    def begin(self, key: str = "", **more: Any) -> httpx.Response:
        return self.send("PUT", f"/v1/sessions/{key or secrets.token_hex(16)}", BEGIN | more)


def test_by_hand_over_http(served: Any) -> None:
    client, key = Client(served.url), secrets.token_hex(16)
    path = f"/v1/sessions/{key}"
    begun = client.begin(key)
    assert begun.json()["transcript"][0][0] == "prompt"
    assert client.begin(key).json() == begun.json()
    told = client.send("POST", f"{path}/step", {"number": 1, "action": CODE}).json()
    assert told["turn"]["observation"] == "\n<interpreter>\n42</interpreter>\n\n" or "42" in told["turn"]["observation"]
    assert "42" in client.send("GET", f"{path}/render?mode=html").json()["text"]
    assert client.send("GET", f"{path}/render?mode=pdf").status_code == 422
    other = secrets.token_hex(16)
    assert client.send("PUT", f"/v1/sessions/{other}", BEGIN | {"instead_of": key}).status_code == 200
    assert client.send("POST", f"{path}/step", {"number": 2, "action": CODE}).status_code == 404
    assert client.send("DELETE", f"/v1/sessions/{other}").json() == {}
    assert client.send("DELETE", f"/v1/sessions/{other}").status_code == 200
    assert client.send("POST", "/v1/heartbeat", {"sessions": [other]}).json() == {"gone": [other]}


def test_web_pages_are_refused_over_http_too(served: Any) -> None:
    """One whose name was rebound to this address is of one origin with it, and may send what it likes."""
    client, key = Client(served.url), secrets.token_hex(16)
    for method, path in (("PUT", f"/v1/sessions/{key}"), ("POST", "/v1/describe"), ("DELETE", f"/v1/sessions/{key}")):
        refused = client.send(method, path, BEGIN, headers={"Origin": "http://evil.example"})
        assert (refused.status_code, "Origin" in refused.json()["detail"]) == (403, True)


def test_a_number_that_is_too_large_is_the_clients_fault(served: Any) -> None:
    overrides = {"reward.outcome.correct": 10**400}
    told = Client(served.url).send("POST", "/v1/describe", {"page": "ReTool-v0", "overrides": overrides})
    assert (told.status_code, told.json()["detail"]["error"]) == (422, "PageError")


def test_overrides_however_deep_are_the_clients_fault(served: Any) -> None:
    client = Client(served.url)
    for depth in range(900, 1010, 2):
        content = '{"page": "ReTool-v0", "overrides": {"tasks": ' + '{"a":' * depth + "1" + "}" * depth + "}}"
        headers = {"Content-Type": "application/json"}
        assert client.send("POST", "/v1/describe", content=content, headers=headers).status_code in (400, 422), depth


def test_health_and_metrics(served: Any) -> None:
    health = Client(served.url).send("GET", "/health").json()
    assert (health["status"], health["server"], health["tokenizer"]) == ("ok", "toolenvs", None)
    assert "ReTool-v0" in health["pages"]
    assert "budget.*" in health["allow"]
    text = Client(served.url).send("GET", "/metrics").text
    for name in (
        "sessions ",
        "turns_total",
        "turn_seconds_bucket",
        "running ",
        "queued ",
        "sessions_expired ",
        "sockets ",
    ):
        assert f"toolenvs_env_{name}" in text


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("PUT", "/v1/sessions/short", BEGIN, 422),
        ("PUT", "/v1/sessions/{key}", {}, 422),
        ("PUT", "/v1/sessions/{key}", [], 422),
        ("PUT", "/v1/sessions/{key}", BEGIN | {"task": -1}, 422),
        ("PUT", "/v1/sessions/{key}", BEGIN | {"task": 10**9}, 422),
        ("PUT", "/v1/sessions/{key}", BEGIN | {"task": None}, 200),
        ("PUT", "/v1/sessions/{key}", BEGIN | {"task": {}}, 422),
        ("PUT", "/v1/sessions/{key}", BEGIN | {"seed": "x"}, 422),
        ("PUT", "/v1/sessions/{key}", BEGIN | {"progress": 2}, 422),
        ("PUT", "/v1/sessions/{key}", BEGIN | {"overrides": []}, 422),
        ("PUT", "/v1/sessions/{key}", BEGIN | {"overrides": {"max_turns": -1}}, 422),
        ("PUT", "/v1/sessions/{key}", BEGIN | {"page": "../../etc/passwd"}, 403),
        ("PUT", "/v1/sessions/{key}", BEGIN | {"page": 3}, 422),
        ("POST", "/v1/sessions/{key}/step", {"number": 1, "action": ""}, 404),
        ("POST", "/v1/sessions/{key}/step", {"number": 0, "action": ""}, 422),
        ("POST", "/v1/sessions/{key}/step", {"action": ""}, 422),
        ("POST", "/v1/sessions/{key}/step", {"number": 1, "action": 1}, 422),
        ("POST", "/v1/sessions/{key}/step", {"number": 1, "action": "", "tokens": -1}, 422),
        ("POST", "/v1/sessions/{key}/fork", {"copy": "0" * 32}, 404),
        ("GET", "/v1/sessions/{key}/render", None, 404),
        ("POST", "/v1/tasks", {"page": "ReTool-v0", "count": 10**6}, 422),
        ("POST", "/v1/tasks", {"page": "ReTool-v0", "id": "nothing"}, 422),
        ("POST", "/v1/heartbeat", {"sessions": "all"}, 422),
        ("GET", "/v1/socket", None, 404),
        ("GET", "/elsewhere", None, 404),
        ("GET", "/v1/describe", None, 405),
    ],
)
def test_bad_requests_are_told_and_leave_nothing(served: Any, method: str, path: str, body: Any, status: int) -> None:
    before = served.sessions
    key = secrets.token_hex(16)
    response = Client(served.url).send(method, path.format(key=key), body)
    assert (response.status_code, bool(response.json())) == (status, True), response.text
    Client(served.url).send("DELETE", f"/v1/sessions/{key}")
    assert served.sessions == before


def test_a_fork_of_nothing_and_to_a_bad_id(served: Any) -> None:
    client, key = Client(served.url), secrets.token_hex(16)
    client.begin(key)
    assert client.send("POST", f"/v1/sessions/{key}/fork", {"copy": "x"}).status_code == 422
    assert client.send("POST", f"/v1/sessions/{key}/fork", {}).status_code == 422
    client.send("DELETE", f"/v1/sessions/{key}")


def test_a_wrong_turn_of_an_ended_episode_is_refused_the_same_each_time(served: Any) -> None:
    client, key = Client(served.url), secrets.token_hex(16)
    client.begin(key)
    path = f"/v1/sessions/{key}/step"
    client.send("POST", path, {"number": 1, "action": "<answer>\\boxed{1}</answer>"})
    refused = [client.send("POST", path, {"number": 2, "action": ""}) for _ in range(2)]
    assert [response.status_code for response in refused] == [422, 422]
    assert refused[0].json() == refused[1].json()
    assert refused[0].json()["detail"]["error"] == "TaskError"
    client.send("DELETE", f"/v1/sessions/{key}")


def test_a_token_is_asked_for_on_every_way(serve: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with serve(token="s3cret") as served:
        for token in ("", "wrong", "s3cre", "ü"):
            headers = {"Authorization": f"Bearer {token}".strip().encode()}
            assert Client(served.url).send("POST", "/v1/describe", BEGIN, headers=headers).status_code == 401
            assert Client(served.url).send("GET", "/metrics", headers=headers).status_code == 401
        assert Client(served.url).send("GET", "/health").status_code == 200
        for transport in ("websocket", "http"):
            for wrong in ("", "wrong"):
                with pytest.raises(ConfigError, match="401.*wants its token"):
                    toolenvs.connect(served.url, "ReTool-v0", transport=transport, token=wrong)
            monkeypatch.setenv("TOOLENVS_ENV_TOKEN", "s3cret")
            env = toolenvs.connect(served.url, "ReTool-v0", transport=transport)
            env.reset(seed=0)
            env.close()
            monkeypatch.delenv("TOOLENVS_ENV_TOKEN")


def test_web_pages_get_no_socket(served: Any) -> None:
    url = served.url.replace("http", "ws") + "/v1/socket"
    with pytest.raises(InvalidStatus) as refused, connect_socket(url, origin="http://evil.example", proxy=None):
        pass
    assert refused.value.response.status_code == 403
    body = json.dumps(BEGIN)
    headers = {"Content-Type": "text/plain"}
    assert httpx.post(f"{served.url}/v1/describe", content=body, headers=headers, trust_env=False).status_code == 415


def test_a_socket_takes_any_message(served: Any) -> None:
    url = served.url.replace("http", "ws") + "/v1/socket"
    with connect_socket(url, proxy=None) as socket:
        for message, status in (
            ("no json", 400),
            ("[]", 400),
            ("{}", 422),
            ("[" * 100_000, 400),
            (json.dumps({"id": 1, "operation": "nothing"}), 422),
            (json.dumps({"id": 1, "operation": ["step"]}), 422),
            (json.dumps({"id": 1, "operation": "step", "session": 3}), 422),
            (json.dumps({"id": 1, "operation": "step", "session": "x", "body": 3}), 422),
            (json.dumps({"id": 1, "operation": "begin", "session": "x", "body": BEGIN}), 422),
            (json.dumps({"id": 1, "operation": "heartbeat", "body": {"sessions": []}}), 200),
        ):
            socket.send(message)
            assert json.loads(socket.recv())["status"] == status, message[:80]
    with connect_socket(url, proxy=None) as socket:
        socket.send(b"bytes")
        with contextlib.suppress(Exception):
            socket.recv()
    assert Client(served.url).send("GET", "/health").status_code == 200


def test_bodies_and_messages_are_bounded(serve: Any) -> None:
    with serve(max_body_bytes=10_000) as served:
        big = {"number": 1, "action": "x" * 20_000}
        assert Client(served.url).send("POST", f"/v1/sessions/{'0' * 32}/step", big).status_code == 413
        with connect_socket(served.url.replace("http", "ws") + "/v1/socket", proxy=None) as socket:
            socket.send(json.dumps({"id": 1, "operation": "step", "session": "0" * 32, "body": big}))
            with pytest.raises(Exception, match="1009"):
                socket.recv()


def test_past_the_sessions_comes_429(serve: Any) -> None:
    with serve(max_sessions=2) as served:
        client = Client(served.url)
        assert [client.begin().status_code for _ in range(3)] == [200, 200, 429]
        assert client.begin().headers["retry-after"] == "2"
    with serve(max_sessions_per_client=1) as served:
        keys = [secrets.token_hex(16) for _ in range(2)]
        client = Client(served.url)
        assert [client.begin(key).status_code for key in keys] == [200, 429]
        copy = {"copy": keys[1]}
        assert client.send("POST", f"/v1/sessions/{keys[0]}/fork", copy).status_code == 429
        assert client.begin(keys[1], instead_of=keys[0]).status_code == 200


def test_a_client_waits_for_room(serve: Any) -> None:
    with serve(max_sessions=1) as served:
        first, second = toolenvs.connect(served.url, "ReTool-v0"), toolenvs.connect(served.url, "ReTool-v0")
        first.reset(seed=0)
        import threading

        threading.Timer(0.2, first.close).start()
        assert second.reset(seed=0)[0]
        second.close()


def test_environments_are_kept_until_there_is_no_room(serve: Any) -> None:
    with serve(max_envs=2) as served:
        client, key = Client(served.url), secrets.token_hex(16)
        for turns in (1, 2, 3, 1):
            told = client.send("POST", "/v1/describe", {"page": "ReTool-v0", "overrides": {"max_turns": turns}})
            assert told.json()["page"]["budget"]["max_turns"] == turns
            assert served.metric("environments") <= 2
        assert client.begin(key, overrides={"max_turns": 5}).status_code == 200
        assert client.begin(overrides={"max_turns": 6}).status_code == 200
        assert client.begin(overrides={"max_turns": 7}).status_code == 429
        client.send("DELETE", f"/v1/sessions/{key}")
        assert client.begin(overrides={"max_turns": 7}).status_code == 200


def test_only_the_pages_that_are_served(serve: Any, tmp_path: Any) -> None:
    page = tmp_path / "Mine-v0.toml"
    page.write_text((toolenvs.assets.page_files()["ReTool-v0"]).read_text("utf-8"), "utf-8")
    with serve(pages=(str(page), "SQL-v0"), allow=()) as served:
        assert Client(served.url).send("GET", "/health").json()["pages"] == ["Mine-v0", "SQL-v0"]
        assert str(tmp_path) not in Client(served.url).send("POST", "/v1/describe", {"page": "Mine-v0"}).text
        for name, status in (("Mine-v0", 200), ("ReTool-v0", 403), (str(page), 403)):
            assert Client(served.url).send("POST", "/v1/describe", {"page": name}).status_code == status
        refused = Client(served.url).send("POST", "/v1/describe", {"page": "Mine-v0", "overrides": {"max_turns": 1}})
        assert "it lets: nothing" in refused.json()["detail"]["message"]


def test_a_tool_that_does_not_work_there_is_told_as_infrastructure(serve: Any) -> None:
    from toolenvs.errors import InfrastructureError

    with serve(allow=("tools.search.index", "tools.search.backend")) as served:
        dead = {"tools.search.index": "http://127.0.0.1:9/retrieve"}
        with pytest.raises(InfrastructureError):
            toolenvs.connect(served.url, "SearchR1-v0", **dead)


def test_the_command_serves_and_ends_on_sigterm(tmp_path: Any) -> None:
    command = [sys.executable, "-c", "from toolenvs.cli import main; main()", "serve", "env", "--page", "ReTool-v0"]
    environment = {**os.environ, "TOOLENVS_ENV_TOKEN": "s3cret"}
    with subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[-1]
        env = toolenvs.connect(url, "ReTool-v0", token="s3cret", deadline_s=2.0)
        env.reset(seed=0)
        assert "42" in env.step(CODE)[0]
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert env.step(CODE)[4]["ending"] == "infrastructure"
        env.close()
