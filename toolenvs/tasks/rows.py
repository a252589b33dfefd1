"""Task sets made of rows: the schema is found, each row becomes a task, repeats are dropped, bad rows reported."""

import importlib
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

from toolenvs import plugins
from toolenvs.errors import TaskError, did_you_mean
from toolenvs.tasks.files import LocatedRow, Unreadable, locate
from toolenvs.tasks.task import Task

OnBadRow = Literal["error", "skip"]

_SCHEMAS = "toolenvs.tasks.schemas"
_FALLBACK_SCHEMA = "plain"


@dataclass(frozen=True, slots=True)
class Skipped:
    """A row that gave no task."""

    where: str
    """Its place, as `train.jsonl: row 3`; rows count from 1, and in JSON Lines they are lines."""
    reason: str


class RowTaskSet:
    """A `TaskSet` that holds its tasks.

    Args:
        places: where each task's row stands, as `train.jsonl: row 3`.
    """

    def __init__(
        self,
        name: str,
        tasks: tuple[Task, ...],
        *,
        skipped: tuple[Skipped, ...],
        duplicates: int,
        places: tuple[str, ...],
    ) -> None:
        self.name = name
        self.skipped = skipped
        """Rows that could not be used; always empty with `on_bad_row="error"`."""
        self.duplicates = duplicates
        """How many rows repeated an earlier one and were dropped."""
        self._tasks = tasks
        self._places = places
        self._positions = {task.id: position for position, task in enumerate(tasks)}

    def __len__(self) -> int:
        return len(self._tasks)

    def __getitem__(self, index: int) -> Task:
        return self._tasks[index]

    def __iter__(self) -> Iterator[Task]:
        return iter(self._tasks)

    def find(self, task_id: str) -> Task:
        """The task with that id.

        Raises:
            TaskError: no task has it; the message names the nearest id.
        """
        if task_id not in self._positions:
            raise TaskError(f"{self.name}: no task is called {task_id!r}; {_nearest(task_id, self._positions)}")
        return self._tasks[self._positions[task_id]]

    def where(self, task_id: str) -> str:
        """The place of the row that a task was made of, as `train.jsonl: row 3`.

        Raises:
            TaskError: no task has that id.
        """
        return self._places[self._positions[self.find(task_id).id]]

    def without(self, reasons: Mapping[str, str]) -> "RowTaskSet":
        """This set without some of its tasks, noted in `skipped`.

        Args:
            reasons: why each is left out, by its id.
        """
        kept = [(task, place) for task, place in zip(self._tasks, self._places, strict=True) if task.id not in reasons]
        skipped = tuple(Skipped(self.where(task_id), reason) for task_id, reason in reasons.items())
        return RowTaskSet(
            self.name,
            tuple(task for task, _ in kept),
            skipped=self.skipped + skipped,
            duplicates=self.duplicates,
            places=tuple(place for _, place in kept),
        )


def from_rows(
    rows: Iterable[Mapping[str, Any]],
    *,
    schema: str = "auto",
    name: str = "rows",
    on_bad_row: OnBadRow = "error",
    limit: int | None = None,
) -> RowTaskSet:
    """Tasks from any iterable of rows: a list of dicts, a `datasets.Dataset`, `frame.to_dict("records")`.

    Args:
        rows: mappings from column to value; NumPy values are made plain.
        schema: a module of `toolenvs.tasks.schemas`, or `auto`: the one that the first row matches.
        name: stands in error messages, and becomes the set's name.
        on_bad_row: `error` raises at the first row that cannot be used; `skip` notes it in `.skipped`.
        limit: stop after that many tasks.

    Raises:
        TaskError: a row cannot be used, no row is left, or no schema or more than one matches.
    """
    return from_located_rows(
        locate(enumerate(rows, start=1), name), schema=schema, name=name, on_bad_row=on_bad_row, limit=limit
    )


def from_located_rows(
    rows: Iterable[LocatedRow], *, schema: str, name: str, on_bad_row: OnBadRow, limit: int | None
) -> RowTaskSet:
    """As `from_rows`, for rows that know their place."""
    if on_bad_row not in ("error", "skip"):
        raise TaskError(f"{name}: on_bad_row is {on_bad_row!r}; give 'error' or 'skip'")
    check_limit(name, limit)
    reader = None if schema == "auto" else _schema(schema)
    tasks: dict[str, Task] = {}
    places: list[str] = []
    contents: set[tuple[str, tuple[str, ...]]] = set()
    skipped: list[Skipped] = []
    duplicates = 0
    for index, (where, raw) in enumerate(rows):
        try:
            row = _plain_row(raw)
            reader = reader or detect_schema(row)
            task = reader.to_task(row, index)
            _check_encodable(task)
            content = (task.question, task.golds)
            known = tasks.get(task.id)
            repeats = getattr(reader, "REPEATS", False)
            if known is not None and not repeats and (known.question, known.golds) != content:
                raise TaskError(f"id {task.id!r} is taken by another question; make the ids unique")
        except (TaskError, RecursionError) as error:
            reason = "is nested too deep to be read" if isinstance(error, RecursionError) else str(error)
            if on_bad_row == "error":
                raise TaskError(f"{where}: {reason}") from error
            skipped.append(Skipped(where, reason))
            continue
        if known is not None or (repeats and content in contents):
            duplicates += 1
            continue
        tasks[task.id] = task
        places.append(where)
        contents.add(content)
        if len(tasks) == limit:
            break
    if not tasks:
        if skipped:
            where, reason = skipped[0].where, skipped[0].reason
            raise TaskError(f"{name}: all {len(skipped)} rows were skipped, the first ({where}) because {reason}")
        raise TaskError(f"{name}: holds no task; give a file with at least one row")
    return RowTaskSet(name, tuple(tasks.values()), skipped=tuple(skipped), duplicates=duplicates, places=tuple(places))


def check_limit(name: str, limit: object) -> None:
    """Refuse a limit that is neither None nor a whole number from 1 on.

    Raises:
        TaskError: it is one; says so.
    """
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise TaskError(f"{name}: limit is {limit!r}; give at least 1, a whole number")


def detect_schema(row: Mapping[str, Any]) -> ModuleType:
    """The schema that a row matches; `plain` takes what no other does.

    Raises:
        TaskError: none matches, or more than one.
    """
    readers = {name: _schema(name) for name in plugins.names(_SCHEMAS, "to_task")}
    matching = [name for name, reader in readers.items() if name != _FALLBACK_SCHEMA and reader.matches(row)]
    if len(matching) > 1:
        raise TaskError(f"matches the schemas {' and '.join(matching)}; say which with schema=")
    if not matching and not readers[_FALLBACK_SCHEMA].matches(row):
        raise TaskError(f"no schema matches the keys {', '.join(row)}; schemas: {', '.join(readers)}")
    return readers[matching[0] if matching else _FALLBACK_SCHEMA]


def _schema(name: str) -> ModuleType:
    names = plugins.names(_SCHEMAS, "to_task")
    if name not in names:
        raise TaskError(f"no schema is called {name!r}; {did_you_mean(name, names)}")
    return importlib.import_module(f"{_SCHEMAS}.{name}")


def _plain_row(raw: object) -> dict[str, Any]:
    if isinstance(raw, Unreadable):
        raise TaskError(raw.reason)
    if not isinstance(raw, Mapping):
        raise TaskError(f"is {type(raw).__name__}; a row must map columns to values")
    return {str(column): _plain(value) for column, value in raw.items()}


def _plain(value: Any) -> Any:
    """`value` without NumPy: arrays and tuples become lists, scalars become Python's, a missing number becomes None."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def _check_encodable(task: Task) -> None:
    for text in (task.question, *task.golds, *(message["content"] for message in task.messages)):
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise TaskError(f"has half a surrogate pair ({error.reason}), which is not text; repair the row") from error


def _nearest(task_id: str, ids: Mapping[str, int]) -> str:
    if len(ids) > 20:
        hint = did_you_mean(task_id, ids)
        return hint if hint.startswith("did") else f"it has {len(ids)}, the first being {next(iter(ids))!r}"
    return did_you_mean(task_id, ids)
