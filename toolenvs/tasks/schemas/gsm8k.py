"""GSM8K: `question`, and `answer` that ends with the gold after `####`."""

from toolenvs.tasks.schemas._columns import Row, as_golds, as_id, as_text, source_of, unclaimed
from toolenvs.tasks.task import Task

_MARK = "####"


def matches(row: Row) -> bool:
    """Whether the answer is a worked solution with that mark."""
    return isinstance(row.get("question"), str) and _MARK in str(row.get("answer"))


def to_task(row: Row, index: int) -> Task:
    """Read one row; the worked solution goes through in `extra["solution"]`.

    Raises:
        TaskError: the question or the gold is missing.
    """
    solution, _, gold = as_text(row.get("answer"), "answer").rpartition(_MARK)
    return Task(
        id=as_id(row.get("id"), index),
        question=as_text(row.get("question"), "question"),
        golds=as_golds(gold.replace(",", ""), "answer"),
        source=source_of(row),
        extra={**unclaimed(row, "id", "question", "answer", "data_source"), "solution": solution.strip()},
    )
