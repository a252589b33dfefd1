"""What episodes are about: tasks, the files and generators they come from, and the order they are visited in."""

from toolenvs.tasks.checking import Failure, check
from toolenvs.tasks.generated import GeneratedTaskSet, generate, split_of
from toolenvs.tasks.loading import load
from toolenvs.tasks.rows import RowTaskSet, Skipped, from_rows
from toolenvs.tasks.sampling import epoch_order
from toolenvs.tasks.task import Task, TaskSet

__all__ = [
    "Failure",
    "GeneratedTaskSet",
    "RowTaskSet",
    "Skipped",
    "Task",
    "TaskSet",
    "check",
    "epoch_order",
    "from_rows",
    "generate",
    "load",
    "split_of",
]
