"""`toolenvs eval` with scripts and with a tiny model."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from toolenvs.rollout import read_trajectories


def _row(output: str, name: str) -> str:
    (line,) = [line for line in output.splitlines() if name in line]
    return " ".join(line.partition(name)[2].replace("│", " ").split())


def test_the_oracle_solves_every_task(run) -> None:
    result = run("eval", "ReTool-v0", "--agent", "oracle", "--tasks", 3, "--n", 2)
    assert result.exit_code == 0
    assert _row(result.output, "success") == "1.000 (95 %: 0.439 to 1.000)"
    assert _row(result.output, "pass@2") == "1.000"
    assert _row(result.output, "calls per episode") == "1.00 (0.0% failed)"
    assert _row(result.output, "endings") == "answer 6"
    assert _row(result.output, "infrastructure failures") == "0"


def test_a_function_acts_and_its_episodes_are_written(run, script: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ("eval", "ReTool-v0", "--agent", f"{script}:half", "--tasks", 4, "--set", "reward=[]", "--out", out)
    result = run(*arguments)
    assert result.exit_code == 0
    assert _row(result.output, "success").startswith("0.500 ")
    trajectories = list(read_trajectories(out / "trajectories.jsonl"))
    assert sorted(t.task for t in trajectories) == [f"number_theory/test/0/{index}" for index in range(4)]
    summary = json.loads((out / "summary.json").read_text())
    assert summary["measures"]["success"] == 0.5
    assert summary["measures"]["reward"] == 0
    assert summary["setting"]["agent"] == f"{script}:half"
    assert summary["setting"]["overrides"] == {"reward": [], "tasks.split": "test"}
    again = run(*arguments)
    assert again.exit_code == 2
    assert "holds an evaluation already" in again.stderr


def test_infrastructure_failures_are_not_failures(run, script: str) -> None:
    result = run("eval", "ReTool-v0", "--agent", f"{script}:broken", "--tasks", 4)
    assert result.exit_code == 0
    assert _row(result.output, "success").startswith("1.000 ")
    assert _row(result.output, "episodes") == "2 of 2 tasks"
    assert _row(result.output, "infrastructure failures") == "2"
    assert "first infrastructure failure: the endpoint is silent" in result.stderr


def test_split_and_seed_are_passed_on(run, tmp_path: Path) -> None:
    result = run("eval", "ReTool-v0", "--agent", "oracle", "--tasks", 1, "--split", "train", "--out", tmp_path / "o")
    assert result.exit_code == 0
    (trajectory,) = read_trajectories(tmp_path / "o" / "trajectories.jsonl")
    assert trajectory.task == "number_theory/train/0/0"


def test_a_model_folder_samples_tokens(run, tmp_path: Path) -> None:
    from toolenvs.train.policy import save_policy
    from toolenvs.train.tiny.model import build_model
    from toolenvs.train.tiny.tokenizer import build_tokenizer

    tokenizer = build_tokenizer()
    model = save_policy(tmp_path / "model", build_model(tokenizer, 0), tokenizer)
    out = tmp_path / "out"
    result = run(
        "eval", "ReTool-v0", "--agent", model, "--tasks", 2, "--max-turn-tokens", 5, "--out", out,
        "--set", "prompt.template=plain", "--set", "prompt.user={question}",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    for trajectory in read_trajectories(out / "trajectories.jsonl"):
        assert trajectory.tokens is not None
        assert 0 < (trajectory.tokens.mask == 1).sum() <= 5 * len(trajectory.turn_rewards)


class _Endpoint(HTTPServer):
    """Answers every chat request with the same message, and keeps what it was asked."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Endpoint

    def do_POST(self) -> None:
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        body = json.dumps({"choices": [{"message": {"content": "\\boxed{none}"}, "finish_reason": "stop"}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[_Endpoint]:
    with _Endpoint() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_a_model_behind_an_endpoint(run, endpoint: _Endpoint) -> None:
    url = f"http://127.0.0.1:{endpoint.server_port}/v1"
    result = run(
        "eval", "ReTool-v0", "--agent", "openai:some/model", "--base-url", url, "--tasks", 2, "--temperature", 0.25
    )  # fmt: skip
    assert result.exit_code == 0
    assert _row(result.output, "success").startswith("0.000 ")
    assert [(body["model"], body["temperature"]) for body in endpoint.bodies] == [("some/model", 0.25)] * 2


@pytest.mark.parametrize("agent", ["solver", "called"])
def test_an_object_acts(run, script: str, agent: str) -> None:
    result = run("eval", "ReTool-v0", "--agent", f"{script}:{agent}", "--tasks", 2)
    assert result.exit_code == 0
    assert _row(result.output, "success").startswith("1.000 ")


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        ("nobody", "there is no agent 'nobody'; give oracle,"),
        ("no_such_module:act", "there is no module 'no_such_module'"),
        ("acting_script.inner:act", "there is no module 'acting_script.inner'"),
        (":act", "'' is no name of a module; an agent is"),
        (".acting_script:act", "'.acting_script' is no name of a module; an agent is"),
        ("acting_script:", "module 'acting_script' defines no ''; an agent is"),
        ("acting_script:nothing", "module 'acting_script' defines no 'nothing'; an agent is a function from a Request"),
        ("acting_script:constant", "acting_script:constant is str; an agent is"),
        ("acting_script:number", "acting_script:number gave int; an agent is"),
        ("acting_script:nothing_asked", "cannot be called with one argument, (); an agent is"),
        ("acting_script:asks_more", "cannot be called with one argument, (request, context); an agent is"),
        ("acting_script:slow", "acting_script:slow is an async function; an agent is"),
        ("acting_script:Constant", "is a class; an agent is"),
        ("acting_script:blocking", "its act() must be an async function; an agent is"),
        (
            "os:getcwd",
            "os:getcwd cannot be called with one argument, (); an agent is a function from a Request to a str",
        ),
        ("os:sep", "os:sep is str; an agent is"),
    ],
)
def test_agents_that_cannot_act(run, script: str, agent: str, told: str) -> None:
    result = run("eval", "ReTool-v0", "--agent", agent, "--tasks", 2)
    assert result.exit_code == 2
    assert told in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_bug_of_the_script_keeps_its_traceback(run, script: str) -> None:
    result = run("eval", "ReTool-v0", "--agent", f"{script}:fault", "--tasks", 1)
    assert isinstance(result.exception, ExceptionGroup)
    assert isinstance(result.exception.exceptions[0], KeyError)
