"""A curriculum by a number that each task carries: the easy third of them first, the hard third last.

As in the repository of DOTS (Sun et al. 2025, a trainer beside that of their method): tasks are sorted by the column
`difficulty`, and each third of the run draws from one third of them. Any column of numbers will do: `hops` of multi-hop
questions, `pass_rate` as `toolenvs tasks filter` writes it (a high rate is easy: `ascending = false`).
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolenvs.errors import ConfigError
from toolenvs.schema import at_least
from toolenvs.tasks.task import Task, TaskSet
from toolenvs.train.sampler import TaskSampler
from toolenvs.train.selectors import base
from toolenvs.train.selectors._enumerated import enumerate_tasks
from toolenvs.train.streams import seed_of


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the tasks are sorted by."""

    column: str = "difficulty"
    """Column of the task set that holds the number (`difficulty` in the authors' repository)."""
    stages: int = 3
    """Equal parts of the run and of the sorted tasks (there three)."""
    ascending: bool = True
    """Whether small numbers come first."""

    def __post_init__(self) -> None:
        at_least(1, stages=self.stages)


class Selector(base.Selector):
    """A shuffle of one part of the tasks in every epoch; which part, the run's progress says."""

    def __init__(self, tasks: TaskSet, seed: int, options: Options) -> None:
        known = enumerate_tasks(tasks, "curriculum")
        if len(known) < options.stages:
            raise ConfigError(f"{options.stages} stages need as many tasks at least; {tasks.name} has {len(known)}")
        numbers = [_number(task, options.column) for task in known]
        order = sorted(range(len(known)), key=lambda index: numbers[index] if options.ascending else -numbers[index])
        bounds = [stage * len(order) // options.stages for stage in range(options.stages + 1)]
        self._stages = [order[low:high] for low, high in itertools.pairwise(bounds)]
        self._samplers = [
            TaskSampler(len(each), seed_of("stage", seed, place)) for place, each in enumerate(self._stages)
        ]

    def take(self, count: int, progress: float) -> list[int]:
        """See `base.Selector`."""
        stage = min(int(progress * len(self._stages)), len(self._stages) - 1)
        return [self._stages[stage][place] for place in self._samplers[stage].take(count)]

    def observe(self, outcomes: Mapping[str, Sequence[float]]) -> None:
        """Outcomes change nothing."""

    def state_dict(self) -> dict[str, Any]:
        """How many tasks were taken in each stage."""
        return {"positions": [sampler.position for sampler in self._samplers]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """See `base.Selector`."""
        for sampler, position in zip(self._samplers, state["positions"], strict=True):
            sampler.position = position


def _number(task: Task, column: str) -> float:
    value = task.extra.get(column)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        there = ", ".join(sorted(name for name, held in task.extra.items() if isinstance(held, int | float)))
        raise ConfigError(
            f"the curriculum's column {column!r} holds no number for task {task.id!r} ({value!r:.40}); its columns of "
            f"numbers: {there or 'none'}"
        )
    return float(value)
