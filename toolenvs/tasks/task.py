"""What an episode is about: one question, its gold answers, and whatever else its file said."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from toolenvs.errors import TaskError


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One task. Frozen, so that it can be shared by every episode of a group."""

    id: str
    """Unique within its task set."""

    question: str
    """The question alone, without instructions; a page's prompt puts it in its place."""

    golds: tuple[str, ...] = ()
    """Accepted answers, the canonical one first."""

    messages: tuple[Mapping[str, str], ...] = ()
    """The file's own chat messages (`role`, `content`), where it had any."""

    rendered: bool = False
    """True where the file's prompt is chat text that was already rendered, and must not be templated again."""

    source: str = ""
    """`data_source` of the file, or the generator's name."""

    extra: Mapping[str, Any] = field(default_factory=dict)
    """Columns that no loader claims, passed through."""

    @property
    def gold(self) -> str:
        """The canonical gold answer.

        Raises:
            TaskError: the task has none.
        """
        if not self.golds:
            raise TaskError(f"task {self.id!r} of {self.source or 'an unnamed set'} has no gold answer")
        return self.golds[0]


@runtime_checkable
class TaskSet(Protocol):
    """A finite sequence of tasks with unique ids; `__getitem__` must be deterministic."""

    name: str

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Task: ...

    def __iter__(self) -> Iterator[Task]: ...

    def find(self, task_id: str) -> Task:
        """The task with that id.

        Raises:
            TaskError: no task has it; the message names the nearest id.
        """
        ...
