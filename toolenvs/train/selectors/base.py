"""What a selector is."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any


class Selector(ABC):
    """Says which tasks come next, and sees what became of them.

    It is told of tasks by their index in the set, and of outcomes by the tasks' ids. All that its next choice depends
    on is in `state_dict`, in plain values, so that a resumed run chooses as one that was never interrupted.
    """

    def reference(self, count: int) -> list[int]:
        """Tasks that must be tried before `count` tasks can be taken; they are observed, and not trained on."""
        return []

    @abstractmethod
    def take(self, count: int, progress: float) -> list[int]:
        """The next tasks to train on.

        Args:
            count: how many.
            progress: share of the run that is over, from 0 to below 1.
        """

    @abstractmethod
    def observe(self, outcomes: Mapping[str, Sequence[float]]) -> None:
        """What became of the tasks that were asked for: raw correctness of each episode, by the task's id.

        Episodes that infrastructure ended are not among them, so that a task may be missing.
        """

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """Plain values."""

    @abstractmethod
    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
