"""Questions over a database, each with its gold query, kept only if its answer can be judged by."""

import os
import sqlite3
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolenvs.tasks.generated import Problem
from toolenvs.tasks.seeding import Draws
from toolenvs.tasks.sql.templates import Drawn, NothingFound, Template

MAX_ROWS = 20
"""Of an answer."""
_KEPT = 20_000
"""Queries of which is remembered how many rows their answers have."""
_TRIES = 10_000


@dataclass(frozen=True, slots=True)
class SqlQuestion:
    """A question and its gold query."""

    text: str
    sql: str
    level: int
    """1: over one table; 2: over two; 3: over three, or one table twice."""
    template: str
    ordered: bool
    """Whether the question asks for an order of the rows."""
    rows: int
    """Of the answer."""


def problem_of(question: SqlQuestion, database: str, evidence: str = "") -> Problem:
    """The question as generators give it.

    Args:
        question: with its gold query.
        database: the name that tools and judges find its database by.
        evidence: what a policy has to know beside the schema.
    """
    return Problem(
        question=question.text,
        answer=question.sql,
        extra={
            "database": database,
            "db_id": database.partition(":")[0],
            "evidence": evidence,
            "level": question.level,
            "template": question.template,
            "ordered": question.ordered,
            "queries": (question.sql,),
        },
    )


class Asker:
    """Draws questions over a database.

    A question is kept where its answer has 1 to 20 rows, no two alike and none with NULL; no row that is cut off ties
    with the last that is kept, what orders them is neither NULL nor a number as text; and the same query gives another
    answer over another state of the database.

    Args:
        book: what templates draw from.
        levels: the templates of each level, from 1.
        path: the database.
        other: one with the same schema and other contents.
        zeros: whether an answer may be zero and nothing else, which can be guessed.
    """

    def __init__(
        self, book: Any, levels: Sequence[Sequence[Template]], path: Path, other: Path, *, zeros: bool = True
    ) -> None:
        self._book, self._levels, self._zeros = book, levels, zeros
        self._paths = (path, other)
        self._bases: tuple[sqlite3.Connection, ...] = ()
        self._pid = 0
        self._rows: dict[str, int] = {}

    def draw(self, draws: Draws, *, levels: tuple[int, int] = (1, 3)) -> SqlQuestion:
        """A question of a level from the first to the second.

        Raises:
            RuntimeError: 10,000 draws in a row gave none: the database cannot be asked about.
        """
        for _ in range(_TRIES):  # what cannot be judged by is drawn again
            level = draws.between(*levels)
            template = draws.choice(self._levels[level - 1])
            try:
                drawn = template(self._book, draws)
            except NothingFound:
                continue
            rows = self.rows(drawn)
            if rows:
                ordered = " ORDER BY " in drawn.sql and not drawn.sql.endswith(" LIMIT 1")
                return SqlQuestion(drawn.text, drawn.sql, level, template.__name__, ordered, rows)
        raise RuntimeError(f"{self._paths[0]}: no question of the levels {levels} has an answer that can be judged by")

    def rows(self, drawn: Drawn) -> int:
        """How many rows the answer has; 0 where it cannot be judged by."""
        found = self._rows.get(drawn.sql)
        if found is None:
            while len(self._rows) >= _KEPT:
                self._rows.pop(next(iter(self._rows)))
            found = self._rows[drawn.sql] = len(self._answer(drawn.sql))
        return found

    def _answer(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of an answer that can be judged by; none else."""
        base, other = self._open()
        rows = base.execute(sql).fetchmany(MAX_ROWS + 1)
        if not 1 <= len(rows) <= MAX_ROWS or any(cell is None for row in rows for cell in row):
            return []
        if not self._zeros and not any(rows[0]) and len(rows) == 1:
            return []
        if len(set(rows)) < len(rows) or (" LIMIT " in sql and self._luck(base, sql, len(rows))):
            return []
        return rows if sorted(other.execute(sql).fetchall(), key=repr) != sorted(rows, key=repr) else []

    @staticmethod
    def _luck(base: sqlite3.Connection, sql: str, kept: int) -> bool:
        """Whether rows tie on what the query orders by, up to the first that is cut off, or it does not order well."""
        head, _, tail = sql.rpartition(" ORDER BY ")
        key = tail.split()[0]
        select, _, rest = head.partition(" FROM ")
        longer = f"{select}, {key} FROM {rest} ORDER BY {tail.rpartition(' LIMIT ')[0]} LIMIT {kept + 1}"
        values = [_rounded(row[-1]) for row in base.execute(longer)]
        return len(set(values)) < len(values) or None in values or any(map(_numeral, values))

    def _open(self) -> tuple[sqlite3.Connection, ...]:
        if self._pid != os.getpid():  # connections do not outlive a fork
            self._bases = bases = tuple(
                sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
                for path in self._paths
            )
            self._pid = os.getpid()
            weakref.finalize(self, _close, bases)
        return self._bases


def _rounded(key: Any) -> Any:
    """A sum of floating-point numbers depends on their order in its last digits; there, keys tie."""
    return float(f"{key:.9g}") if isinstance(key, float) else key


def _numeral(key: Any) -> bool:
    return isinstance(key, str) and key.strip().lstrip("+-").replace(".", "", 1).isdigit()


def _close(bases: tuple[sqlite3.Connection, ...]) -> None:
    for base in bases:
        base.close()
