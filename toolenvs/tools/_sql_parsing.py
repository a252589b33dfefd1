"""What the SQL tool does with a parser, where a page asks for it: linking, hints and translation."""

from typing import Any

from toolenvs.databases import Database, dialects
from toolenvs.databases.linking import links
from toolenvs.databases.parsing import Unparsed, require, transpiled
from toolenvs.errors import ToolError

MAX_TRIES = 3
"""Readings of a failed query that are run, to see which one was meant."""
MAX_HINT_CHARS = 600
"""Longer rewritten queries are not shown."""


def check(dialect: str) -> None:
    """Whether there is a parser, and a dialect of that name; "" for none.

    Raises:
        MissingExtraError: sqlglot is not installed.
        ConfigError: it knows no such dialect.
    """
    require("the keys linking, hints and dialect of the sql tool")
    dialects.check(dialect)


def translated(query: str, dialect: str, to: str) -> str:
    """A model's query in the database's dialect.

    Raises:
        ToolError: it is no SQL of its own.
    """
    try:
        return transpiled(query, read=dialect, write=to)
    except Unparsed as error:
        raise ToolError(f"the query is not SQL of {dialect} that {to} can run: {error}") from error


async def data(database: Database, query: str, ran: str, *, linking: bool) -> dict[str, Any]:
    """For programs: what was run, where that is not what was written, and what it reads."""
    told: dict[str, Any] = {"ran": ran} if ran != query else {}
    if linking:
        found = links(ran, await database.aschema(samples=0))
        told["reads"] = found and {"tables": found.tables, "columns": found.columns}
    return told


async def hint(database: Database, query: str, *, seed: int) -> str:
    """A line for a failed query that is another dialect's; "" where none is found that runs here."""
    for name, text in dialects.readings(query, database.dialect, most=MAX_TRIES):
        if (await database.aquery(text, seed=seed)).status == "ok":
            other = f" but of {name}" if name != database.dialect else ""
            shown = f"; it can be written so: {text}" if len(text) <= MAX_HINT_CHARS else ""
            return f"\n(This is no SQL of {database.dialect}{other}{shown})"
    return ""
