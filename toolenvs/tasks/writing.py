"""Tasks as JSON Lines that `load` reads back: the same ids, questions, golds, sources and further columns."""

import contextlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from toolenvs.errors import TaskError
from toolenvs.tasks.rows import from_rows
from toolenvs.tasks.task import Task

_OWN = ("id", "question", "answer", "data_source")
_PREFIX = "row_"


def as_row(task: Task, more: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The row of a task, in the schema "plain".

    A column of `task.extra` with the name of the task's own is called `row_...`; where the others would make the row
    be read otherwise, as one of another schema, all of them are.

    Args:
        task: what to write.
        more: further columns, over those of the task.
    """
    extra = {**task.extra, **(more or {})}
    own: dict[str, Any] = {
        "id": task.id,
        "question": [dict(message) for message in task.messages] if task.rendered and task.messages else task.question,
        "answer": list(task.golds),
        **({"data_source": task.source} if task.source else {}),
    }
    row = own | {_PREFIX * (key.casefold() in _OWN) + key: value for key, value in extra.items()}
    return row if _reads_back(row, task) else own | {_PREFIX + key: value for key, value in extra.items()}


def _reads_back(row: Mapping[str, Any], task: Task) -> bool:
    """Whether the row is read as this task, with the columns behind its own as they are."""
    try:
        plain = json.loads(json.dumps(row))
        [again] = from_rows([plain])
    except (TaskError, TypeError, ValueError):  # what JSON does not hold is told when it is written
        return False
    same = (again.id, again.question, again.golds, again.source) == (task.id, task.question, task.golds, task.source)
    return same and again.extra == {key: value for key, value in plain.items() if key not in _OWN}


def write(tasks: Iterable[Task], path: str | Path, more: Mapping[str, Mapping[str, Any]] | None = None) -> int:
    """Write a task set to a .jsonl file, whole or not at all; how many tasks it holds.

    Args:
        tasks: what to write.
        path: the file; one that is there is replaced.
        more: further columns, by a task's id.

    Raises:
        TaskError: the file cannot be written, or a column cannot be told in JSON.
    """
    path, count = Path(path), 0
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("w", encoding="utf-8") as rows:
            for task in tasks:
                rows.write(_line(task, (more or {}).get(task.id)) + "\n")
                count += 1
        aside.replace(path)
    except OSError as error:
        raise TaskError(f"{path} cannot be written: {error}; give another place") from error
    finally:
        with contextlib.suppress(OSError):  # there is none where the folder could not be made
            aside.unlink()
    return count


def _line(task: Task, more: Mapping[str, Any] | None) -> str:
    try:
        return json.dumps(as_row(task, more), ensure_ascii=True)
    except (TypeError, ValueError) as error:
        raise TaskError(f"task {task.id!r} holds what JSON does not: {error}") from error
