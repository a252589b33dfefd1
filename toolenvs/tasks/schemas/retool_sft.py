"""ReTool's cold start: whole conversations, `{messages}` or `{messages, tools}`.

The question is the first user message, from the mark `*user question:*` on where it has one. The conversation goes
through in `extra["messages"]`, tool calls included; `Task.messages` is its part before the first reply. A gold is
there only where the row has a column `answer` or `ground_truth`.
"""

from itertools import takewhile

from toolenvs.tasks.schemas._columns import (
    Row,
    as_golds,
    as_id,
    as_messages,
    is_rendered,
    source_of,
    unclaimed,
    user_text,
)
from toolenvs.tasks.task import Task

_MARK = "*user question:*"
_GOLD_COLUMNS = ("answer", "ground_truth")


def matches(row: Row) -> bool:
    """Whether the row has a list of `messages` and nothing that a reward could be drawn from."""
    return isinstance(row.get("messages"), list) and row.get("reward_model") is None


def to_task(row: Row, index: int) -> Task:
    """Read one row.

    Raises:
        TaskError: there is no user message.
    """
    messages = as_messages(row.get("messages"), "messages")
    opening = user_text(messages, "messages", last=False)
    gold_column = next((column for column in _GOLD_COLUMNS if row.get(column) is not None), None)
    return Task(
        id=as_id(row.get("id"), index),
        question=opening.rpartition(_MARK)[2].strip(),
        golds=() if gold_column is None else as_golds(row[gold_column], gold_column),
        messages=tuple(takewhile(lambda message: message["role"] != "assistant", messages)),
        rendered=is_rendered(messages),
        source=source_of(row),
        extra=unclaimed(row, "id", "data_source", *_GOLD_COLUMNS),
    )
