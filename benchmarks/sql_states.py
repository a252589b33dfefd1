"""Other states of a database, to tell two queries apart: larger than the source, and made unlike the judge's copies.

Every table is filled anew: its values are those of the source, those that queries compare with and numbers between;
references prefer some rows and leave others out; what the schema declares (keys, references, NOT NULL, UNIQUE) holds.
"""

import contextlib
import random
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

_MAX_ROWS = 6_000


def grow(source: Path, target: Path, *, seed: int, factor: float, wanted: Iterable[Any] = ()) -> None:
    """Write a state.

    Args:
        source: a SQLite file.
        target: where the state goes.
        seed: another seed, another state.
        factor: how many times as many rows as the source has.
        wanted: constants of queries: rows that hold them are referred to most.
    """
    texts = {value for value in wanted if isinstance(value, str)}
    numbers = [value for value in wanted if not isinstance(value, str)]
    with contextlib.closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as original:
        target.unlink(missing_ok=True)
        with contextlib.closing(sqlite3.connect(target, isolation_level=None)) as base:
            base.execute("PRAGMA synchronous = OFF")
            base.execute("BEGIN")
            told = "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            for name, sql in original.execute(told).fetchall():
                base.execute(sql)
                draws = random.Random(f"{seed} {name}")
                _fill(original, base, name, draws, factor, texts, numbers)
                for number, row in enumerate(original.execute(f'PRAGMA foreign_key_list("{name}")').fetchall()):
                    base.execute(f'CREATE INDEX "by {name} {number}" ON "{name}" ("{row[3]}")')
            base.execute("COMMIT")
            base.execute("ANALYZE")


def _fill(
    original: sqlite3.Connection,
    base: sqlite3.Connection,
    name: str,
    draws: random.Random,
    factor: float,
    texts: set[str],
    numbers: Sequence[float],
) -> None:
    info = original.execute(f'PRAGMA table_info("{name}")').fetchall()
    count = original.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
    rows = min(max(int(count * factor), 12), _MAX_ROWS)
    references = {row[3]: (row[2], row[4]) for row in original.execute(f'PRAGMA foreign_key_list("{name}")').fetchall()}
    unique = set()
    for index in original.execute(f'PRAGMA index_list("{name}")').fetchall():
        found = [row[2] for row in original.execute(f'PRAGMA index_info("{index[1]}")').fetchall()]
        unique |= set(found) if index[2] and len(found) == 1 else set()
    keys = [column[1] for column in info if column[5]]
    filled = []
    for column in info:
        label = column[1]
        if keys == [label] and label not in references:
            filled.append(list(range(1, rows + 1)))
        elif label in references:
            filled.append(_referring(original, references[label], draws, rows, factor, texts, nullable=not column[3]))
        else:
            filled.append(_values(original, name, label, draws, rows, texts, numbers, label in unique))
    marks = ", ".join("?" * len(info))
    base.executemany(f'INSERT OR IGNORE INTO "{name}" VALUES ({marks})', zip(*filled, strict=True))


def _referring(
    original: sqlite3.Connection, reference: tuple[str, str | None], draws: random.Random, rows: int, factor: float,
    texts: set[str], *, nullable: bool,
) -> list[int | None]:  # fmt: skip
    """Keys of the other table, which are its row numbers: a few of them often, many of them never."""
    other = reference[0]
    count = original.execute(f'SELECT count(*) FROM "{other}"').fetchone()[0]
    there = min(max(int(count * factor), 12), _MAX_ROWS)
    ranked = list(range(1, there + 1))
    draws.shuffle(ranked)
    favoured = [place for place in _named(original, other, texts) if place <= there]
    draws.shuffle(favoured)
    ranked = [*favoured, *ranked]
    chosen: list[int | None] = [
        ranked[min(int(draws.expovariate(3.0 / len(ranked))), len(ranked) - 1)] for _ in range(rows)
    ]
    for place in range(rows):
        if favoured and draws.random() < 0.25:
            chosen[place] = draws.choice(favoured)
        elif nullable and draws.random() < 0.1:
            chosen[place] = None
    return chosen


def _named(original: sqlite3.Connection, table: str, texts: set[str]) -> list[int]:
    """Numbers of the rows that will hold a text of the queries: `_values` keeps the order of unique columns."""
    labels = [row[1] for row in original.execute(f'PRAGMA table_info("{table}")').fetchall()]
    rows = original.execute(f'SELECT * FROM "{table}" ORDER BY rowid').fetchall()
    return [
        number
        for number, row in enumerate(rows, start=1)
        if any(isinstance(cell, str) and cell in texts for cell in row)
    ] if labels else []  # fmt: skip


def _values(
    original: sqlite3.Connection, name: str, label: str, draws: random.Random, rows: int, texts: set[str],
    numbers: Sequence[float], unique: bool,
) -> list[Any]:  # fmt: skip
    found = [value for (value,) in original.execute(f'SELECT "{label}" FROM "{name}" ORDER BY rowid').fetchall()]
    present = [value for value in found if value is not None]
    if unique:
        return [found[n] if n < len(found) else f"{found[n % len(found)]} {n}" for n in range(rows)]
    if not present:
        return [None] * rows
    nulls = 1 - len(present) / len(found)
    share = min(max(nulls, 0.1), 0.5) if nulls else 0.0
    pool = sorted(set(present), key=repr)
    if isinstance(present[0], str) and len(pool) > len(found) // 2:  # names: the row keeps its own, mostly
        kept = [found[n] if n < len(found) and draws.random() < 0.8 else draws.choice(pool) for n in range(rows)]
        return [None if draws.random() < share else value for value in kept]
    out: list[Any] = []
    for _ in range(rows):
        dice = draws.random()
        if dice < share:
            out.append(None)
        elif isinstance(present[0], str | bytes) or dice < 0.5:
            liked = [value for value in pool if value in texts] if draws.random() < 0.3 else []
            out.append(draws.choice(liked or pool))
        else:
            low, high = min(present), max(present)
            near = [value for value in numbers if low <= value <= high]
            value = (
                draws.choice(near) + draws.choice((-1, 0, 0, 1)) if near and dice < 0.8 else draws.uniform(low, high)
            )
            out.append(round(value, 2) if isinstance(present[0], float) else int(value))
    return out
