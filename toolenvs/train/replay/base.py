"""What a replay strategy is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from toolenvs.schema import at_least
from toolenvs.train.replay._memory import Episode, Group, Memory


@dataclass(frozen=True, kw_only=True)
class Options:
    """Bounds that every strategy has."""

    capacity: int = 512
    """Groups that are remembered; the oldest one makes room."""
    max_age: int = 0
    """Steps that changed the policy, after which an episode is forgotten; 0 for none, where `capacity` alone is the
    bound."""

    def __post_init__(self) -> None:
        at_least(1, capacity=self.capacity)
        at_least(0, max_age=self.max_age)


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """Earlier episodes of one task that are trained on once more, compared with one another."""

    episodes: Sequence[Episode]
    joins: int | None = None
    """Number of the fresh group that they are compared within; None for a group of their own."""


class Strategy:
    """Says what is remembered, and what of it is trained on again.

    Randomness comes from the generator that each call is given: it depends on the run's seed and the step alone.
    """

    least: int = 1
    """Episodes of a group without which nothing of it could come back, as a group of fewer has nothing to compare."""

    def keep(self, group: Group) -> Group | None:
        """What of a fresh group is remembered; None for nothing. Every group that can be trained on is shown."""
        return group

    def fresh(self, memory: Memory, prompts: int) -> int:
        """How many of a step's groups are rolled out anew."""
        return prompts

    def tasks(self, memory: Memory, prompts: int, rng: np.random.Generator) -> list[str]:
        """Tasks by their ids that are rolled out again because of what is remembered, in place of the selector's."""
        return []

    def choose(self, memory: Memory, fresh: Sequence[str], prompts: int, rng: np.random.Generator) -> Sequence[Again]:
        """What is trained on beside the fresh groups.

        Args:
            memory: what was remembered before this step.
            fresh: the task's id of each fresh group that is trained on.
            prompts: groups that the step wants in all.
            rng: of the draws.
        """
        raise NotImplementedError
