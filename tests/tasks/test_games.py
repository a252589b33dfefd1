"""Tasks of the games: each carries what solves it, in the environment that it makes, and splits share none."""

from typing import Any

import pytest

from toolenvs import tasks
from toolenvs.errors import ConfigError, TaskError
from toolenvs.tasks.turns import in_turns
from toolenvs.tools.gym import Options, Tool

GAMES: dict[str, dict[str, Any]] = {
    "sokoban": {"env": "toolenvs.games:Sokoban"},
    "bandit": {"env": "toolenvs.games:Bandit"},
    "countdown": {"env": "toolenvs.games:Countdown"},
    "frozen_lake": {
        "env": "FrozenLake-v1",
        "actions": {"Left": 0, "Down": 1, "Right": 2, "Up": 3},
        "solved_reward": 1.0,
    },
}


@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("split", ["train", "test"])
async def test_what_a_task_carries_solves_it(name: str, split: str) -> None:
    tool = Tool(Options(**GAMES[name], max_actions=10, max_actions_per_turn=5))
    for task in tasks.load(name, split=split, size=25):
        session = await tool.open(task, seed=0, progress=0.0)
        results = [await session.call(call) for call in task.extra["calls"]]
        assert [result.ended for result in results] == [False] * (len(results) - 1) + [True]
        assert (results[-1].score, results[-1].limit) == (1.0, "")
        assert {result.status for result in results} == {"ok"}
        assert task.golds == ()


@pytest.mark.parametrize("name", GAMES)
def test_splits_share_no_task(name: str) -> None:
    sets = [
        {task.question for task in tasks.load(name, split=split, size=25)} for split in ("train", "validation", "test")
    ]
    assert not sets[0] & sets[1]
    assert not sets[0] & sets[2]
    assert not sets[1] & sets[2]


def test_tasks_are_of_many_kinds() -> None:
    assert len({task.question for task in tasks.load("sokoban", size=200)}) > 190
    lengths = {
        sum(len(call["actions"].split("||")) for call in task.extra["calls"])
        for task in tasks.load("sokoban", size=100)
    }
    assert len(lengths) >= 8
    assert {task.extra["kwargs"]["is_slippery"] for task in tasks.load("frozen_lake", size=5, slippery=False)} == {
        False
    }


def test_bandits_that_were_not_trained_on() -> None:
    (one, *_) = tasks.load("bandit", size=3, arms=[["Trader", "Librarian"]])
    assert one.extra["kwargs"] == {"low": "Trader", "high": "Librarian"}
    assert one.question.startswith("Librarian and Trader, seed ")


def test_the_seeds_of_any_environment() -> None:
    (one, *_) = tasks.load("gym", size=3, kwargs={"size": 4})
    assert one.question == f"seed {one.extra['seed']}"
    assert one.extra["kwargs"] == {"size": 4}


def test_solutions_in_turns() -> None:
    assert in_turns(["a", "b", "c"], 2) == ({"actions": "a || b"}, {"actions": "c"})
    assert in_turns([], 2) == ()


@pytest.mark.parametrize(
    ("name", "options", "match"),
    [
        ("sokoban", {"width": 2}, "width is 2"),
        ("sokoban", {"actions_per_turn": 0}, "actions_per_turn is 0"),
        ("frozen_lake", {"side": 1}, "side is 1"),
        ("frozen_lake", {"max_actions": 0}, "max_actions is 0"),
        ("countdown", {"operators": "^"}, "operators is '\\^'"),
        ("bandit", {"arms": "Phoenix"}, "give pairs"),
        ("bandit", {"arms": []}, "give pairs"),
        ("bandit", {"arms": [["Phoenix"]]}, "is no pair"),
        ("bandit", {"arms": [["A", "a"]]}, "two different names"),
        ("gym", {"kwargs": 3}, "give a table"),
    ],
)
def test_options_out_of_range(name: str, options: dict[str, Any], match: str) -> None:
    with pytest.raises((TaskError, ConfigError), match=match):
        tasks.load(name, **options)


def test_a_lake_too_large_for_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolenvs.tasks.generators.frozen_lake._MOST_DRAWS", 1)
    lakes = tasks.load("frozen_lake", side=16, frozen=1.0, max_actions=1, limit=20)
    with pytest.raises(TaskError, match="allow more, or make the lake smaller"):
        list(lakes)
