"""Hard focus: all tasks for a while, then the hardest of them, then the hardest of those.

Zhu et al. 2025, "DRIVE": a second stage of RL, on few tasks and with many episodes of each (64; 8 in the first stage,
where all tasks come alike), "continuously retains the most difficult instances". The abstract gives no more, so the
schedule's numbers are this suite's. A stage of its own is a run of its own: `samples = 64`, `--model` of the first.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from toolenvs.schema import at_least
from toolenvs.tasks.task import TaskSet
from toolenvs.train.selectors import base
from toolenvs.train.selectors._enumerated import enumerate_tasks, places
from toolenvs.train.streams import generator


@dataclass(frozen=True, kw_only=True)
class Options:
    """The schedule; none of its numbers is published."""

    keep: float = 0.5
    """Share of the tasks that stays at each cut."""
    passes: int = 1
    """How often each task comes between two cuts."""
    min_tasks: int = 32
    """Tasks that are always left."""

    def __post_init__(self) -> None:
        at_least(1, passes=self.passes, min_tasks=self.min_tasks)
        if not 0 < self.keep <= 1:
            raise ValueError(f"keep = {self.keep:g} is out of range: a share above 0 and at most 1 is needed")


class Selector(base.Selector):
    """Shuffles of a set that shrinks to what the policy solves least.

    A cut falls between two takes, since the tasks of a take are judged after it: what a take needs beyond the last
    shuffle begins the next one. A task that was never judged counts as unsolved.
    """

    def __init__(self, tasks: TaskSet, seed: int, options: Options) -> None:
        known = enumerate_tasks(tasks, "hard_focus")
        self._places = places(known)
        self._seed = seed
        self._options = options
        self._left = list(range(len(known)))
        self._cuts = 0
        self._taken = 0  # since the last cut
        self._rates: dict[int, float] = {}
        self._shuffled: tuple[tuple[int, int], list[int]] = ((-1, -1), [])

    def take(self, count: int, progress: float) -> list[int]:
        """See `base.Selector`."""
        if self._taken >= self._options.passes * len(self._left):
            self._cut()
        taken = [self._at(place) for place in range(self._taken, self._taken + count)]
        self._taken += count
        return taken

    def observe(self, outcomes: Mapping[str, Sequence[float]]) -> None:
        """Keep the newest success rate of each task."""
        known = {task: success for task, success in outcomes.items() if task in self._places}
        self._rates |= {self._places[task]: float(np.mean(success)) for task, success in known.items()}

    def _cut(self) -> None:
        """Leave the hardest, those of equal rate by chance."""
        count = max(math.ceil(self._options.keep * len(self._left)), min(self._options.min_tasks, len(self._left)))
        order = generator("hard focus cut", self._seed, self._cuts).permutation(len(self._left))
        ranked = sorted((self._left[place] for place in order), key=lambda index: self._rates.get(index, 0.0))
        self._left = sorted(ranked[:count])
        self._cuts += 1
        self._taken = 0

    def _at(self, place: int) -> int:
        number, offset = divmod(place, len(self._left))
        key = (self._cuts, number)
        if self._shuffled[0] != key:
            order = generator("hard focus", self._seed, *key).permutation(len(self._left))
            self._shuffled = (key, [self._left[place] for place in order])
        return self._shuffled[1][offset]

    def state_dict(self) -> dict[str, Any]:
        """What is left, and the rates that the next cut goes by."""
        return {"left": list(self._left), "cuts": self._cuts, "taken": self._taken, "rates": dict(self._rates)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """See `base.Selector`."""
        self._left, self._cuts, self._taken = list(state["left"]), state["cuts"], state["taken"]
        self._rates = dict(state["rates"])
