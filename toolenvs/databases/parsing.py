"""SQL as a tree, by sqlglot: an extra, imported where a page asks for it; it never decides whether a query runs."""

import logging
from typing import TYPE_CHECKING, Any

from toolenvs.errors import MissingExtraError

if TYPE_CHECKING:
    from sqlglot.expressions import Expr

logging.getLogger("sqlglot").addHandler(logging.NullHandler())  # or its warnings about queries go to stderr
MAX_CHARS = 10_000
"""Longer queries are not parsed."""


class Unparsed(Exception):
    """A query that cannot be read as a dialect, or not be written in one; its text says why in one line."""


def require(needed_for: str) -> Any:
    """The package.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import sqlglot
    except ImportError as error:
        raise MissingExtraError("sqlglot", "sql", needed_for) from error
    return sqlglot


def parse(sql: str, dialect: str) -> "list[Expr]":
    """The statements of a text.

    Raises:
        Unparsed: it is no SQL of this dialect, or too long, or nested too deeply.
    """
    sqlglot = require("reading SQL")
    if len(sql) > MAX_CHARS:
        raise Unparsed(f"it has {len(sql):,} characters; at most {MAX_CHARS:,} are parsed")
    try:
        trees = [tree for tree in sqlglot.parse(sql, read=dialect) if tree is not None]
    except RecursionError:
        raise Unparsed("it is nested too deeply") from None
    except Exception as error:  # a model's text must never end an episode, whatever the parser makes of it
        raise Unparsed(_line(error)) from error
    if any(isinstance(tree, sqlglot.exp.Command) for tree in trees):
        raise Unparsed("it is a statement that is not parsed")
    return trees


def transpiled(sql: str, *, read: str, write: str) -> str:
    """A query of one dialect in another one.

    Raises:
        Unparsed: it is no SQL of the first, or the second has no words for it.
    """
    sqlglot = require("translating SQL")
    trees = parse(sql, read)
    try:
        level = sqlglot.ErrorLevel.RAISE
        return "; ".join(tree.sql(dialect=write, unsupported_level=level, comments=False) for tree in trees)
    except RecursionError:
        raise Unparsed("it is nested too deeply") from None
    except Exception as error:
        raise Unparsed(_line(error)) from error


def _line(error: Exception) -> str:
    """What a parser says, without its colours and its excerpt."""
    found = getattr(error, "errors", None) or []
    if found and isinstance(found[0], dict) and found[0].get("description"):
        first = found[0]
        place = f" in line {first['line']}, column {first['col']}" if first.get("line") else ""
        near = f", near {first['highlight']!r:.60}" if first.get("highlight") else ""
        return f"{first['description'].rstrip('.')}{place}{near}"
    return " ".join(str(error).split())[:200] or type(error).__name__
