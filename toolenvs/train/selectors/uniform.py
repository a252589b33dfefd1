"""Every task once an epoch, in a fresh order each time: what GRPO, DAPO and most others do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolenvs.tasks.task import TaskSet
from toolenvs.train.sampler import TaskSampler
from toolenvs.train.selectors import base


@dataclass(frozen=True, kw_only=True)
class Options:
    """It has none."""


class Selector(base.Selector):
    """A shuffle of all tasks in every epoch."""

    def __init__(self, tasks: TaskSet, seed: int, options: Options) -> None:
        self._sampler = TaskSampler(len(tasks), seed)

    def take(self, count: int, progress: float) -> list[int]:
        """See `base.Selector`."""
        return self._sampler.take(count)

    def observe(self, outcomes: Mapping[str, Sequence[float]]) -> None:
        """Outcomes change nothing."""

    def state_dict(self) -> dict[str, Any]:
        """How many tasks were taken."""
        return {"position": self._sampler.position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """See `base.Selector`."""
        self._sampler.position = state["position"]
