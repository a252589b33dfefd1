"""What the schemas of text-to-SQL sets share: a question, a gold query, and the database that both are about."""

import re
from typing import Any

from toolenvs.errors import TaskError
from toolenvs.tasks.schemas._columns import Row, as_id, as_text, unclaimed
from toolenvs.tasks.task import Task

_DATABASE_ID = re.compile(r"[^/\\\0]+")


def sql_task(
    row: Row,
    index: int,
    *,
    source: str,
    sql: str,
    question: str = "question",
    hint: str = "",
    drop: tuple[str, ...] = (),
) -> Task:
    """The task of a row: its gold is the query, and `extra` has `db_id` and `evidence` ("" for none).

    Args:
        row: the row.
        index: its position.
        source: name of the set.
        sql: the key of the gold query.
        question: the key of the question.
        hint: the key of knowledge that the question needs; "" for none.
        drop: keys that only say again what others say.

    Raises:
        TaskError: the question, the query or the database's id is missing.
    """
    evidence = row.get(hint) if hint else None
    if evidence is not None and not isinstance(evidence, str):
        raise TaskError(f"key {hint!r} holds {type(evidence).__name__}; it must be text")
    extra: dict[str, Any] = unclaimed(row, "question_id", question, sql, *([hint] if hint else []), *drop)
    own = row.get("question_id")
    return Task(
        id=as_id(row.get("id") if own is None else own, index),
        question=as_text(row.get(question), question).strip(),
        golds=(as_text(row.get(sql), sql).strip(),),
        source=source,
        extra={**extra, "db_id": database_id(row), "evidence": (evidence or "").strip()},
    )


def database_id(row: Row) -> str:
    """The column `db_id`, or InterCode's `db`, which names a folder and a file.

    Raises:
        TaskError: it is missing, or is a path.
    """
    key = "db" if row.get("db_id") is None and row.get("db") is not None else "db_id"
    name = as_text(row.get(key), key).strip()
    if not _DATABASE_ID.fullmatch(name) or name in (".", ".."):
        raise TaskError(f"key {key!r} is {name!r}; it must be the name of a database, not a path")
    return name
