"""`toolenvs database`: a database with a name, made and written to a file."""

import contextlib
import shutil
import sqlite3
from pathlib import Path
from typing import Annotated

import typer

from toolenvs.errors import ConfigError, did_you_mean


def database(
    name: Annotated[str, typer.Argument(help="Such as chinook, or world:PASSAGES[:SEED].", show_default=False)],
    out: Annotated[
        Path | None, typer.Argument(help="The SQLite file to write.  [default: the user's cache]", show_default=False)
    ] = None,
) -> None:
    """Make one of the databases that agents query, and tell its tables. Needs no network."""
    from toolenvs import sample_databases
    from toolenvs.databases.sources import made

    path = made(name)
    if path is None:
        known = [*sample_databases.names(), "world:PASSAGES"]
        raise ConfigError(f"no database is called {name!r}; {did_you_mean(name, known)}")
    if out is not None:
        if out.exists():
            raise ConfigError(f"{out} exists: give a name that is free")
        try:
            shutil.copyfile(path, out)
        except OSError as error:
            raise ConfigError(f"{out} cannot be written: {error.strerror}") from error
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as base:
        tables = [row[0] for row in base.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid")]
        counts = {table: base.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0] for table in tables}
    told = ", ".join(f"{table} {count:,}" for table, count in counts.items())
    typer.echo(f"{out or path}: {sum(counts.values()):,} rows in {len(counts)} tables: {told}")
