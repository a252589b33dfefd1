"""LIMR: a JSON list of `{id, prompt, answer, source}`, the prompt being text."""

from toolenvs.tasks.schemas._columns import Row, as_golds, as_id, as_messages, as_text, is_rendered, unclaimed
from toolenvs.tasks.task import Task

_COLUMNS = ("id", "prompt", "answer", "source")


def matches(row: Row) -> bool:
    """Whether the row has all four columns and a prompt of text."""
    return all(row.get(column) is not None for column in _COLUMNS) and isinstance(row["prompt"], str)


def to_task(row: Row, index: int) -> Task:
    """Read one row. The prompt is stripped, as upstream looks scores up by it.

    Raises:
        TaskError: the prompt or the gold is missing.
    """
    prompt = as_text(row.get("prompt"), "prompt").strip()
    messages = as_messages(prompt, "prompt")
    rendered = is_rendered(messages)
    return Task(
        id=as_id(row.get("id"), index),
        question=prompt,
        golds=as_golds(row.get("answer"), "answer"),
        messages=messages if rendered else (),
        rendered=rendered,
        source=as_text(row.get("source"), "source"),
        extra=unclaimed(row, *_COLUMNS),
    )
