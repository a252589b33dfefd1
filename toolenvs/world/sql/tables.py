"""The world as tables: one for each kind of entity, its links as references, its other facts as columns."""

import contextlib
import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from toolenvs.errors import TaskError
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
    if len(world) > MAX_PASSAGES:
        raise TaskError(f"a world's database has at most {MAX_PASSAGES} entities, not {len(world)}")
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    try:
        with contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as base:
            base.execute("PRAGMA journal_mode = OFF")
            base.execute("BEGIN")
            for kind in KINDS:
                base.execute(schema(kind))
                places = ", ".join("?" * len(columns(kind)))
                base.executemany(f"INSERT INTO {kind} VALUES ({places})", _rows(world, kind))
            base.execute("COMMIT")
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


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
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "toolenvs" / "databases"
    path = cache / f"world-{passages}-{seed}-{_FORM}.sqlite"
    if not path.is_file():
        world = World(passages, seed=seed)
        try:
            cache.mkdir(parents=True, exist_ok=True)
            write(world, path)
        except (OSError, sqlite3.OperationalError) as error:
            raise TaskError(f"{path}: cannot be written ({error}); set XDG_CACHE_HOME to a folder with room") from error
    return path


def named_file(name: str) -> Path | None:
    """The file of "world:PASSAGES[:SEED]"; None for another name.

    Raises:
        TaskError: there is no world of that size, or the cache cannot be written.
    """
    read = NAME.fullmatch(name)
    return world_file(int(read[1]), int(read[2] or 0)) if read else None
