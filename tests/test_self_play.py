"""From proposals to tasks, and from tries to pay."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import toolenvs
from toolenvs import tasks
from toolenvs.agents.scripted import FromFunction, Oracle
from toolenvs.errors import ConfigError
from toolenvs.rollout import Trajectory, collect
from toolenvs.self_play import Pool, is_valid, paid, proposal_id, solver_tasks
from toolenvs.tasks.task import Task


@pytest.fixture
async def proposals() -> list[Trajectory]:
    """Two valid proposals and one that is not."""
    blueprint = toolenvs.load("SSPProposer-v0", **{"judge.solver": {"name": ""}})
    seeds = [blueprint.tasks[index] for index in range(2)]
    valid = await collect(blueprint, Oracle(blueprint), seeds)
    bad = await collect(blueprint, FromFunction(lambda request: "<question>Who?</question>"), seeds[:1])
    return [*valid, *bad]


async def test_the_whole_round(proposals: list[Trajectory]) -> None:
    assert [is_valid(proposal) for proposal in proposals] == [True, True, False]
    questions = solver_tasks(proposals)
    assert [task.golds for task in questions] == [proposal.golds for proposal in proposals[:2]]
    source = toolenvs.load("SSPProposer-v0").tasks
    assert [task.question for task in questions] == [source[index].extra["proposal"] for index in range(2)]
    assert questions[0].extra["queries"] == list(source[0].extra["queries"])
    solving = toolenvs.load("SSPSolver-v0")

    def second(request) -> str:  # right at one of two tries of the first question, always of the second
        number = int(request.key.partition(".")[0])
        return f"<answer>{request.task.gold if number != 0 else 'no'}</answer>"

    solved = await collect(solving, FromFunction(second), questions, n=2)
    after = paid(proposals, solved)
    assert [proposal.reward for proposal in after] == [0.5, 0.0, 0.0]
    assert after[0].reward_terms == {"ssp_proposer": 0.5}
    assert after[0].turn_rewards == (*[0.0] * (len(after[0].turn_rewards) - 1), 0.5)
    assert after[2] == proposals[2]
    assert [proposal.reward for proposal in paid(after, solved)] == [0.5, 0.0, 0.0]  # paying twice pays once
    assert paid(proposals, solved, "balanced")[0].reward == 1.0


async def test_a_question_that_nobody_tried_to_its_end_earns_nothing_known(proposals: list[Trajectory]) -> None:
    questions = solver_tasks(proposals)
    failed = replace(proposals[0], task=questions[0].id, ending="infrastructure", success=None)
    right = replace(proposals[1], task=questions[1].id, ending="answer", success=1.0)
    after = paid(proposals, [failed, right])
    assert [proposal.failed for proposal in after] == [True, False, False]
    assert (after[0].success, after[0].reward) == (None, 0.0)
    assert "nobody tried" in (after[0].fault or "")


async def test_shaping_stays(proposals: list[Trajectory]) -> None:
    *before, last = proposals[0].turn_rewards
    shaped = replace(
        proposals[0], turn_rewards=(*before, last + 0.25), reward_terms={"ssp_proposer": 0.0, "malformed": 0.25}
    )
    solved = [replace(proposals[1], task=proposal_id(shaped), success=0.0)] * 2
    [after] = paid([shaped], solved)
    assert after.reward == pytest.approx(1.25)
    assert after.reward_terms == {"ssp_proposer": 1.0, "malformed": 0.25}


async def test_other_episodes_propose_nothing() -> None:
    blueprint = toolenvs.load("SSPSolver-v0")
    solved = await collect(blueprint, Oracle(blueprint), [blueprint.tasks[0]])
    with pytest.raises(ConfigError, match=r"proposes nothing in <question> tags"):
        solver_tasks(solved)


async def test_the_tasks_survive_a_file(proposals: list[Trajectory], tmp_path) -> None:
    from toolenvs.tasks.writing import write

    questions = solver_tasks(proposals)
    assert write(questions, tmp_path / "questions.jsonl") == 2
    again = list(toolenvs.load("SSPSolver-v0", **{"tasks.set": str(tmp_path / "questions.jsonl")}).tasks)
    assert again == questions
    assert list(tasks.load(tmp_path / "questions.jsonl")) == questions


def made(count: int, step: int) -> list[Task]:
    return [Task(id=f"{step}/{number}", question="q", golds=("g",)) for number in range(count)]


@given(counts=st.lists(st.integers(0, 5), min_size=1, max_size=8), steps=st.integers(1, 4), size=st.integers(0, 6))
def test_the_pool_fills_and_never_cuts(counts: list[int], steps: int, size: int) -> None:
    pool, known = Pool(steps=steps, seed=1), set()
    for step, count in enumerate(counts):
        own = made(count, step)
        filled = pool.fill(own, size)
        assert filled[:count] == own
        earlier = [task.id for task in filled[count:]]
        assert set(earlier) <= known
        assert len(filled) == len({task.id for task in filled}) == max(count, min(size, count + len(known)))
        known = set() if (step + 1) % steps == 0 else known | {task.id for task in own}
        assert len(pool) == len(known)


def test_a_pool_lives_for_a_step_at_least() -> None:
    with pytest.raises(ConfigError, match="at least 1 step"):
        Pool(steps=0)
