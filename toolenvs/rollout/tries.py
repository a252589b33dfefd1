"""Tries of tasks, each with a seed of its own: a run that goes on where another stopped makes the same ones."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from toolenvs.blueprint import Blueprint
from toolenvs.errors import ConfigError
from toolenvs.rollout.agent import Agent
from toolenvs.rollout.collect import run_episode
from toolenvs.rollout.trajectory import Trajectory
from toolenvs.tasks.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """One try of one task."""

    task: Task
    group: str
    """Shared by the tries of a task."""
    head: str
    """What the keys of the task's episodes begin with."""
    number: int
    """Of this try among those of its task, from 0."""
    seed: int

    def key(self, attempt: int) -> str:
        """Of the episode: the try's number stands behind the last dot, the attempt's before it."""
        return f"{self.head}.{attempt}.{self.number}"


def number_of(trajectory: Trajectory) -> int:
    """The number of the try that the episode was.

    Raises:
        ConfigError: its key holds none, as `run_tries` writes it.
    """
    try:
        return int(trajectory.key.rpartition(".")[2])
    except ValueError:
        raise ConfigError(f"the trajectory {trajectory.key!r} was not written by this command; start afresh") from None


async def run_tries(
    blueprint: Blueprint,
    agent: Agent,
    tries: Iterable[Try],
    *,
    concurrency: int,
    retries: int,
    on_attempt: Callable[[Try, Trajectory, bool], None],
) -> None:
    """Make every try, many at once.

    Args:
        blueprint: the environment.
        agent: who acts.
        tries: taken one after another, as there is room for them.
        concurrency: tries that run at once.
        retries: how often a try that infrastructure ended is made again, from its beginning.
        on_attempt: told of each episode as it ends, and whether it is the last attempt of its try.
    """
    await blueprint.check()
    left = iter(tries)

    async def worker() -> None:
        for each in left:
            for attempt in range(retries + 1):
                trajectory = await run_episode(
                    blueprint, agent, each.task, key=each.key(attempt), group=each.group, seed=each.seed
                )
                last = not trajectory.failed or attempt == retries
                on_attempt(each, trajectory, last)
                if last:
                    break

    async with asyncio.TaskGroup() as running:
        for _ in range(max(concurrency, 1)):
            running.create_task(worker())
