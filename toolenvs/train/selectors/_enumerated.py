"""For selectors that must look at every task before they choose: all of them, and their places by id."""

from toolenvs.errors import ConfigError
from toolenvs.tasks.task import Task, TaskSet

MAX_TASKS = 200_000
"""More than that is not held in memory for a choice; the features of so many take 0.4 GB."""


def enumerate_tasks(tasks: TaskSet, selector: str) -> list[Task]:
    """All tasks of a set.

    Raises:
        ConfigError: there are none, or too many to look at.
    """
    if not 0 < len(tasks) <= MAX_TASKS:
        raise ConfigError(
            f"the selector {selector!r} looks at every task of a set, and {tasks.name} has {len(tasks):,}: it takes "
            f'1 to {MAX_TASKS:,}; set tasks.limit or tasks.size, or take the selector "uniform"'
        )
    return list(tasks)


def places(tasks: list[Task]) -> dict[str, int]:
    """The index of each task, by its id."""
    return {task.id: index for index, task in enumerate(tasks)}
