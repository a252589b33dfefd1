"""SkyRL-SQL: a chat `prompt`, `db_id`, `data` (which set it is of), the gold in `reward_spec.ground_truth`.

The last user message holds the schema, what the question needs to know, and the question, each behind a name in braces;
a message of another form is the question as a whole. A system message stays in `messages`.
"""

import re

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

_PARTS = re.compile(
    r"\s*\{db_details\}:.*;\s*\{external_knowledge\}:(.*?);\s*\{question\}:\s*(.*\S)\s*", re.DOTALL | re.IGNORECASE
)


def matches(row: Row) -> bool:
    """Whether the row has a database and SkyRL's column for the gold."""
    return row.get("db_id") is not None and row.get("reward_spec") is not None


def to_task(row: Row, index: int) -> Task:
    """Read one row. `extra` has `db_id`, `data` and `evidence`, and the row's `max_turns`, which the budget says here.

    Raises:
        TaskError: the prompt, the query or the database's id is missing.
    """
    messages = as_messages(row.get("prompt"), "prompt")
    truth = as_mapping(row, "reward_spec").get("ground_truth")
    extra_info = as_mapping(row, "extra_info")
    source = row.get("data")
    told = user_text(messages, "prompt").strip()
    parts = _PARTS.fullmatch(told)
    evidence, question = (parts[1].strip(), parts[2]) if parts else ("", told)
    return Task(
        id=as_id(extra_info.get("index"), index),
        question=question,
        golds=(as_text(truth, "reward_spec.ground_truth").strip(),),
        messages=messages,
        rendered=is_rendered(messages),
        source="skyrl_sql" if source is None else as_text(source, "data"),
        extra={**unclaimed(row, "prompt", "reward_spec"), "db_id": database_id(row), "evidence": evidence},
    )
