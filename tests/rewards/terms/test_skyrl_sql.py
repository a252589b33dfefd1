"""SkyRL-SQL's format, by hand."""

import pytest

import toolenvs
from toolenvs import loop
from toolenvs.episode import Episode

BLUEPRINT = toolenvs.load("SkyRLSQL-v0")
TASK = BLUEPRINT.tasks[0]


def reward(*actions: str) -> float:
    episode = Episode(BLUEPRINT, TASK)
    return [loop.run(episode.step(action)) for action in actions][-1].reward


GOLD = f"<solution>{TASK.gold}</solution>"


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ((f"<think>a</think>{GOLD}",), 1),
        ((f"so: <think>a</think> then {GOLD}",), 1),
        (("<think>a</think><sql>SELECT 1</sql>", f" <THINK>b</THINK><think>c</think>{GOLD}"), 1),
        (("<think>a</think><solution>SELECT 1</solution>",), 0),
        (("<think>a</think><sql>SELECT '<sol' || 'ution>'</sql>", f"<think>b</think>{GOLD}"), 1),  # tags in a result
        ((GOLD,), -1),
        ((f"<think>a{GOLD}",), -1),
        (("<think>a</think><sql>SELECT 1</sql>", f"b <think>c</think>{GOLD}"), -1),
        ((f"<think>a</think><solution>{TASK.gold} <think>b</think></solution>",), -1),
        (("<think>a</think><sql>SELECT nothing</sql>", GOLD), -1),
        (("<think>a</think></solution>", f"<think>b</think>{GOLD}"), 1),  # closed before it is opened: not counted
        (("<think>a</think>", f"<think>b</think>{GOLD}"), 1),
        (("<think>a</think>", GOLD), -1),  # a reminder is an observation
        (("<think>a</think>", "", f"<think>b</think>{GOLD}"), -1),  # the second turn has no thought
        (("", f"<think>b</think>{GOLD}"), 1),
    ],
)
def test_rewards(actions: tuple[str, ...], expected: float) -> None:
    assert reward(*actions) == expected
