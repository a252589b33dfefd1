"""Questions over a world's database, each with its gold query, kept only if its answer can be judged by."""

import os
import sqlite3
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolenvs.tasks.seeding import Draws
from toolenvs.world.sql.templates import LEVELS
from toolenvs.world.world import World

MAX_ROWS = 20
"""Of an answer."""


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


class Asker:
    """Draws questions over the database of a world.

    A question is kept where its answer has 1 to 20 rows and no NULL, no row that is cut off ties with the last that is
    kept, and the same query gives another answer over another world.

    Args:
        world: the world.
        path: its database.
        other: the database of another world.
    """

    def __init__(self, world: World, path: Path, other: Path) -> None:
        self._world = world
        self._paths = (path, other)
        self._bases: tuple[sqlite3.Connection, ...] = ()
        self._pid = 0

    def draw(self, draws: Draws, *, levels: tuple[int, int] = (1, 3)) -> SqlQuestion:
        """A question of a level from the first to the second."""
        while True:  # what cannot be judged by is drawn again
            level = draws.between(*levels)
            template = draws.choice(LEVELS[level - 1])
            drawn = template(self._world, draws)
            rows = self._answer(drawn.sql)
            if rows:
                ordered = " ORDER BY " in drawn.sql and not drawn.sql.endswith(" LIMIT 1")
                return SqlQuestion(drawn.text, drawn.sql, level, template.__name__, ordered, len(rows))

    def _answer(self, sql: str) -> list[tuple[Any, ...]]:
        """The rows of an answer that can be judged by; none else."""
        base, other = self._open()
        rows = base.execute(sql).fetchall()
        if not 1 <= len(rows) <= MAX_ROWS or any(cell is None for row in rows for cell in row):
            return []
        if " LIMIT " in sql and self._ties(base, sql, len(rows)):
            return []
        return rows if sorted(other.execute(sql).fetchall(), key=repr) != sorted(rows, key=repr) else []

    @staticmethod
    def _ties(base: sqlite3.Connection, sql: str, kept: int) -> bool:
        """Whether rows tie on what the query orders by, up to the first that is cut off."""
        head, _, tail = sql.rpartition(" ORDER BY ")
        key = tail.split()[0]
        select, _, rest = head.partition(" FROM ")
        longer = f"{select}, {key} FROM {rest} ORDER BY {tail.rpartition(' LIMIT ')[0]} LIMIT {kept + 1}"
        values = [row[-1] for row in base.execute(longer)]
        return len(set(values)) < len(values)

    def _open(self) -> tuple[sqlite3.Connection, ...]:
        if self._pid != os.getpid():  # connections do not outlive a fork
            self._bases = bases = tuple(
                sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True, check_same_thread=False)
                for path in self._paths
            )
            self._pid = os.getpid()
            weakref.finalize(self, _close, bases)
        return self._bases


def _close(bases: tuple[sqlite3.Connection, ...]) -> None:
    for base in bases:
        base.close()
