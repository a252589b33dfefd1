"""Which database a task is about: its file, or one with a name that is made when it is first asked for."""

from pathlib import Path

from toolenvs.errors import TaskError
from toolenvs.tasks.task import Task
from toolenvs.world import sql as world

_ENDINGS = (".sqlite", ".db", ".sqlite3")


def source_of(task: Task, *, folder: str = "", default: str = "") -> Path:
    """The SQLite file of a task.

    Args:
        task: names it in `extra["database"]`, a file or "world:PASSAGES[:SEED]", or in `extra["db_id"]`.
        folder: where `db_id` is a folder with a file of the same name, as BIRD and Spider have it.
        default: what stands for `extra["database"]` where the task has none.

    Raises:
        TaskError: the task names none, or it is not there.
    """
    named, identity = task.extra.get("database") or default, task.extra.get("db_id")
    if not named and folder and isinstance(identity, str):
        tried = [Path(folder) / identity / f"{identity}{ending}" for ending in _ENDINGS]
        found = next((path for path in tried if path.is_file()), None)
        if found is None:
            raise TaskError(f"task {task.id!r}: its database {tried[0]} is not there; is {folder!r} the right folder?")
        return found
    if not isinstance(named, str) or not named:
        raise TaskError(
            f"task {task.id!r} does not say which database it is about: load the set's folder instead of one file, "
            "or give the folder of the databases"
        )
    made = world.named_file(named)
    if made is None and not Path(named).is_file():
        raise TaskError(f"task {task.id!r}: its database {named} is not there")
    return made or Path(named)
