"""Dialects of SQL: which ones there are, and which one a query was meant for that the engine does not understand."""

from collections.abc import Iterator

from toolenvs.databases.parsing import Unparsed, require, transpiled
from toolenvs.errors import ConfigError, did_you_mean

LIKELY = ("postgres", "mysql", "tsql", "bigquery", "snowflake", "oracle", "duckdb", "sqlite")
"""Dialects that models fall into, the likeliest first."""


def names() -> list[str]:
    """Of the dialects that sqlglot knows.

    Raises:
        MissingExtraError: it is not installed.
    """
    return sorted(name for name in require("a dialect of SQL").Dialect.classes if name)


def check(dialect: str) -> None:
    """Whether there is a dialect of that name; "" for none.

    Raises:
        ConfigError: there is none.
        MissingExtraError: sqlglot is not installed.
    """
    if dialect and dialect not in names():
        raise ConfigError(f"no dialect of SQL is called {dialect!r}; {did_you_mean(dialect, names())}")


def readings(sql: str, dialect: str, *, most: int = 3) -> Iterator[tuple[str, str]]:
    """Dialects that a query can be read as, each with what it then is in `dialect`: texts that differ from the query's.

    The engine's own comes first: a parser knows many words of the others in every dialect.

    Args:
        sql: a query that an engine of `dialect` refused.
        dialect: of the engine.
        most: texts at most.
    """
    seen = {_plain(sql)}
    for name in dict.fromkeys((dialect, *LIKELY)):
        if len(seen) > most:
            return
        try:
            text = transpiled(sql, read=name, write=dialect)
        except Unparsed:
            continue
        if _plain(text) not in seen:
            seen.add(_plain(text))
            yield name, text


def _plain(sql: str) -> str:
    """A text as far as it says anything: without its spaces, and in lower case."""
    return "".join(sql.lower().replace(";", "").split())
