"""DeepResearcher: the prompt is the question alone; accepted answers are joined by `<|answer_split|>`."""

from toolenvs.tasks.schemas._columns import (
    Row,
    as_golds,
    as_messages,
    is_rendered,
    rule,
    source_of,
    unclaimed,
    user_text,
    verl_id,
)
from toolenvs.tasks.task import Task

_SEPARATOR = "<|answer_split|>"


def matches(row: Row) -> bool:
    """Whether the row is of that ability or has the separator in its gold."""
    return row.get("ability") == "search & question answering" or _SEPARATOR in str(rule(row).get("ground_truth"))


def to_task(row: Row, index: int) -> Task:
    """Read one row.

    Raises:
        TaskError: the prompt or the gold is missing.
    """
    messages = as_messages(row.get("prompt"), "prompt")
    joined = as_golds(rule(row).get("ground_truth"), "reward_model.ground_truth")
    golds = [part for gold in joined for part in gold.split(_SEPARATOR) if part.strip()]
    return Task(
        id=verl_id(row, index),
        question=user_text(messages, "prompt"),
        golds=as_golds(golds, "reward_model.ground_truth"),
        messages=messages,
        rendered=is_rendered(messages),
        source=source_of(row),
        extra=unclaimed(row, "prompt", "data_source"),
    )
