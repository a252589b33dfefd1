"""Databases that a program makes: written whole or not at all, and kept in the user's cache."""

import contextlib
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path

from toolenvs.errors import TaskError

Fill = Callable[[sqlite3.Connection], None]
"""Makes tables and rows in an empty database."""


def write(path: Path, fill: Fill) -> None:
    """Write a database. The same rows give the same bytes with the same SQLite."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    try:
        with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as base:
            base.execute("PRAGMA journal_mode = OFF")
            base.execute("BEGIN")
            fill(base)
            base.execute("COMMIT")
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def cached(name: str, fill: Fill) -> Path:
    """The file of that name in the user's cache, written when it is first asked for.

    Raises:
        TaskError: the cache cannot be written.
    """
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "toolenvs" / "databases"
    path = cache / f"{name}.sqlite"
    if not path.is_file():
        try:
            cache.mkdir(parents=True, exist_ok=True)
            write(path, fill)
        except (OSError, sqlite3.OperationalError) as error:
            raise TaskError(f"{path}: cannot be written ({error}); set XDG_CACHE_HOME to a folder with room") from error
    return path
