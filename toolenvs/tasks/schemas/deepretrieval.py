"""DeepRetrieval: query writing for literature and SQL; the prompt is chat text that was already rendered.

Golds are document ids or one SQL statement (`{target[, score]}`), the score is in `extra["reward_model"]`. A row of SQL
names its database by the path that it had where the rows were made, and by its id, which is the file's name otherwise.
"""

from pathlib import PurePosixPath
from typing import Any

from toolenvs.tasks.schemas._columns import (
    Row,
    as_golds,
    as_mapping,
    as_messages,
    is_rendered,
    rule,
    source_of,
    unclaimed,
    user_text,
    verl_id,
)
from toolenvs.tasks.task import Task

_SQL = "sql_generation"
_ABILITIES = ("literature_mining", _SQL)


def matches(row: Row) -> bool:
    """Whether the row is of one of its two abilities."""
    return row.get("ability") in _ABILITIES


def to_task(row: Row, index: int) -> Task:
    """Read one row. The question is the whole rendered text, which is what the policy must read.

    Raises:
        TaskError: the prompt or the gold is missing.
    """
    messages = as_messages(row.get("prompt"), "prompt")
    ground_truth = rule(row).get("ground_truth")
    extra = unclaimed(row, "prompt", "data_source")
    if row.get("ability") == _SQL:
        extra |= _database(as_mapping(row, "extra_info"))
    if isinstance(ground_truth, dict):
        rest = {key: value for key, value in ground_truth.items() if key != "target"}
        extra["reward_model"] = {**as_mapping(extra, "reward_model"), **rest}
    return Task(
        id=verl_id(row, index),
        question=user_text(messages, "prompt"),
        golds=as_golds(ground_truth, "reward_model.ground_truth"),
        messages=messages,
        rendered=is_rendered(messages),
        source=source_of(row),
        extra=extra,
    )


def _database(extra_info: Row) -> dict[str, Any]:
    path, identity = extra_info.get("db_path"), extra_info.get("db_id")
    told: dict[str, Any] = {"evidence": ""}  # the rendered prompt has it
    if isinstance(path, str) and path:
        told |= {"database": path, "db_id": PurePosixPath(path).stem}
    if isinstance(identity, str) and identity:
        told["db_id"] = identity
    return told
