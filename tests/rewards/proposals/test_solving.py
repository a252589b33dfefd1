"""The solver without a model: patience decides, and equal seeds give equal tries."""

from toolenvs import loop, tasks
from toolenvs.retrieval import shared
from toolenvs.rewards.chains import Chains
from toolenvs.rewards.proposals import Seeker
from toolenvs.tasks.task import Task


def solve(searches: int, hops: int, count: int = 40) -> float:
    seeker = Seeker(shared.retriever("world:1000", None), Chains(), searches=searches)
    asked = tasks.load("world_answers", min_hops=hops, max_hops=hops, size=count)
    questions = [Task(id=task.id, question=task.extra["proposal"], golds=task.golds) for task in asked]
    tries = [loop.run(seeker.solve(task, n=5, seed=number)) for number, task in enumerate(questions)]
    assert all(len(solved) == 5 and set(solved) <= {0.0, 1.0} for solved in tries)
    return sum(map(sum, tries)) / (5 * count)


def test_more_patience_solves_more_and_more_hops_are_solved_less_often() -> None:
    rates = {(searches, hops): solve(searches, hops) for searches in (1, 4) for hops in (2, 3)}
    assert rates[4, 2] > rates[4, 3] + 0.1
    assert rates[4, 2] > rates[1, 2] + 0.3
    assert rates[4, 3] > rates[1, 3] + 0.1


def test_equal_seeds_give_equal_tries() -> None:
    seeker = Seeker(shared.retriever("world:1000", None), Chains())
    [task] = tasks.load("world_answers", size=1, max_hops=2)
    asked = Task(id="q", question=task.extra["proposal"], golds=task.golds)
    tries = [tuple(loop.run(seeker.solve(asked, n=8, seed=seed))) for seed in (1, 1, 2, 3, 4)]
    assert tries[0] == tries[1]
    assert len(set(tries)) > 1
