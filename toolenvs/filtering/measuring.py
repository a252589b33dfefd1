"""How often an agent solves each task of a set: many tries at once, none of them twice, infrastructure apart."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from toolenvs.blueprint import Blueprint
from toolenvs.errors import ConfigError
from toolenvs.rollout import Agent, Trajectory, run_episode
from toolenvs.tasks.seeding import stable_seed
from toolenvs.tasks.task import Task

_SEEDS = 1 << 20


@dataclass(slots=True)
class Counts:
    """The tries of one task that infrastructure did not end."""

    tries: dict[int, float] = field(default_factory=dict)
    """Correctness, 0 to 1, by the number of the try."""
    failures: int = 0
    """Tries that infrastructure ended, to the last retry."""

    def solved(self, at: float = 1.0) -> int:
        """How many tries reached a correctness of `at`."""
        return sum(success >= at for success in self.tries.values())


async def measure(
    blueprint: Blueprint,
    agent: Agent,
    tasks: Sequence[Task],
    *,
    n: int,
    seed: int = 0,
    concurrency: int = 64,
    retries: int = 2,
    before: Iterable[Trajectory] = (),
    on_trajectory: Callable[[Trajectory], None] | None = None,
) -> dict[str, Counts]:
    """`n` tries of every task.

    Args:
        blueprint: the environment.
        agent: who acts.
        tasks: what about; their ids must differ.
        n: tries of each.
        seed: each try's seed depends on it, on the task's id and on the number of the try, and on nothing else: a run
            that goes on where another stopped makes the same tries.
        concurrency: tries that run at once.
        retries: how often a try that infrastructure ended is made again.
        before: trajectories of an earlier run with the same arguments; their tries are not made again, unless
            infrastructure ended them.
        on_trajectory: told of each trajectory as it ends, of those that infrastructure ended to the last as well.

    Returns:
        The counts by the tasks' ids, in the order of the tasks. A task that infrastructure kept from having `n` tries
        has fewer.

    Raises:
        ConfigError: two tasks have the same id.
    """
    counts = {task.id: Counts() for task in tasks}
    if len(counts) < len(tasks):
        raise ConfigError(f"{len(tasks) - len(counts)} tasks have the id of another; make the ids unique")
    for trajectory in before:
        number = _number(trajectory)
        if trajectory.task in counts and not trajectory.failed and number < n:
            counts[trajectory.task].tries[number] = trajectory.success or 0.0
    await blueprint.check()
    width, digits = len(str(len(tasks))), len(str(n))
    left = (
        (place, task, number)
        for place, task in enumerate(tasks)
        for number in range(n)
        if number not in counts[task.id].tries
    )

    async def one(place: int, task: Task, number: int) -> None:
        for attempt in range(retries + 1):
            trajectory = await run_episode(
                blueprint,
                agent,
                task,
                key=f"{place:0{width}d}.{attempt}.{number:0{digits}d}",
                group=str(place),
                seed=stable_seed("filter", seed, task.id, number) % _SEEDS,
            )
            if not trajectory.failed:
                break
        if trajectory.failed:
            counts[task.id].failures += 1
        else:
            counts[task.id].tries[number] = trajectory.success or 0.0
        if on_trajectory is not None:
            on_trajectory(trajectory)

    async def worker() -> None:
        for place, task, number in left:
            await one(place, task, number)

    async with asyncio.TaskGroup() as running:
        for _ in range(max(min(concurrency, len(tasks) * n), 1)):
            running.create_task(worker())
    return counts


def _number(trajectory: Trajectory) -> int:
    """The number of the try, which `measure` writes behind the last dot of its key."""
    try:
        return int(trajectory.key.rpartition(".")[2])
    except ValueError:
        raise ConfigError(f"the trajectory {trajectory.key!r} was not written by this command; start afresh") from None
