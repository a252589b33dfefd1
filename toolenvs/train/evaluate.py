"""Held-out success of a policy."""

import asyncio
from collections.abc import Sequence

from toolenvs.agents.engine import Engine, EngineAgent, Sampling
from toolenvs.blueprint import Blueprint
from toolenvs.rollout import Trajectory, collect
from toolenvs.tasks.task import Task
from toolenvs.train.trajectories import summary

SEED = 20_250_411
"""Of every evaluation, so that two of them differ by the policy alone."""


def evaluate(
    blueprint: Blueprint,
    engine: Engine,
    tasks: Sequence[Task],
    runner: asyncio.Runner,
    *,
    temperature: float = 1.0,
    top_p: float = 1.0,
    max_turn_tokens: int = 1024,
) -> tuple[dict[str, float], list[Trajectory]]:
    """One episode of each task; gives the episodes, and their `summary` with `test_` before every name."""
    sampling = Sampling(temperature=temperature, top_p=top_p, max_turn_tokens=max_turn_tokens)
    episodes = runner.run(collect(blueprint, EngineAgent(engine, sampling), tasks, seed=SEED))
    return tested(episodes), episodes


def tested(episodes: Sequence[Trajectory]) -> dict[str, float]:
    """The `summary` of held-out episodes, with `test_` before every name."""
    return {f"test_{name}": value for name, value in summary(episodes).items()}
