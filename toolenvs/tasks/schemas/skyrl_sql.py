"""SkyRL-SQL: a chat `prompt`, `db_id`, `data` (which set it is of), the gold in `reward_spec.ground_truth`.

The question is the last user message, schema and external knowledge included; a system message stays in `messages`.
"""

from toolenvs.tasks.schemas._columns import (
    Row,
    as_id,
    as_mapping,
    as_messages,
    as_text,
    is_rendered,
    unclaimed,
    user_text,
)
from toolenvs.tasks.schemas._sql import database_id
from toolenvs.tasks.task import Task


def matches(row: Row) -> bool:
    """Whether the row has a database and SkyRL's column for the gold."""
    return row.get("db_id") is not None and row.get("reward_spec") is not None


def to_task(row: Row, index: int) -> Task:
    """Read one row. `extra` has `db_id`, `data` and, where the row limits them, `max_turns`.

    Raises:
        TaskError: the prompt, the query or the database's id is missing.
    """
    messages = as_messages(row.get("prompt"), "prompt")
    truth = as_mapping(row, "reward_spec").get("ground_truth")
    extra_info = as_mapping(row, "extra_info")
    source = row.get("data")
    return Task(
        id=as_id(extra_info.get("index"), index),
        question=user_text(messages, "prompt").strip(),
        golds=(as_text(truth, "reward_spec.ground_truth").strip(),),
        messages=messages,
        rendered=is_rendered(messages),
        source="skyrl_sql" if source is None else as_text(source, "data"),
        extra={**unclaimed(row, "prompt", "reward_spec"), "db_id": database_id(row), "evidence": ""},
    )
