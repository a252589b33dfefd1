"""A check at load: every gold passes its own judge, and nothing that a policy could answer blindly does."""

import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import NamedTuple, Protocol

from toolenvs.errors import JudgeError, TaskError
from toolenvs.tasks.seeding import Draws
from toolenvs.tasks.task import Task, TaskSet

BLIND_ANSWERS = ("", "0", "A")
"""Answers that need no question; no gold may be judged equal to them unless it is."""

_NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+|/[0-9]+)?")
_SHOWN_FAILURES = 5


class JudgesVerdict(Protocol):
    """As much of `toolenvs.rewards.Verdict` as is needed here; rewards stand above tasks."""

    @property
    def correct(self) -> bool:
        """Whether the answer is right."""
        ...

    @property
    def failed(self) -> bool:
        """Whether the judge failed."""
        ...


class Failure(NamedTuple):
    """One thing that is wrong between a task and its judge."""

    task_id: str
    reason: str


def check(
    task_set: TaskSet, judge: Callable[[str, str], JudgesVerdict], *, strict: bool = False, seed: int = 0
) -> list[Failure]:
    """Hold every gold against the judge that will score it.

    For each task: there must be a gold, and none may be empty; each must be judged correct against itself; none may
    accept "", "0", "A" or the first gold of another task drawn at random, unless the two are equal as text or as
    numbers.

    Args:
        task_set: what to check, all of it; load it with a `limit` to check a part.
        judge: called as `judge(gold, answer)`. A `JudgeError` is reported as a failure of the task.
        strict: raise instead of returning failures.
        seed: of the draw of other tasks.

    Raises:
        TaskError: `strict`, and something failed.
    """
    failures = [
        Failure(task.id, reason)
        for position, task in enumerate(task_set)
        for reason in _reasons(task, _other(task_set, position, seed), judge, _place(task_set, task))
    ]
    if strict and failures:
        shown = "; ".join(f"{task_id}: {reason}" for task_id, reason in failures[:_SHOWN_FAILURES])
        raise TaskError(
            f"{task_set.name}: {len(failures)} failures between golds and judge: {shown}"
            f"{'; ...' if len(failures) > _SHOWN_FAILURES else ''}. Mend the golds, or choose the judge they are for"
        )
    return failures


def _other(task_set: TaskSet, position: int, seed: int) -> Task | None:
    if len(task_set) < 2:
        return None
    step = Draws("check", seed, position).between(1, len(task_set) - 1)
    return task_set[(position + step) % len(task_set)]


def _place(task_set: TaskSet, task: Task) -> str:
    """File and row of a task, in brackets, where its set knows them."""
    where = getattr(task_set, "where", None)
    return f" ({where(task.id)})" if where is not None else ""


def _reasons(task: Task, other: Task | None, judge: Callable[[str, str], JudgesVerdict], place: str) -> Iterator[str]:
    if not task.golds:
        yield f"has no gold answer, and the judge needs one{place}"
        return
    for number, gold in enumerate(task.golds, start=1):
        if not gold.strip():
            yield f"gold {number} of {len(task.golds)} is empty, so that an empty answer would be right{place}"
            return
    try:
        for gold in task.golds:
            verdict = judge(gold, gold)
            if verdict.failed:
                yield f"the judge fails on its gold {gold!r}"
                return
            if not verdict.correct:
                yield f"its gold {gold!r} does not pass its own judge"
        wrong = [*BLIND_ANSWERS, *(other.golds[:1] if other is not None else ())]
        for answer in wrong:
            if any(_equal(answer, gold) for gold in task.golds):
                continue
            for gold in task.golds:
                if judge(gold, answer).correct:
                    yield f"its gold {gold!r} accepts the answer {answer!r}"
    except JudgeError as error:
        yield f"the judge fails: {error}"


def _equal(a: str, b: str) -> bool:
    if a.strip().casefold() == b.strip().casefold():
        return True
    # Plain numbers only: `Fraction` would build the whole of 1e999999999.
    if not _NUMBER.fullmatch(a.strip()) or not _NUMBER.fullmatch(b.strip()):
        return False
    try:
        return Fraction(a.strip()) == Fraction(b.strip())
    except (ValueError, ZeroDivisionError):
        return False
