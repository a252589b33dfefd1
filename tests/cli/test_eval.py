"""`toolenvs eval` with scripts and with a tiny model."""

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from toolenvs.rollout import read_trajectories


def _row(output: str, name: str) -> str:
    """The value of that measure, or the other cells of the row of that page."""
    cells = [[cell.strip() for cell in line.strip("│┃ ").split("│")] for line in output.splitlines()]
    (row,) = [row for row in cells if row[0] == name]
    return " ".join(" ".join(row[1:]).split())


def test_the_oracle_solves_every_task(run) -> None:
    result = run("eval", "ReTool-v0", "--agent", "oracle", "--tasks", 3, "--n", 2)
    assert result.exit_code == 0
    assert _row(result.output, "success") == "1.000 (95 %: 0.439 to 1.000)"
    assert _row(result.output, "pass@2") == "1.000 (95 %: 1.000 to 1.000)"
    assert _row(result.output, "tool python").startswith("ok 6; ")
    assert _row(result.output, "budget turns").startswith("3% of 64 on average")
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
    assert summary["setting"]["pages"][0]["overrides"] == {"reward": [], "tasks.split": "test"}
    again = run(*arguments)
    assert (again.exit_code, again.stdout) == (0, result.stdout), "gone on with, and all of it is there"
    other = run(*arguments, "--seed", 3)
    assert other.exit_code == 2
    assert "holds a run with another seed (0, not 3)" in other.stderr


def test_infrastructure_failures_are_not_failures(run, script: str) -> None:
    result = run("eval", "ReTool-v0", "--agent", f"{script}:broken", "--tasks", 4)
    assert result.exit_code == 0
    assert _row(result.output, "success").startswith("1.000 ")
    assert _row(result.output, "episodes") == "2 of 2 tasks"
    assert _row(result.output, "infrastructure failures") == "2 (4 episodes were made again)"
    assert "first infrastructure failure: the endpoint is silent" in result.stderr


def test_several_pages_in_a_table(run, script: str, tmp_path: Path) -> None:
    result = run("eval", "ReTool-v0", "ToRL-v0", "--agent", f"{script}:solver", "--tasks", 2, "--out", tmp_path / "a")
    assert result.exit_code == 0, result.output
    assert _row(result.output, "ReTool-v0").startswith("1.000 0.342 to 1.000 1.000 1.00")
    assert _row(result.output, "all").startswith("1.000 1.000 to 1.000")
    assert (tmp_path / "a" / "table.md").read_text().startswith("| page | success |")
    result = run("compare", tmp_path / "a", tmp_path / "a", "--json", tmp_path / "c.json")
    assert result.exit_code == 0, result.output
    assert _row(result.output, "ToRL-v0").startswith("2 1.000 1.000 +0.000")
    assert [row["page"] for row in json.loads((tmp_path / "c.json").read_text())["rows"]] == [
        "ReTool-v0", "ToRL-v0", "all",
    ]  # fmt: skip


def test_several_pages_fit_a_narrow_terminal(run, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = run("eval", "ReTool-v0", "ToRL-v0", "--agent", f"{script}:broken", "--tasks", 2, "--retries", 0)
    assert result.exit_code == 0
    assert _row(result.output, "ReTool-v0") == "1.000 0.207 to 1.000 1.00 0.00 1"


def test_a_comparison_fits_a_narrow_terminal(run, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    pages = ("ReTool-v0", "DeepRetrievalLiterature-v0")
    for agent in (f"{script}:solver", "no-tool"):
        out = tmp_path / agent[-4:]
        assert run("eval", *pages, "--agent", agent, "--tasks", 2, "--out", out).exit_code == 0
    result = run("compare", tmp_path / "lver", tmp_path / "tool")
    assert result.exit_code == 0, result.output
    assert _row(result.output, "ReTool-v0") == "2 1.000 0.000 -1.000 -1.000 to -1.000 1"
    assert "…" not in result.output, "no figure is cut"


def test_the_agents_own_failures_are_told_and_count(run, script: str) -> None:
    for agent, fault in (
        ("fault", 'it raised KeyError: "a bug of the script\'s own" (acting_script.py, line'),
        ("number", "it gave int"),
    ):
        result = run("eval", "ReTool-v0", "--agent", f"{script}:{agent}", "--tasks", 3)
        assert result.exit_code == 0
        assert _row(result.output, "success").startswith("0.000 ")
        assert _row(result.output, "agent failures") == "3"
        assert f"first agent failure: {fault}" in result.stderr
        assert result.stderr.count("first agent failure") == 1


def test_a_command_acts_and_what_it_says_is_shown(run, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    agent = tmp_path / "agent.py"
    agent.write_text(
        "import json, sys\n"
        "print('at work', file=sys.stderr, flush=True)\n"
        "for line in sys.stdin:\n"
        "    print(json.dumps({'text': '\\\\boxed{none}'}), flush=True)\n"
    )
    result = run("eval", "ReTool-v0", "--agent", f"command:{sys.executable} {agent}", "--tasks", 2, "--processes", 2)
    assert result.exit_code == 0, result.output
    assert _row(result.output, "endings") == "answer 2"
    assert "agent: at work" in result.stderr


def test_a_suite_in_place_of_pages(run, tmp_path: Path) -> None:
    suite = tmp_path / "small.toml"
    suite.write_text('summary = "small"\n[[pages]]\nname = "maths"\npage = "ReTool-v0"\ntasks = 2\npage_hash = "0"\n')
    result = run("eval", "--suite", suite, "--agent", "oracle")
    assert result.exit_code == 0, result.output
    assert "maths, oracle" in result.output
    assert "warning: maths: the page ReTool-v0 changed since the suite was pinned" in result.stderr
    for more in (("--n", 2), ("--tasks", 2), ("--set", "max_calls=1"), ("--temperature", 0), ("ReTool-v0",)):
        refused = run("eval", "--suite", suite, "--agent", "oracle", *more)
        assert refused.exit_code == 2
        assert "the suite says so itself" in refused.stderr or "not both" in refused.stderr
    checked = run("suite", "check", suite)
    assert (checked.exit_code, "maths: not pinned" in checked.output) == (1, True)
    assert run("suite", "pin", suite).exit_code == 0
    assert run("suite", "check", suite).output == "small: all 1 pages and their tasks are as they were pinned\n"
    assert "toolenvs-lite" in run("suite", "list").output


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


_ANSWER = {
    "choices": [{"message": {"content": "\\boxed{none}"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 100, "completion_tokens": 10},
}


class _Endpoint(HTTPServer):
    """Answers every chat request with the same message, and keeps what it was asked."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Endpoint

    def do_POST(self) -> None:
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        body = json.dumps(_ANSWER).encode()
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
        "eval", "ReTool-v0", "--agent", "openai:some/model", "--base-url", url, "--tasks", 2, "--temperature", 0.25,
        "--price-in", 1, "--price-out", 2,
    )  # fmt: skip
    assert result.exit_code == 0
    assert _row(result.output, "success").startswith("0.000 ")
    assert [(body["model"], body["temperature"]) for body in endpoint.bodies] == [("some/model", 0.25)] * 2
    assert _row(result.output, "tokens read + written") == "200 + 20"
    assert _row(result.output, "cost in USD") == "0.0002"


@pytest.mark.parametrize(("agent", "success"), [("solver", "1.000 "), ("called", "1.000 "), ("slow", "0.000 ")])
def test_an_object_acts_and_an_asynchronous_function(run, script: str, agent: str, success: str) -> None:
    result = run("eval", "ReTool-v0", "--agent", f"{script}:{agent}", "--tasks", 2)
    assert result.exit_code == 0
    assert _row(result.output, "success").startswith(success)
    assert _row(result.output, "agent failures") == "0"


@pytest.mark.parametrize(
    ("agent", "told"),
    [
        ("nobody", "there is no agent 'nobody'; give oracle, no-tool,"),
        ("no_tool", "did you mean 'no-tool'?"),
        ("command:no-such-program", "there is no program ['no-such-program']"),
        ("no_such_module:act", "there is no module 'no_such_module'"),
        ("acting_script.inner:act", "there is no module 'acting_script.inner'"),
        (":act", "'' is no name of a module; an agent is"),
        (".acting_script:act", "'.acting_script' is no name of a module; an agent is"),
        ("acting_script:", "module 'acting_script' defines no ''; an agent is"),
        ("acting_script:nothing", "module 'acting_script' defines no 'nothing'; an agent is a function (text, info)"),
        ("acting_script:constant", "acting_script:constant is str; an agent is"),
        ("acting_script:nothing_asked", "cannot be called with text and info, (); an agent is"),
        ("acting_script:asks_more", "cannot be called with request and info, (request, context); an agent is"),
        ("acting_script:Constant", "is a class; an agent is"),
        ("acting_script:blocking", "its act() must be an async function; an agent is"),
        (
            "os:getcwd",
            "os:getcwd cannot be called with text and info, (); an agent is a function (text, info)",
        ),
        ("os:sep", "os:sep is str; an agent is"),
    ],
)
def test_agents_that_cannot_act(run, script: str, agent: str, told: str) -> None:
    result = run("eval", "ReTool-v0", "--agent", agent, "--tasks", 2)
    assert result.exit_code == 2
    assert told in result.stderr
    assert result.stderr.count("\n") == 1
