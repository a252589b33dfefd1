"""Agents that understand nothing, on a page of each protocol and judge."""

import pytest

import toolenvs
from toolenvs.agents.floors import AlwaysCall, NoTool, Random
from toolenvs.rollout import collect

_PAGES = (
    "ReTool-v0", "ToRL-v0", "Search-v0", "R1Searcher-v0", "DeepRetrievalIR-v0", "DeepRetrievalSQL-v0",
    "EnvAwareIR-v0", "EnvAwareIRTwoTurn-v0", "InterCodeSQL-v0", "SQL-v0", "BirdSQL-v0", "ASearcherLocal-v0",
    "Browse-v0", "BrowseInjected-v0", "Shop-v0", "SSPProposer-v0", "SSRL-v0", "ZeroSearch-v0",
)  # fmt: skip
_GUESSED = {"EnvAwareIR-v0", "DeepRetrievalIR-v0"}
"""Where the question itself, as a query, finds something."""


@pytest.mark.parametrize("page", _PAGES)
async def test_they_act_everywhere_and_know_nothing(page: str) -> None:
    blueprint = toolenvs.load(page)
    tasks = [blueprint.tasks[index] for index in range(4)]
    runs = {kind: await collect(blueprint, kind(blueprint), tasks) for kind in (NoTool, Random, AlwaysCall)}
    again = await collect(blueprint, Random(blueprint), tasks)
    await blueprint.close()
    for trajectories in runs.values():
        assert all(trajectory.ending not in ("infrastructure", "agent") for trajectory in trajectories)
    assert not any(trajectory.calls for trajectory in runs[NoTool])
    assert all(len(trajectory.turn_rewards) == 1 for trajectory in runs[NoTool])
    assert [t.transcript for t in again] == [t.transcript for t in runs[Random]]
    success = sum(trajectory.success or 0.0 for trajectory in runs[NoTool])
    assert success > 0 if page in _GUESSED else success == sum("unknown" in task.golds for task in tasks)
    limits = blueprint.page.budget
    for trajectory in runs[AlwaysCall] if blueprint.protocol.targets else ():
        assert trajectory.calls
        most = limits.max_calls if limits.max_calls is not None else limits.max_turns
        assert most is None or len(trajectory.turn_rewards) <= (limits.max_turns or most) + 1
        assert trajectory.ending != "answer" or limits.when_spent == "free_text"


async def test_a_question_without_an_answer_is_what_no_tool_gets_right() -> None:
    blueprint = toolenvs.load("Search-v0")
    tasks = [blueprint.tasks[index] for index in range(60)]
    trajectories = await collect(blueprint, NoTool(blueprint), tasks)
    right = {t.task for t in trajectories if t.success}
    assert right == {task.id for task in tasks if task.gold == "unknown"}
    assert right


async def test_random_episodes_differ_by_their_seeds() -> None:
    blueprint = toolenvs.load("Search-v0")
    trajectories = await collect(blueprint, Random(blueprint), [blueprint.tasks[0]], n=8)
    assert len({trajectory.transcript for trajectory in trajectories}) >= 4
    assert {len(trajectory.calls) for trajectory in trajectories} >= {0, 1}
