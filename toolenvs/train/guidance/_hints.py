"""What guidance by hints has in common: a part of a solution, shown in the task's question."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from toolenvs.errors import ConfigError
from toolenvs.tasks.task import Task
from toolenvs.train.guidance.solutions import Solution

_PLACE = re.compile(r"\{question\}|\{hint\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class HintOptions:
    """How a hint is made."""

    solutions: str = "oracle"
    """Where solutions come from, see `solutions`."""
    shares: tuple[float, ...] = (0.5, 0.25)
    """How much of a solution's characters is shown, in one equal part of the run after the other."""
    template: str = "{question}\n\n## Hint.{hint}"
    """The question with its hint."""
    least_chars: int = 10
    """Hints that are shorter are left out."""

    def __post_init__(self) -> None:
        if not self.shares or not all(0 < share <= 1 for share in self.shares):
            raise ValueError(f"shares {list(self.shares)}: at least one is needed, each above 0 and at most 1")
        if "{question}" not in self.template or "{hint}" not in self.template:
            raise ValueError("template: {question} and {hint} must stand in it")

    def share(self, progress: float) -> float:
        """The one for a part of the run: `progress` is the share of it that is over with this step, above 0."""
        stage = -(-progress * len(self.shares) // 1) - 1  # rounded up, less one
        return self.shares[min(max(int(stage), 0), len(self.shares) - 1)]

    def hinted(self, tasks: Sequence[Task], solutions: Sequence[Solution | None], share: float) -> list[Task | None]:
        """Each task with the first part of its solution in its question; None where there is none to show.

        Raises:
            ConfigError: the task's file rendered its prompt, which a hint cannot be put into.
        """
        return [self._hinted(task, found, share) for task, found in zip(tasks, solutions, strict=True)]

    def _hinted(self, task: Task, solution: Solution | None, share: float) -> Task | None:
        if solution is None:
            return None
        hint = solution.text[: int(share * len(solution.text))]
        if len(hint) < max(self.least_chars, 1):
            return None
        if task.rendered:
            raise ConfigError(f"task {task.id!r} comes with a rendered prompt, which no hint can be put into")
        words = {"{question}": task.question, "{hint}": hint}
        return replace(task, question=_PLACE.sub(lambda place: words[place[0]], self.template))
