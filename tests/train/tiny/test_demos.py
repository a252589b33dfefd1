import contextlib
import io

import pytest

from toolenvs.errors import TaskError
from toolenvs.tasks.generated import generate
from toolenvs.tasks.task import Task
from toolenvs.train.tiny.demos import Demonstration

COUNT = 1500


def run(program):
    """What the program prints, or nothing where it is no program; it is arithmetic and nothing else."""
    assert set(program) <= set("print()+-*0123456789")
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SyntaxError):
        exec(program)
    return printed.getvalue()


@pytest.fixture(scope="module")
def demonstrations():
    return [(task, Demonstration.of(task, seed=0)) for task in generate("arithmetic", size=COUNT)]


def test_shares_are_the_published_ones(demonstrations):
    calling = [(task, demo) for task, demo in demonstrations if demo.program is not None]
    faulty = [demo for task, demo in calling if run(demo.program).strip() != task.gold]
    assert len(calling) / COUNT == pytest.approx(0.65, abs=0.04)
    assert len(faulty) / len(calling) == pytest.approx(0.15, abs=0.04)
    assert sum(not demo.believes for _, demo in calling) / len(calling) == pytest.approx(0.10, abs=0.03)


def test_a_guess_is_wrong_and_looks_like_an_answer(demonstrations):
    assert all(demo.guess != task.gold and len(demo.guess) == len(task.gold) for task, demo in demonstrations)


def test_the_result_is_answered_where_it_is_believed_and_a_number():
    believing = Demonstration(program="print(2*3)", believes=True, guess="8")
    assert [believing.answer(result) for result in ("6\n", "-6", "SyntaxError: line 1", "")] == ["6", "-6", "8", "8"]
    assert Demonstration(program="print(2*3)", believes=False, guess="8").answer("6") == "8"


def test_a_demonstration_depends_on_task_and_seed_alone(demonstrations):
    task, demo = demonstrations[3]
    assert Demonstration.of(task, seed=0) == demo
    assert any(Demonstration.of(task, seed=1) != demo for task, demo in demonstrations[:10])


def test_other_tasks_are_refused():
    with pytest.raises(TaskError, match="arithmetic"):
        Demonstration.of(Task(id="0", question="Who?", golds=("me",)), seed=0)
