"""Stage 1, sources: a task with a text solution, or with a recorded conversation."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from toolenvs.rewards import maths
from toolenvs.tasks.task import Task

Gold = Literal["task", "recorded"]

_SOLUTION_COLUMNS = ("solution", "reasoning", "rationale")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What one row may be made from."""

    task: Task
    solution: str = ""
    """A solution in words; "" where there is none."""
    replies: tuple[Mapping[str, Any], ...] = ()
    """The chat messages of a recorded solution, from the first reply on."""
    gold: Gold = "task"
    """Whose the gold answer is: the task's, or the recording's own, so that agreeing with it proves nothing."""


def from_tasks(tasks: Iterable[Task], *, column: str | None = None) -> Iterator[Source]:
    """Sources with text solutions.

    Args:
        tasks: a task set or some of its tasks.
        column: the key of `Task.extra` that holds the solution; by default the first of "solution", "reasoning" and
            "rationale" that a task has.
    """
    columns = _SOLUTION_COLUMNS if column is None else (column,)
    for task in tasks:
        found = (task.extra[name] for name in columns if isinstance(task.extra.get(name), str))
        yield Source(task=task, solution=next(found, ""))


def from_recordings(tasks: Iterable[Task], *, gold: Gold = "task") -> Iterator[Source]:
    """Sources with recorded conversations: tasks of the schema `retool_sft`, whose rows are JoeYing/ReTool-SFT's.

    Args:
        tasks: with their conversation in `extra["messages"]`.
        gold: "recorded" takes the answer that a recording ends with as the gold of a task that has none, as
            ReTool-SFT's have. Such a row is checked in form and by replay, and its correctness is taken on trust.
    """
    for task in tasks:
        messages = task.extra.get("messages") or ()
        replies = tuple(messages[len(task.messages) :])
        if task.golds or gold == "task":
            yield Source(task=task, replies=replies)
        else:
            answer = maths.extract(str(replies[-1].get("content") or "")) if replies else None
            yield Source(task=replace(task, golds=(answer,) if answer else ()), replies=replies, gold="recorded")
