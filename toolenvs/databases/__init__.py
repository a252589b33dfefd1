"""Databases that agents query: only read, one query at a time, the same text for the same query on every run.

    with databases.open("sqlite:///chinook.db", timeout_s=5) as db:    # or duckdb:///file, postgresql://...
        db.query("SELECT Name FROM Genre LIMIT 3").text
        db.query("DELETE FROM Genre").status                            # "refused"
        db.schema().table("Genre").columns

A backend is one module with a class derived from `Database`; see `BACKENDS`.
"""

import importlib
from pathlib import Path
from typing import Any

from toolenvs.databases.base import Database
from toolenvs.databases.limits import Limits
from toolenvs.databases.result import Result, Status, Value
from toolenvs.databases.schema import Column, ForeignKey, Schema, Table
from toolenvs.errors import ConfigError, did_you_mean
from toolenvs.per_process import PerProcess

__all__ = [
    "BACKENDS",
    "Column",
    "Database",
    "ForeignKey",
    "Limits",
    "Result",
    "Schema",
    "Status",
    "Table",
    "Value",
    "open",
    "shared",
]

BACKENDS = {
    "sqlite": "toolenvs.databases.sqlite.backend:Sqlite",
    "duckdb": "toolenvs.databases.duckdb.backend:DuckDb",
    "postgresql": "toolenvs.databases.postgres.backend:Postgres",
}
"""Scheme of a source -> module and class, imported when asked for."""
_ENDINGS = {".duckdb": "duckdb", ".ddb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite"}

_shared = PerProcess[Database]()


def open(source: str | Path, **options: Any) -> Database:
    """The database at `source`, opened for reading.

    Args:
        source: "sqlite:///file" or "duckdb:///file" (four slashes: an absolute path), a file whose name ends in
            .sqlite, .sqlite3, .db, .duckdb or .ddb, or "postgresql://user@host/name" in libpq's form.
        options: any limit of `Limits` (`timeout_s`, `max_rows`, ...), `workers`, `memory_mb`, `seed` and `now` of
            `Database`.

    Raises:
        ConfigError: the source or an option is not known.
        MissingExtraError: the engine needs a package that is not installed; says which.
        DatabaseError: the database cannot be opened; says what to do.
    """
    scheme, colon, rest = str(source).partition("://")
    if colon:
        scheme = "postgresql" if scheme == "postgres" else scheme
        target = f"{scheme}://{rest}" if scheme == "postgresql" else rest.removeprefix("/")
    else:
        ending = Path(source).suffix.lower()
        scheme, target = _ENDINGS.get(ending, ""), str(source)
        if not scheme:
            raise ConfigError(f"database {str(source)!r}: say which engine reads it, such as 'sqlite:///{source}'")
    if scheme not in BACKENDS:
        raise ConfigError(f"database {str(source)!r}: no engine {scheme!r}; {did_you_mean(scheme, BACKENDS)}")
    module, _, name = BACKENDS[scheme].partition(":")
    database: Database = getattr(importlib.import_module(module), name)(target, **options)
    return database


def shared(source: str | Path, **options: Any) -> Database:
    """The one database of this process at `source` with these options; a forked child gets its own. Closed at exit.

    Raises:
        ConfigError: the source or an option is not known.
        MissingExtraError: the engine needs a package that is not installed.
        DatabaseError: the database cannot be opened.
    """
    return _shared.get((str(source), *sorted(options.items())), lambda: open(source, **options))
