"""Held-out success of a policy."""

from collections.abc import Callable, Sequence

from toolenvs.agents.engine import Engine, EngineAgent, Sampling
from toolenvs.attended import Attended
from toolenvs.blueprint import Blueprint
from toolenvs.rollout import Trajectory, collect
from toolenvs.tasks.task import Task
from toolenvs.train import ranks
from toolenvs.train.trajectories import summary

SEED = 20_250_411
"""Of every evaluation, so that two of them differ by the policy alone."""


def evaluate(
    blueprint: Blueprint,
    engine: Engine,
    tasks: Sequence[Task],
    runner: Attended,
    *,
    temperature: float = 1.0,
    top_p: float = 1.0,
    max_turn_tokens: int = 1024,
    share: Callable[[int, Callable[[range], list[Trajectory]]], list[Trajectory]] = ranks.shared,
) -> tuple[dict[str, float], list[Trajectory]]:
    """One episode of each task; gives the episodes, and their `summary` with `test_` before every name.

    `share` says which process runs which, where there are several.
    """
    agent = EngineAgent(engine, Sampling(temperature=temperature, top_p=top_p, max_turn_tokens=max_turn_tokens))
    episodes = share(len(tasks), lambda part: runner.run(collect(blueprint, agent, tasks, seed=SEED, part=part)))
    return tested(episodes), episodes


def tested(episodes: Sequence[Trajectory]) -> dict[str, float]:
    """The `summary` of held-out episodes, with `test_` before every name."""
    return {f"test_{name}": value for name, value in summary(episodes).items()}
