"""Which database a task is about: its file, or one with a name that is made when it is first asked for."""

import os
from collections.abc import Iterator
from pathlib import Path

from toolenvs import sample_databases
from toolenvs.errors import TaskError, did_you_mean
from toolenvs.tasks.sql_folders import places
from toolenvs.tasks.task import Task
from toolenvs.world import sql as world

_ROOTS = {"synsql": "SynSQL-2.5M/databases", "spider": "spider/database", "bird": "bird/train/train_databases"}
"""Where OmniSQL's data, which SkyRL-SQL is trained on, have the databases of a set: below one folder for all sets."""


def source_of(task: Task, *, folder: str = "", default: str = "") -> Path:
    """The SQLite file of a task.

    Args:
        task: names it in `extra["database"]`, a file, "world:PASSAGES[:SEED]" or a name such as "chinook", or in
            `extra["db_id"]`; a file that is not there is looked for by `db_id` too.
        folder: where `db_id` is a folder with a file of the same name, as BIRD and Spider have it; or OmniSQL's folder
            of all sets, for tasks whose `extra["data"]` says which.
        default: what tasks that name none are about.

    Raises:
        TaskError: the task names none, or it is not there.
    """
    name = name_of(task, folder=folder, default=default)
    return made(name) or Path(name)


def asks(task: Task) -> tuple[str | None, ...]:
    """All that `source_of` looks at in a task: tasks that ask alike are about the same database."""
    own, identity = (task.extra.get(key) for key in ("database", "db_id"))
    names = (name if isinstance(name, str) else None for name in (own, identity))
    return (*names, str(task.extra.get("data") or ""))


def made(name: str) -> Path | None:
    """The file of a database that is made, and so lies among all others that are; None for the name of a file.

    Raises:
        TaskError: it cannot be made.
        MissingExtraError: the package that holds its data is not installed.
    """
    return world.named_file(name) or sample_databases.named_file(name)


def name_of(task: Task, *, folder: str = "", default: str = "") -> str:
    """The database of a task: the path of a file that is there, or the name of one that is made. As `source_of`.

    Raises:
        TaskError: the task names none, or it is not there.
    """
    own, identity = task.extra.get("database"), task.extra.get("db_id")
    tried: list[Path] = []
    if isinstance(own, str) and own:
        if made(own) or os.path.isfile(own):  # asked for every call: a Path takes five times as long
            return own
        tried.append(Path(own))
    if folder and isinstance(identity, str):
        places = list(_places(Path(folder), identity, str(task.extra.get("data") or "")))
        found = next((place for place in places if place.is_file()), None)
        if found is not None:
            return str(found)
        tried += places[:1]
    if tried:
        there = " nor ".join(map(str, tried))
        hint = f"; is {folder!r} the right folder?" if folder else ", and no folder of databases is given"
        if isinstance(own, str) and own.isidentifier():
            hint += f"; {did_you_mean(own, sample_databases.names())}"
        raise TaskError(f"task {task.id!r}: its database {there} is not there{hint}")
    elsewhere = isinstance(identity, str) and bool(default) and made(default) is not None  # asks about its own
    if not default or elsewhere:
        raise TaskError(
            f"task {task.id!r} does not say which database it is about: load the set's folder instead of one file, "
            "or give the folder of the databases"
        )
    if made(default) is None and not Path(default).is_file():
        hint = f"; {did_you_mean(default, sample_databases.names())}" if default.isidentifier() else ""
        raise TaskError(f"task {task.id!r}: its database {default} is not there{hint}")
    return default


def _places(folder: Path, identity: str, data: str) -> Iterator[Path]:
    """Where the database of that id may be."""
    for root in (folder, *([folder / _ROOTS[data]] if data in _ROOTS else [])):
        yield from places(root, identity)
