"""Where solutions come from, and that a wrong one is none."""

import json
from dataclasses import replace

import pytest

from toolenvs.agents.engine import Engine
from toolenvs.errors import ConfigError
from toolenvs.rollout import TrajectoryWriter, collect
from toolenvs.tools.base import ToolResult
from toolenvs.train.guidance.solutions import Solution, open_solutions, read_solutions
from toolenvs.train.tiny import demonstrator


class Silent(Engine):
    def generate(self, requests):
        raise AssertionError("no policy is asked")

    def push_weights(self, state_dict, version): ...


@pytest.fixture
def run(host, monkeypatch):
    async def run_code(self, arguments):
        try:
            return ToolResult(text=str(eval(arguments["code"].removeprefix("print(").removesuffix(")"))))
        except SyntaxError:
            return ToolResult(text="SyntaxError", status="error")

    monkeypatch.setattr("toolenvs.tools.python.Session.call", run_code)
    return host(Silent(), env={"tasks.size": 30})


def test_the_oracle_acts_out_what_a_task_carries(run):
    tasks = [run.env.tasks[index] for index in (0, 1, 0)]
    found = open_solutions("oracle", run).of(tasks)
    assert found[0] == found[2]
    for task, solution in zip(tasks, found, strict=True):
        assert len(solution.turns) == 2
        assert task.extra["program"] in solution.turns[0]
        assert f"\\boxed{{{task.gold}}}" in solution.turns[1]
        assert solution.text == solution.turns[0].strip() + "\n" + solution.turns[1].strip()


def test_what_the_judge_calls_wrong_is_no_solution(run):
    wrong = replace(run.env.tasks[0], golds=("no such number",))
    assert open_solutions("oracle", run).of([wrong]) == [None]


def test_a_task_without_a_program_is_told(run):
    bare = replace(run.env.tasks[0], extra={})
    with pytest.raises(ConfigError, match="name another source"):
        open_solutions("oracle", run).of([bare])


def test_scripts_are_tried_until_they_are_right(run):
    tasks = [run.env.tasks[index] for index in range(30)]
    for task, solution in zip(tasks, open_solutions("scripted", run).of(tasks), strict=True):
        assert f"\\boxed{{{task.gold}}}" in solution.turns[-1]
        assert not solution.text.endswith(run.env.codec.special_texts)


def test_a_column_of_the_file(run):
    task = run.env.tasks[0]
    source = open_solutions("extra:steps", run)
    rows = [replace(task, extra=extra) for extra in ({"steps": "a"}, {"steps": ["a", "b"]}, {})]
    assert source.of(rows) == [Solution(("a",)), Solution(("a", "b")), None]
    with pytest.raises(ConfigError, match=r"extra\['steps'\] is no text"):
        source.of([replace(task, extra={"steps": 3})])


def test_a_file_of_solutions(run, tmp_path):
    path = tmp_path / "solutions.jsonl"
    rows = [{"task": "x", "solution": "one"}, {"task": "x", "solution": "later"}, {"task": "y", "turns": ["a", "b"]}]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n\n")
    assert read_solutions(path) == {"x": Solution(("one",)), "y": Solution(("a", "b"))}
    task = run.env.tasks[0]
    source = open_solutions(str(path), run)
    assert source.of([replace(task, id="y"), task]) == [Solution(("a", "b")), None]


@pytest.mark.parametrize(
    "line", ['{"task": "x"}', "[]", '{"task": "x", "turns": []}', '{"task": "x", "solution": 3}', "{"]
)
def test_a_line_that_is_no_solution_is_named(line, run, tmp_path):
    path = tmp_path / "solutions.jsonl"
    path.write_text('{"task": "x", "solution": "one"}\n' + line + "\n")
    with pytest.raises(ConfigError, match=r"solutions\.jsonl, line 2"):
        open_solutions(str(path), run)
    path.write_text("\n")
    with pytest.raises(ConfigError, match="holds no solution"):
        open_solutions(str(path), run)
    with pytest.raises(ConfigError, match="no such file"):
        open_solutions(str(tmp_path / "nothing"), run)


def test_a_runs_own_episodes_are_solutions_where_they_are_right(run, tmp_path):
    tasks = [run.env.tasks[index] for index in range(20)]
    acted = run.runner.run(collect(run.env, demonstrator(run.env, 0), tasks))
    with TrajectoryWriter(tmp_path / "episodes.jsonl") as writer:
        for one in acted:
            writer.write(one)
    found = open_solutions(str(tmp_path / "episodes.jsonl"), run).of(tasks)
    assert [solution is not None for solution in found] == [one.success == 1 for one in acted]
    assert 0 < sum(one.success == 1 for one in acted) < 20
