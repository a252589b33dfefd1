"""Search-v0: what it asks, and what an honest "unknown" earns."""

from collections import Counter

import pytest

import toolenvs
from toolenvs import loop
from toolenvs.episode import Episode

BLUEPRINT = toolenvs.load("Search-v0")


def test_hops_and_unanswerable_questions() -> None:
    tasks = [BLUEPRINT.tasks[index] for index in range(400)]
    hops = Counter(task.extra["hops"] for task in tasks)
    assert set(hops) == {1, 2, 3, 4}
    assert min(hops.values()) > 60
    unanswerable = [task for task in tasks if not task.extra["answerable"]]
    assert 0.10 < len(unanswerable) / len(tasks) < 0.20
    assert {task.gold for task in unanswerable} == {"unknown"}


@pytest.mark.parametrize(
    ("answerable", "answer", "reward"),
    [
        (False, "unknown", 1.0),
        (False, "Unknown.", 1.0),
        (False, "Fedruvash", 0.0),
        (False, "", 0.0),
        (True, "unknown", 0.0),
        (True, "{gold}", 1.0),
        (True, "I think it is {gold}, or perhaps Fedruvash", 0.0),
    ],
)
def test_rewards(answerable: bool, answer: str, reward: float) -> None:
    tasks = map(BLUEPRINT.tasks.__getitem__, range(200))
    task = next(task for task in tasks if task.extra["answerable"] is answerable)
    turn = loop.run(Episode(BLUEPRINT, task).step(f"<answer>{answer.replace('{gold}', task.gold)}</answer>"))
    assert (turn.ending, turn.reward) == ("answer", reward)
