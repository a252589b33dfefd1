"""Databases with a name, of real data that a package brings: one module each, and no list to keep.

    path = named_file("chinook")            # a file in the cache, made when first asked for

`database = "chinook"` under `[tools.sql]` and `[judge]` reads one, `set = "chinook_sql"` under `[tasks]` asks about it,
and `toolenvs database chinook OUT` writes it to a file. A module gives `fill`, which makes the tables in an empty
database, and `form`, a part of the file's name that changes when they do. What each holds and may be used for stands
in `corpora/`, on a card of its name.
"""

import functools
import importlib
import sqlite3
from pathlib import Path
from typing import Protocol, cast

from toolenvs import plugins
from toolenvs.tasks.sql import files
from toolenvs.tasks.sql.shifting import shift

__all__ = ["Named", "find", "named_file", "names", "shifted_file"]

_SHIFTING = 1
"""To be raised when `shift` gives other rows."""


class Named(Protocol):
    """What a module of this folder offers."""

    def fill(self, base: sqlite3.Connection) -> None:
        """Make the tables in an empty database; the same input gives the same rows in the same order."""

    def form(self) -> str:
        """Part of a file's name: it is another one when `fill` gives something else."""


@functools.cache
def names() -> tuple[str, ...]:
    """Of all databases."""
    return tuple(plugins.names(__name__, "fill"))


def find(name: str) -> Named | None:
    """The database called `name`; None where there is none."""
    return cast(Named, importlib.import_module(f"{__name__}.{name}")) if name in names() else None


def named_file(name: str) -> Path | None:
    """The file of the database called `name`; None where there is none.

    Raises:
        MissingExtraError: the package that holds the data is not installed.
        TaskError: the data are not what they should be, or the cache cannot be written.
    """
    found = find(name)
    return None if found is None else files.cached(f"{name}-{found.form()}", found.fill)


def shifted_file(name: str) -> Path | None:
    """Another state of the database called `name`, see `toolenvs.tasks.sql.shifting`; None where there is none.

    Raises:
        MissingExtraError: the package that holds the data is not installed.
        TaskError: the data are not what they should be, or the cache cannot be written.
    """
    path = named_file(name)
    if path is None:
        return None
    return files.cached(f"{path.stem}-shifted-{_SHIFTING}", lambda base: shift(path, base))
