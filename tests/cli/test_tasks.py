"""`toolenvs tasks`: the filter as a person runs it, interrupts it and runs it again; proposals as tasks."""

import json
from pathlib import Path

import pytest

from toolenvs import tasks
from toolenvs.rollout import read_trajectories

AGENTS = '''
import os
from toolenvs.errors import EngineError

def number(request):
    return int(request.task.id.rpartition("/")[2])

def knows_some(request):
    """Knows every third answer, and wraps it in words."""
    known = number(request) % 3 == 0
    return f"I think it is {request.task.gold}." if known else "<answer>no idea</answer>"

def answers_some(request):
    right = (number(request), int(request.key.rpartition(".")[2]))
    return f"<answer>{request.task.gold if right[1] < right[0] else 'no'}</answer>"

def interrupted(request):
    if number(request) >= 3 and not os.path.exists("go"):
        raise KeyError("pulled the plug")
    return answers_some(request)

def silent(request):
    if number(request) == 1 and not os.path.exists("go"):
        raise EngineError("silent")
    return answers_some(request)
'''


@pytest.fixture
def agents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "filter_agents.py").write_text(AGENTS, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return "filter_agents"


def ids(file: Path) -> list[int]:
    return [int(json.loads(line)["id"].rpartition("/")[2]) for line in file.read_text().splitlines()]


def test_contamination(run, agents: str, tmp_path: Path) -> None:
    """As DeepResearcher filters: ten tries from memory, dropped if any response holds the gold."""
    out = tmp_path / "out"
    result = run(
        "tasks", "filter", "SearchR1-v0", "--agent", f"{agents}:knows_some", "--no-tools", "--contains",
        "--n", 10, "--tasks", 7, "--out", out,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert (ids(out / "kept.jsonl"), ids(out / "dropped.jsonl")) == ([1, 2, 4, 5], [0, 3, 6])
    report = json.loads((out / "report.json").read_text())
    assert (report["kept"], report["dropped"], report["unmeasured"]) == (4, 3, 0)
    assert report["pass_at_k"]["1"] == report["pass_at_k"]["10"] == pytest.approx(3 / 7)
    assert report["setting"]["seed"] == 0
    kept = tasks.load(out / "kept.jsonl")
    source = tasks.load("world", passages=1000, max_hops=2)
    for task in kept:
        own = source.find(task.id)
        assert (task.question, task.golds) == (own.question, own.golds)
        assert task.extra["closed_book_pass_rate"] == 0
        assert task.extra["queries"] == list(own.extra["queries"])
    assert all(not trajectory.calls for trajectory in read_trajectories(out / "trajectories.jsonl"))


def test_by_the_pages_own_judge_words_around_an_answer_do_not_count(run, agents: str, tmp_path: Path) -> None:
    result = run(
        "tasks", "filter", "SearchR1-v0", "--agent", f"{agents}:knows_some", "--no-tools", "--n", 2, "--tasks", 7,
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert result.exit_code == 0
    assert ids(tmp_path / "out" / "dropped.jsonl") == []


def test_difficulty(run, agents: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run(
        "tasks", "filter", "SearchR1-v0", "--agent", f"{agents}:answers_some", "--n", 4, "--tasks", 6,
        "--min-rate", 0.2, "--max-rate", 0.8, "--out", out,
    )  # fmt: skip
    assert result.exit_code == 0
    assert (ids(out / "kept.jsonl"), ids(out / "dropped.jsonl")) == ([1, 2, 3], [0, 4, 5])
    rows = [json.loads(line) for line in (out / "kept.jsonl").read_text().splitlines()]
    assert [(row["pass_rate"], row["difficulty"]) for row in rows] == [(0.25, "hard"), (0.5, "medium"), (0.75, "easy")]
    assert "difficulty" in result.output
    assert "unsolved 1, hard 1, medium 1, easy 1, always 2" in result.output


def test_an_interrupted_run_goes_on(run, agents: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = (
        "tasks", "filter", "SearchR1-v0", "--agent", f"{agents}:interrupted", "--n", 4, "--tasks", 6,
        "--concurrency", 1, "--out", out,
    )  # fmt: skip
    result = run(*arguments)
    assert isinstance(result.exception, ExceptionGroup)
    assert not (out / "report.json").exists()
    log = out / "trajectories.jsonl"
    first = log.read_bytes()
    assert first.count(b"\n") == 12
    with log.open("ab") as file:
        file.write(b'{"key": "torn')
    (tmp_path / "go").touch()
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert log.read_bytes().startswith(first)
    assert log.read_bytes().count(b"\n") == 24
    again = run(*arguments)
    assert again.exit_code == 0
    assert log.read_bytes().count(b"\n") == 24
    whole = run(*arguments[:-1], tmp_path / "whole")
    assert whole.exit_code == 0
    for name in ("kept.jsonl", "dropped.jsonl", "unmeasured.jsonl", "report.json"):
        assert (out / name).read_text() == (tmp_path / "whole" / name).read_text()


def test_infrastructure_leaves_a_task_unmeasured_until_it_is_measured(run, agents: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = (
        "tasks", "filter", "SearchR1-v0", "--agent", f"{agents}:silent", "--n", 2, "--tasks", 3, "--retries", 1,
        "--min-rate", 0.1, "--out", out,
    )  # fmt: skip
    result = run(*arguments)
    assert result.exit_code == 0
    assert [ids(out / f"{name}.jsonl") for name in ("kept", "dropped", "unmeasured")] == [[2], [0], [1]]
    assert "1 tasks lack tries" in result.stderr
    (tmp_path / "go").touch()
    result = run(*arguments)
    assert [ids(out / f"{name}.jsonl") for name in ("kept", "dropped", "unmeasured")] == [[1, 2], [0], []]


def test_another_rule_needs_no_new_tries_and_other_settings_another_folder(run, agents: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    common = ("tasks", "filter", "SearchR1-v0", "--agent", f"{agents}:answers_some", "--tasks", 4, "--out", out)
    assert run(*common, "--n", 2).exit_code == 0
    log = (out / "trajectories.jsonl").read_bytes()
    assert run(*common, "--n", 2, "--max-rate", 0.5).exit_code == 0
    assert ids(out / "dropped.jsonl") == [2, 3]
    assert (out / "trajectories.jsonl").read_bytes() == log
    for options, key in (
        (("--n", 3), "n"),
        (("--n", 2, "--seed", 1), "seed"),
        (("--n", 2, "--no-tools"), "tools"),
        (("--n", 2, "--set", "topk=2"), "overrides"),
        (("--n", 2, "--split", "test"), "overrides"),
    ):
        result = run(*common, *options)
        assert result.exit_code == 2
        assert f"holds a run with another {key} (" in result.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--prompt", "Q: {question}"), "--prompt is what is asked with --no-tools"),
        (("--no-tools", "--prompt", "Answer!"), "has no {question}"),
        (("--min-rate", 0.5, "--max-rate", 0.1), "give two shares from 0 to 1"),
        (("--set", "tasks.set=nothing.jsonl"), "nothing.jsonl"),
    ],
)
def test_what_cannot_be_run(run, agents: str, tmp_path: Path, options: tuple[object, ...], told: str) -> None:
    common = ("tasks", "filter", "SearchR1-v0", "--agent", f"{agents}:knows_some", "--out", tmp_path / "out")
    result = run(*common, "--tasks", 1, *options)
    assert result.exit_code == 2
    assert told in result.stderr
    (tmp_path / "file").touch()
    result = run(*common[:-1], tmp_path / "file", "--tasks", 1)
    assert result.exit_code == 2
    assert "cannot be used" in result.stderr


def test_a_file_of_tasks_is_filtered(run, agents: str, tmp_path: Path) -> None:
    rows = [
        {"id": f"x/{place}", "question": f"Who is number {place}?", "answer": ["Anna", "Miss Anna"]}
        for place in range(4)
    ]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    result = run(
        "tasks", "filter", "SearchR1-v0", "--agent", f"{agents}:answers_some", "--n", 2, "--no-tools",
        "--set", "tasks.set=rows.jsonl", "--out", tmp_path / "out",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert ids(tmp_path / "out" / "kept.jsonl") == [0]
    [task] = tasks.load(tmp_path / "out" / "kept.jsonl")
    assert task.golds == ("Anna", "Miss Anna")


def test_proposals_become_tasks(run, tmp_path: Path) -> None:
    result = run("eval", "SSPProposer-v0", "--agent", "oracle", "--tasks", 3, "--n", 2, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.output
    result = run("tasks", "proposals", tmp_path / "run", tmp_path / "questions.jsonl")
    assert result.exit_code == 0, result.output
    assert "3 questions of 6 episodes" in result.output
    result = run(
        "eval", "SSPSolver-v0", "--agent", "oracle", "--set", f"tasks.set={tmp_path / 'questions.jsonl'}", "--n", 1
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "1.000 " in result.output
    result = run("eval", "SSPSolver-v0", "--agent", "oracle", "--tasks", 1, "--out", tmp_path / "solved")
    result = run("tasks", "proposals", tmp_path / "solved", tmp_path / "none.jsonl")
    assert result.exit_code == 2
    assert "proposes nothing in <question> tags" in result.stderr
