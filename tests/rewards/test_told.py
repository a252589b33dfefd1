"""What a tool says of the world that it acts on: how far the task is solved, what that pays, and that it is over."""

from collections.abc import Mapping
from typing import Any

import pytest

import toolenvs
from toolenvs.blueprint import Blueprint
from toolenvs.episode import Episode
from toolenvs.errors import ForkError, WebError
from toolenvs.tools.base import ToolResult

CALL = '<tool_call>\n{"name": "page", "arguments": {"action": "look"}}\n</tool_call>'


class Told:
    """A session that gives results which were written beforehand."""

    def __init__(self, results: list[Any]) -> None:
        self.results = results
        self.closed = False

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        result = self.results.pop(0)
        if isinstance(result, Exception):
            raise result
        assert isinstance(result, ToolResult)
        return result

    async def fork(self) -> "Told":
        raise ForkError("no")

    async def close(self) -> None:
        self.closed = True


def blueprint(*results: Any, **overrides: Any) -> tuple[Blueprint, Told]:
    made, told = toolenvs.load("MiniWoB-v0", **overrides), Told(list(results))

    async def open(task: Any, *, seed: int, progress: float) -> Told:
        return told

    made.tools["miniwob"].open = open  # type: ignore[method-assign, assignment]
    return made, told


async def play(made: Blueprint, turns: int) -> tuple[Episode, list[Any]]:
    episode = Episode(made, made.tasks[0])
    return episode, [await episode.step(CALL) for _ in range(turns)]


async def test_the_world_ends_the_episode_and_pays_each_turn() -> None:
    made, told = blueprint(
        ToolResult(text="a", reward=0.25), ToolResult(text="b", score=1.0, reward=0.5, ended=True), ToolResult(text="c")
    )
    episode, turns = await play(made, 2)
    assert [turn.reward for turn in turns] == [0.25, 0.5]
    assert [(turn.ending, turn.terminated, turn.truncated) for turn in turns] == [
        (None, False, False), ("done", True, False),
    ]  # fmt: skip
    assert turns[-1].observation == ""
    assert episode.success == 1.0
    assert told.closed
    assert len(told.results) == 1


async def test_a_turn_without_a_call_is_not_paid_for_the_one_before() -> None:
    made, _ = blueprint(ToolResult(text="a", reward=0.25))
    episode, [first] = await play(made, 1)
    assert first.reward == 0.25
    assert (await episode.step("hm")).reward == 0.0


@pytest.mark.parametrize(
    ("scores", "success"), [([None], 0.0), ([0.5], 0.5), ([1.0, 0.25], 0.25), ([0.25, None], 0.25), ([0.0, 1.0], 1.0)]
)
async def test_the_last_word_counts_whatever_ends_the_episode(scores: list[float | None], success: float) -> None:
    made, _ = blueprint(*(ToolResult(text="x", score=score) for score in scores), max_turns=len(scores))
    episode, turns = await play(made, len(scores))
    assert turns[-1].ending == "turns"
    assert turns[-1].truncated
    assert episode.success == success
    assert episode.verdict is not None
    assert episode.verdict.correct == (success == 1)


async def test_no_score_is_taken_from_what_failed() -> None:
    made, _ = blueprint(ToolResult(text="a", score=1.0), WebError("gone"))
    episode, turns = await play(made, 2)
    assert (turns[-1].ending, turns[-1].fault, turns[-1].reward) == ("infrastructure", "gone", 0.0)
    assert episode.success is None


async def test_forks_know_what_was_told_so_far() -> None:
    made, _ = blueprint(ToolResult(text="a", score=0.5), ToolResult(text="a"), ToolResult(text="b", ended=True))
    episode, _ = await play(made, 1)
    with pytest.warns(UserWarning, match="cannot be copied"):
        copy = await episode.fork()
    assert (await copy.step(CALL)).ending == "done"
    assert copy.success == 0.5
    assert episode.ending is None


@pytest.mark.parametrize(
    ("results", "paid"),
    [
        ([ToolResult(text="a"), ToolResult(text="b")], [0.0, -1.0]),
        ([ToolResult(text="a", reward=0.25), ToolResult(text="b", score=1.0, reward=1.0, ended=True)], [0.25, 1.0]),
        ([ToolResult(text="a"), WebError("gone")], [0.0, 0.0]),
    ],
)
async def test_giving_no_end_may_cost(results: list[Any], paid: list[float]) -> None:
    made, _ = blueprint(*results, max_turns=2)
    _, turns = await play(made, 2)
    assert [turn.reward for turn in turns] == paid


async def test_giving_up_is_no_better_than_failing() -> None:
    made, _ = blueprint()
    turn = await Episode(made, made.tasks[0]).step("<answer>none</answer>")
    assert (turn.reward, turn.ending) == (-1.0, "answer")
