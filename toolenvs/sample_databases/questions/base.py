"""What the questions of every database with a name have in common."""

import contextlib
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolenvs.tasks.seeding import Draws
from toolenvs.tasks.sql.book import Figure, Link, Noun, Word
from toolenvs.tasks.sql.templates import NothingFound, Template

_SPOILS = ('"', " FROM ", " LIMIT ", " ORDER BY ")
"""A name with one of these is not asked about."""


@dataclass(frozen=True, slots=True)
class Entry:
    """How a database is spoken of, and asked about."""

    nouns: Mapping[str, Noun]
    figures: tuple[Figure, ...]
    words: tuple[Word, ...]
    links: tuple[Link, ...]
    thresholds: Mapping[tuple[str, str], tuple[int | float, ...]]
    levels: tuple[tuple[Template, ...], ...]
    """Templates over one table, over two, and over three or one table twice."""
    evidence: str = ""
    """What a policy has to know beside the schema."""


def _sayable(name: str) -> bool:
    """Whether a name can stand in a question and in a query: blanks around it would be lost on the way."""
    return bool(name) and " ".join(name.split()) == name and not any(mark in name for mark in _SPOILS)


class FileBook:
    """A database's book, with names and words from its file."""

    def __init__(self, entry: Entry, path: Path) -> None:
        self.nouns: Mapping[str, Noun] = entry.nouns
        self.figures: Sequence[Figure] = entry.figures
        self.words: Sequence[Word] = entry.words
        self.links: Sequence[Link] = entry.links
        self.thresholds: Mapping[tuple[str, str], Sequence[int | float]] = entry.thresholds
        self._path = path
        self._found: dict[str, list[str | int]] = {}

    def named(self, draws: Draws, table: str) -> str | int:
        """The name of one row that no other row of the table has."""
        label = self.nouns[table].label
        return draws.choice(self.found(f"SELECT {label} FROM {table} GROUP BY {label} HAVING count(*) = 1 ORDER BY 1"))

    def values(self, table: str, column: str) -> Sequence[str | int]:
        """The words of a column."""
        return self.found(f"SELECT DISTINCT {column} FROM {table} WHERE {column} IS NOT NULL ORDER BY 1")

    def found(self, sql: str) -> list[str | int]:
        """The first column of a query's rows, as far as they can stand in a question.

        Raises:
            NothingFound: there is none.
        """
        if sql not in self._found:
            with contextlib.closing(sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=ro", uri=True)) as base:
                cells = [row[0] for row in base.execute(sql)]
            self._found[sql] = [cell for cell in cells if _sayable(str(cell))]
        if not self._found[sql]:
            raise NothingFound(sql)
        return self._found[sql]
