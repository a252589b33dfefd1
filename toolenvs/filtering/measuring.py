"""How often an agent solves each task of a set: many tries at once, none of them twice, infrastructure apart."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from toolenvs.blueprint import Blueprint
from toolenvs.errors import ConfigError
from toolenvs.rollout import Agent, Trajectory, Try, number_of, run_tries
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
        number = number_of(trajectory)
        if trajectory.task in counts and not trajectory.failed and number < n:
            counts[trajectory.task].tries[number] = trajectory.success or 0.0
    width = len(str(len(tasks)))
    left = (
        Try(
            task=task,
            group=str(place),
            head=f"{place:0{width}d}",
            number=number,
            seed=stable_seed("filter", seed, task.id, number) % _SEEDS,
        )
        for place, task in enumerate(tasks)
        for number in range(n)
        if number not in counts[task.id].tries
    )

    def ended(made: Try, trajectory: Trajectory, last: bool) -> None:
        if not last:
            return
        if trajectory.failed:
            counts[made.task.id].failures += 1
        else:
            counts[made.task.id].tries[made.number] = trajectory.success or 0.0
        if on_trajectory is not None:
            on_trajectory(trajectory)

    at_once = min(concurrency, len(tasks) * n)
    await run_tries(blueprint, agent, left, concurrency=at_once, retries=retries, on_attempt=ended)
    return counts
