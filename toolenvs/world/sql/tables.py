"""The world as tables: one for each kind of entity, its links as references, its other facts as columns."""

import re
import sqlite3
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from toolenvs.errors import TaskError
from toolenvs.tasks.sql import files
from toolenvs.world.entities import FIGURES, KINDS, RELATIONS, WORDS, Key, Kind
from toolenvs.world.world import World

MAX_PASSAGES = 100_000
NAME = re.compile(r"world:(\d{1,6})(?::(\d{1,18}))?")
"""How a world's database is named: "world:PASSAGES" or "world:PASSAGES:SEED"."""
_FORM = 1
"""To be raised when worlds or their tables change, so that no file of before is used."""


def columns(kind: Kind) -> list[str]:
    """The columns of a kind's table, in order."""
    return ["id", "name", *(f"{fact}_id" for fact in RELATIONS[kind]), *FIGURES[kind], *WORDS[kind]]


def schema(kind: Kind) -> str:
    """The statement that makes a kind's table. References may lead to tables that are made later."""
    lines = ["id INTEGER PRIMARY KEY", "name TEXT NOT NULL UNIQUE"]
    lines += [f"{fact}_id INTEGER NOT NULL REFERENCES {other} (id)" for fact, other in RELATIONS[kind].items()]
    lines += [f"{fact} INTEGER NOT NULL" for fact in FIGURES[kind]]
    lines += [f"{fact} TEXT NOT NULL" for fact in WORDS[kind]]
    return f"CREATE TABLE {kind} (\n    " + ",\n    ".join(lines) + "\n)"


def write(world: World, path: Path) -> None:
    """Write the world's database. The same world gives the same bytes with the same SQLite.

    Raises:
        TaskError: the world is too large.
    """
    files.write(path, partial(_fill, _sized(world)))


def _sized(world: World) -> World:
    if len(world) > MAX_PASSAGES:
        raise TaskError(f"a world's database has at most {MAX_PASSAGES} entities, not {len(world)}")
    return world


def _fill(world: World, base: sqlite3.Connection) -> None:
    for kind in KINDS:
        base.execute(schema(kind))
        places = ", ".join("?" * len(columns(kind)))
        base.executemany(f"INSERT INTO {kind} VALUES ({places})", _rows(world, kind))


def _rows(world: World, kind: Kind) -> Iterator[tuple[int | str, ...]]:
    """Ids count from 1, as people expect of them."""
    for number in range(world.counts[kind]):
        entity = world.entity(Key(kind, number))
        links = (entity.links[fact].number + 1 for fact in RELATIONS[kind])
        figures = (entity.figures[fact] for fact in FIGURES[kind])
        yield (number + 1, entity.name, *links, *figures, *(entity.words[fact] for fact in WORDS[kind]))


def world_file(passages: int = 1_000, seed: int = 0) -> Path:
    """The file of a world's database in the user's cache, written when it is first asked for.

    Raises:
        TaskError: there is no world of that size, or the cache cannot be written.
    """
    return files.cached(
        f"world-{passages}-{seed}-{_FORM}", lambda base: _fill(_sized(World(passages, seed=seed)), base)
    )


def named_file(name: str) -> Path | None:
    """The file of "world:PASSAGES[:SEED]"; None for another name.

    Raises:
        TaskError: there is no world of that size, or the cache cannot be written.
    """
    read = NAME.fullmatch(name)
    return world_file(int(read[1]), int(read[2] or 0)) if read else None
