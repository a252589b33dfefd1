"""Agents: people, endpoints on loopback, and engines."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

import toolenvs
from toolenvs.agents.human import Human
from toolenvs.agents.openai import OpenAIChat
from toolenvs.agents.scripted import Scripted
from toolenvs.errors import ConfigError
from toolenvs.rollout import Request, collect, run_episode
from toolenvs.tasks.task import Task


def _lines(text: str) -> Any:
    rest = iter(text.split("\n"))

    def read_line() -> str:
        try:
            return next(rest)
        except StopIteration:
            raise EOFError from None

    return read_line


async def test_a_person_plays() -> None:
    typed = "let me see\n<code>\nprint(6 * 7)\n</code>\nit is\n\\boxed{42}\n."
    blueprint = toolenvs.load("ReTool-v0")
    trajectory = await run_episode(blueprint, Human(_lines(typed)), blueprint.tasks[0])
    assert trajectory.calls[0].result == "42"
    assert trajectory.transcript.policy_text(2) == "it is\n\\boxed{42}"
    with pytest.raises(EOFError):
        await run_episode(blueprint, Human(_lines("half a turn")), blueprint.tasks[0])


class Endpoint(HTTPServer):
    """Answers chat requests from a script: a number is an HTTP status, bytes are a whole body, a pair is both."""

    def __init__(self, script: list[Any]) -> None:
        self.script = script
        self.bodies: list[dict[str, Any]] = []
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        answer = self.server.script.pop(0)
        status, answer = answer if isinstance(answer, tuple) else (answer if isinstance(answer, int) else 200, answer)
        if isinstance(answer, bytes):
            body = answer
        else:
            choice = {"message": {"content": answer}, "finish_reason": "stop"}
            body = json.dumps({"choices": [choice]} if status == 200 else {"error": "busy"}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None: ...


@pytest.fixture
def endpoint() -> Iterator[Any]:
    servers: list[Endpoint] = []

    def start(script: list[Any]) -> Endpoint:
        server = Endpoint(script)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


async def test_an_endpoint_plays_and_its_stop_string_is_written_again(endpoint: Any) -> None:
    server = endpoint(["hm <code>\nprint(6 * 7)\n", 503, "\\boxed{42}"])
    agent = OpenAIChat("m", f"http://127.0.0.1:{server.server_port}/v1", api_key="k", max_turn_tokens=99)
    blueprint = toolenvs.load("ReTool-v0")
    trajectory = await run_episode(blueprint, agent, blueprint.tasks[0])
    assert trajectory.calls[0].result == "42"
    assert trajectory.ending == "answer"
    first, _, last = server.bodies
    assert first["stop"] == ["</code>"]
    assert first["max_tokens"] == 99
    assert "continue_final_message" not in first
    assert last["continue_final_message"] is True
    assert last["messages"][-1]["content"].endswith("</interpreter>\n\n")


@pytest.mark.parametrize(("left", "asked"), [(None, 99), (500, 99), (7, 7), (0, 1)])
async def test_no_more_tokens_are_asked_for_than_are_left(endpoint: Any, left: int | None, asked: int) -> None:
    server = endpoint(["x"])
    agent = OpenAIChat("m", f"http://127.0.0.1:{server.server_port}/v1", max_turn_tokens=99)
    request = Request(
        key="k", task=Task(id="t", question=""), turn=1, text="q", messages=[{"role": "user", "content": "q"}],
        last_result="", calls=0, reading=False, ids=None, stop=(), max_new_tokens=left, seed=0,
    )  # fmt: skip
    await agent.act(request)
    assert server.bodies[0]["max_tokens"] == asked


def test_a_script_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigError, match="no actions: give at least one"):
        Scripted([])


async def test_an_endpoint_that_refuses_is_infrastructure(endpoint: Any) -> None:
    server = endpoint([400])
    agent = OpenAIChat("m", f"http://127.0.0.1:{server.server_port}/v1")
    blueprint = toolenvs.load("ReTool-v0")
    trajectory = await run_episode(blueprint, agent, blueprint.tasks[0])
    assert trajectory.failed
    assert trajectory.fault is not None
    assert "status 400" in trajectory.fault


async def test_a_conversation_longer_than_the_model_reads_is_the_agents_failure(endpoint: Any) -> None:
    told = b'{"error": {"message": "This model\'s maximum context length is 64 tokens.", "code": null}}'
    server = endpoint([(400, told)])
    agent = OpenAIChat("m", f"http://127.0.0.1:{server.server_port}/v1")
    blueprint = toolenvs.load("ReTool-v0")
    trajectory = await run_episode(blueprint, agent, blueprint.tasks[0])
    assert (trajectory.ending, trajectory.success) == ("agent", 0.0)
    assert (trajectory.fault or "").startswith(
        "the conversation is longer than the model reads: m gave no message: sta"
    )


async def test_tokens_are_counted_where_the_endpoint_tells_them(endpoint: Any) -> None:
    body = b'{"choices": [{"message": {"content": "\\\\boxed{1}"}}], "usage": %s}'
    usages = [b'{"prompt_tokens": 7, "completion_tokens": 3}', b'{"prompt_tokens": "7"}', b"[]", b"null"]
    server = endpoint([body % usage for usage in usages])
    agent = OpenAIChat("m", f"http://127.0.0.1:{server.server_port}/v1")
    blueprint = toolenvs.load("ReTool-v0")
    told = [await run_episode(blueprint, agent, blueprint.tasks[0]) for _ in usages]
    assert [(t.prompt_tokens, t.completion_tokens) for t in told] == [(7, 3)] + [(None, None)] * 3


async def test_an_endpoint_that_is_not_there_is_infrastructure(endpoint: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("toolenvs.endpoint._FIRST_WAIT_S", 0.0)
    server = endpoint([])
    port = server.server_port
    server.shutdown()
    server.server_close()
    blueprint = toolenvs.load("ReTool-v0")
    trajectory = await run_episode(blueprint, OpenAIChat("m", f"http://127.0.0.1:{port}/v1"), blueprint.tasks[0])
    assert trajectory.failed


@pytest.mark.parametrize(
    "body",
    [
        b'{"error": "x"}', b'{"choices": []}', b'{"choices": [{"message": null}]}', b'{"choices": null}', b"[]", b"7",
        b'{"choices": [{"message": {"content": 7}}]}', b'{"choices": [{"message": {"content": ["a"]}}]}',
    ],
)  # fmt: skip
async def test_a_reply_without_a_message_is_infrastructure(endpoint: Any, body: bytes) -> None:
    server = endpoint([body])
    agent = OpenAIChat("m", f"http://127.0.0.1:{server.server_port}/v1")
    blueprint = toolenvs.load("ReTool-v0")
    (trajectory,) = await collect(blueprint, agent, [blueprint.tasks[0]], retries=0)
    assert trajectory.failed
    assert trajectory.fault is not None
    assert "answered without a message" in trajectory.fault


async def test_what_is_no_json_is_asked_for_again(endpoint: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("toolenvs.endpoint._FIRST_WAIT_S", 0.0)
    server = endpoint([b"<html>", b"\xff", 520, "\\boxed{42}", *[b"<html>"] * 4])
    agent = OpenAIChat("m", f"http://127.0.0.1:{server.server_port}/v1")
    blueprint = toolenvs.load("ReTool-v0")
    assert (await run_episode(blueprint, agent, blueprint.tasks[0])).ending == "answer"
    failed = await run_episode(blueprint, agent, blueprint.tasks[0])
    assert failed.fault == "m gave no message: it is no JSON: '<html>'"


async def test_half_a_surrogate_pair_is_replaced(endpoint: Any) -> None:
    server = endpoint([b'{"choices": [{"message": {"content": "a\\ud800 \\ud83d\\ude00 \\\\boxed{42}"}}]}'])
    agent = OpenAIChat("m", f"http://127.0.0.1:{server.server_port}/v1")
    blueprint = toolenvs.load("ReTool-v0")
    trajectory = await run_episode(blueprint, agent, blueprint.tasks[0])
    assert trajectory.transcript.policy_text(1) == "a\ufffd \U0001f600 \\boxed{42}"


async def test_no_content_is_an_empty_turn(endpoint: Any) -> None:
    server = endpoint([b'{"choices": [{"message": {"content": null}, "finish_reason": "length"}]}'])
    agent = OpenAIChat("m", f"http://127.0.0.1:{server.server_port}/v1")
    blueprint = toolenvs.load("ReTool-v0")
    trajectory = await run_episode(blueprint, agent, blueprint.tasks[0])
    assert (trajectory.ending, trajectory.failed) == ("length", False)
