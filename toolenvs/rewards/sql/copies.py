"""Changed copies of a SQLite database: the same schema, other contents, fixed by a seed.

A wrong query often agrees with the gold on the one state of the data that it was written against. In a copy some rows
are missing, the values of each column are dealt out anew among its rows, and some rows lie exactly on the values that
the gold queries compare with; in every other one, some rows are referred to by exactly as many others as the golds
count, and in the rest of them the smallest or the largest values of each column do not come. What a schema declares
still holds: keys are unique, references lead somewhere, checks are met. So does what it does not declare and data
obey: a column without NULL gets none, one of days only days, one without negative numbers none, one of 0 and 1 nothing
else, and a text that tells rows apart goes on telling them apart. Two queries that are equivalent by the schema stay
equal on every copy.

Not covered: what holds between columns without a declaration (a total that is the sum of its lines) is broken; for
such a database ask for no copies.
"""

import contextlib
import math
import os
import re
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import cycle
from pathlib import Path
from typing import Any

from toolenvs.errors import TaskError
from toolenvs.rewards.sql.boundaries import Boundary
from toolenvs.tasks.seeding import Draws

_DELETED = (0.15, 0.40, 0.05, 0.60)
"""The share of rows that a copy goes without, by its number."""
_PLANTED = 3
"""One row in so many is put on a boundary."""
_CROWDED = 2
"""At most one reference in so many is led elsewhere for the sake of a count."""
_COUNTS = (1, 2, 3, 4, 5, 6)
"""How many rows refer to one, beside what golds count."""
_GONE = 3
"""Of the different values of a column, one in so many does not come at all."""
_LISTED = 20
"""Different texts of a column that may be all there are: one of them is as well told by what it is not."""
_NUMBERS = ("rowid", "oid", "_rowid_")
"""What SQLite numbers the rows of a table by; a column of that name hides it."""
MAX_ROWS = 20_000
"""Of a table in a copy; a large table loses more rows."""


@dataclass(frozen=True, slots=True)
class _Table:
    name: str
    columns: tuple[str, ...]
    """Those that can be written."""
    keys: frozenset[str]
    """Columns of the primary key, of unique indexes, and those that references lead to."""
    references: tuple[tuple[str, str, str], ...]
    """Column, table and column that it refers to; references of one column only."""
    rows: int
    row: str
    """The name of what numbers its rows; "" for WITHOUT ROWID: such a table only loses the rows that refer to
    nothing."""


def write_copy(source: Path, target: Path, *, number: int, seed: int = 0, plants: Iterable[Boundary] = ()) -> None:
    """Write one changed copy. The same arguments give the same contents.

    Args:
        source: a SQLite file; it is only read.
        target: where the copy goes; replaced whole where it exists.
        number: which copy, from 0: each loses another share of its rows.
        seed: another seed gives other copies.
        plants: what to put rows on.

    Raises:
        TaskError: the source is no SQLite database.
    """
    draft = target.with_name(f"{target.name}.{os.getpid()}.draft")
    draft.unlink(missing_ok=True)
    try:
        with (
            contextlib.closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True)) as original,
            contextlib.closing(sqlite3.connect(draft, isolation_level=None)) as copy,
        ):
            original.backup(copy)
            copy.execute("PRAGMA foreign_keys = OFF")
            copy.execute("BEGIN")
            for (trigger,) in copy.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall():
                copy.execute(f"DROP TRIGGER {quoted(trigger)}")  # it would fire; nothing reads it
            _change(copy, number, seed, tuple(plants))
            copy.execute("COMMIT")
            copy.execute("VACUUM")
        os.replace(draft, target)
    except sqlite3.DatabaseError as error:
        raise TaskError(f"{source}: no changed copy can be made ({error}); is it a SQLite database?") from error
    finally:
        draft.unlink(missing_ok=True)


def quoted(name: str) -> str:
    """A name as SQL writes it."""
    return '"' + name.replace('"', '""') + '"'


def _change(copy: sqlite3.Connection, number: int, seed: int, plants: Sequence[Boundary]) -> None:
    tables = _tables(copy)
    distinct = {table.name: _distinct(copy, table) for table in tables}
    share = _DELETED[number % len(_DELETED)]
    whole = [table for table in tables if table.row]
    planted = [
        (table, column, _planted(copy, table, column, plants))
        for table in whole
        for column in table.columns
        if column not in table.keys
    ]
    for table in whole:
        _delete(copy, table, share, Draws("copies", seed, number, "rows", table.name))
    for table in whole:
        for column in table.columns:
            if column not in table.keys:
                _deal(copy, table, column, Draws("copies", seed, number, "deal", table.name, column))
    if number % 2 == 0:
        for table in whole:
            for column in table.columns:
                if all(column != reference[0] for reference in table.references):
                    draws = Draws("copies", seed, number, "thin", table.name, column)
                    once = column in distinct[table.name]
                    _thin(copy, table, column, largest=number % 4 == 2, once=once, draws=draws)
    for table, column, values in planted:  # a reference that leads nowhere is led elsewhere below
        if number % 4 == 2 and values and _different(copy, table, column) == 1:
            continue  # of two values one was taken out: here it stays out
        draws = Draws("copies", seed, number, "plant", table.name, column)
        _plant(copy, table, column, values, draws, once=column in distinct[table.name])
    for table in tables:
        for column, other, parent in table.references:
            draws = Draws("copies", seed, number, "refer", table.name, column)
            _refer(copy, table, column, other, parent, draws)
    if number % 2:
        for table in whole:
            turned = number % 4 // 2 * len(_COUNTS) // 2  # a table with few rows takes the first counts only
            small = (*_COUNTS[turned:], *_COUNTS[:turned])
            _gather(copy, table, plants, small, Draws("copies", seed, number, "gather", table.name))


def _thin(copy: sqlite3.Connection, table: _Table, column: str, *, largest: bool, once: bool, draws: Draws) -> None:
    """Take the smallest or the largest values of a column out of it, or one where no two are alike: what is the most of
    all, and which there are, is another answer then."""
    name, at = quoted(table.name), quoted(column)
    values = f"SELECT DISTINCT {at} COLLATE BINARY AS value FROM {name} WHERE {at} IS NOT NULL"
    (count,) = copy.execute(f"SELECT count(*) FROM ({values})").fetchone()
    if count < 2 or (count == 2 and not largest):  # of two values, once is enough
        return
    most = 1 if once else max(count // _GONE, 1)
    gone = f"SELECT value FROM ({values}) ORDER BY value {'DESC' if largest else ''} LIMIT {most}"
    ids = f"SELECT {table.row} FROM {name} WHERE {at} IS NOT NULL AND {at} COLLATE BINARY {{}} ({gone}) ORDER BY 1"
    out, others = ([row for (row,) in copy.execute(ids.format(how)).fetchall()] for how in ("IN", "NOT IN"))
    if once or column in table.keys:
        copy.executemany(f"DELETE FROM {name} WHERE {table.row} = ?", [(row,) for row in out])
        return
    value = f"(SELECT {at} FROM {name} WHERE {table.row} = ?)"
    pairs = [(draws.choice(others), row) for row in out]
    copy.executemany(f"UPDATE OR IGNORE {name} SET {at} = {value} WHERE {table.row} = ?", pairs)


def _gather(
    copy: sqlite3.Connection, table: _Table, plants: Sequence[Boundary], small: Sequence[int], draws: Draws
) -> None:
    """Make groups of exactly as many rows as golds count, one fewer and one more."""
    parents = {column: (other, parent) for column, other, parent in table.references}
    counted = [plant for plant in plants if plant.counted and isinstance(plant.value, int)]
    for column in table.columns:
        if column in table.keys:
            continue
        if column in parents:
            other, parent = parents[column]
            told, asked = f"SELECT {quoted(parent)} FROM {quoted(other)} ORDER BY 1", counted
        else:
            told = f"SELECT DISTINCT {quoted(column)} FROM {quoted(table.name)} ORDER BY 1"
            asked = [plant for plant in counted if plant.column == column.casefold()]
            if not asked:
                continue
        try:
            values = [value for (value,) in copy.execute(told).fetchall() if value is not None]
        except sqlite3.OperationalError:  # the schema names a table or column that is not there
            continue
        near = [int(plant.value) + step for plant in asked for step in (0, -1, 1)]
        counts = [count for count in dict.fromkeys([*near, *small]) if count > 0]
        _crowd(copy, table, column, values, counts, draws)


def _crowd(
    copy: sqlite3.Connection, table: _Table, column: str, values: Sequence[Any], counts: Sequence[int], draws: Draws
) -> None:
    """Give some values of a column exactly so many rows."""
    name, at = quoted(table.name), quoted(column)
    rows = [
        row for (row,) in copy.execute(f"SELECT {table.row} FROM {name} WHERE {at} IS NOT NULL ORDER BY {table.row}")
    ]
    room = len(rows) // _CROWDED
    order = [values[place] for place in shuffled(range(len(values)), draws)]
    chosen: list[tuple[Any, int]] = []
    most = max(len(order) // 2, min(len(order) - 1, len(counts)))
    for value, count in zip(order[:most], cycle(counts), strict=False):
        if count <= room:
            chosen.append((value, count))
            room -= count
    taken_values = {value for value, _ in chosen}
    others = [value for value in order if value not in taken_values]
    if not chosen or not others:
        return
    copy.execute("CREATE TEMP TABLE crowd (value)")
    copy.executemany("INSERT INTO crowd VALUES (?)", [(value,) for value, _ in chosen])
    taken = f"SELECT {table.row} FROM {name} WHERE {at} IN (SELECT value FROM crowd) ORDER BY {table.row}"
    moved = [(draws.choice(others), row) for (row,) in copy.execute(taken).fetchall()]
    copy.execute("DROP TABLE crowd")
    takers = iter(shuffled(rows, draws))
    placed = [(value, next(takers)) for value, count in chosen for _ in range(count)]
    copy.executemany(f"UPDATE OR IGNORE {name} SET {at} = ? WHERE {table.row} = ?", moved + placed)


def _tables(copy: sqlite3.Connection) -> list[_Table]:
    """The tables that can be changed; virtual ones stay as they are."""
    names = {
        name: not without_rowid
        for schema, name, kind, _, without_rowid, *_ in copy.execute("PRAGMA table_list").fetchall()
        if schema == "main" and kind == "table" and not name.startswith("sqlite_")
    }
    referred: dict[str, set[str]] = {}
    foreign = {}
    for name in names:
        rows = copy.execute(f"PRAGMA foreign_key_list({quoted(name)})").fetchall()
        whole: dict[int, list[tuple[str, str, str | None]]] = {}
        for key, _, other, column, parent, *_ in rows:
            whole.setdefault(key, []).append((column, other, parent))
        foreign[name] = [pairs[0] for pairs in whole.values() if len(pairs) == 1]
        for column, other, parent in [pair for pairs in whole.values() for pair in pairs]:
            referred.setdefault(other.casefold(), set()).add((parent or "").casefold())
            if len(whole) and all(pair[0] != column for pair in foreign[name]):
                referred.setdefault(name.casefold(), set()).add(column.casefold())  # of several columns: left alone
    found = []
    for name in sorted(names):
        info = copy.execute(f"PRAGMA table_xinfo({quoted(name)})").fetchall()
        columns = [row[1] for row in info if row[6] == 0]
        keys = {row[1] for row in info if row[5]}
        for index in copy.execute(f"PRAGMA index_list({quoted(name)})").fetchall():
            if index[2]:
                keys |= {row[2] for row in copy.execute(f"PRAGMA index_info({quoted(index[1])})").fetchall() if row[2]}
        keys |= {column for column in columns if column.casefold() in referred.get(name.casefold(), ())}
        count = copy.execute(f"SELECT count(*) FROM {quoted(name)}").fetchone()[0]
        primary = {other: _primary(copy, other) for _, other, _ in foreign[name]}
        references = tuple(
            (column, other, parent or primary[other])
            for column, other, parent in foreign[name]
            if parent or primary[other]
        )
        own = {row[1].casefold() for row in info}
        number = next((number for number in _NUMBERS if number not in own), "") if names[name] else ""
        found.append(_Table(name, tuple(columns), frozenset(keys), references, count, number))
    return found


def _primary(copy: sqlite3.Connection, table: str) -> str:
    """The column of a primary key; "" where it has none or several."""
    keys = [row[1] for row in copy.execute(f"PRAGMA table_info({quoted(table)})").fetchall() if row[5]]
    return keys[0] if len(keys) == 1 else ""


def _distinct(copy: sqlite3.Connection, table: _Table) -> set[str]:
    """Columns in which no two rows are alike, NULLs aside."""
    told = "SELECT count(DISTINCT {0}) = count({0}) FROM {1}"
    return {
        column
        for column in table.columns
        if copy.execute(told.format(quoted(column), quoted(table.name))).fetchone()[0]
    }


def _delete(copy: sqlite3.Connection, table: _Table, share: float, draws: Draws) -> None:
    ids = _ids(copy, table)
    keep = max(1, min(len(ids) - round(len(ids) * share), MAX_ROWS))
    if keep < len(ids):
        gone = shuffled(ids, draws)[keep:]
        copy.executemany(f"DELETE FROM {quoted(table.name)} WHERE {table.row} = ?", [(row,) for row in gone])


def _ids(copy: sqlite3.Connection, table: _Table) -> list[int]:
    return [row for (row,) in copy.execute(f"SELECT {table.row} FROM {quoted(table.name)} ORDER BY {table.row}")]


def shuffled(items: Sequence[int], draws: Draws) -> list[int]:
    """The items in random order."""
    out = list(items)
    for last in range(len(out) - 1, 0, -1):
        other = draws.below(last + 1)
        out[last], out[other] = out[other], out[last]
    return out


def _deal(copy: sqlite3.Connection, table: _Table, column: str, draws: Draws) -> None:
    """Deal the values of a column out anew; they never leave SQLite, so that types and bytes are kept."""
    ids, name, at = _ids(copy, table), quoted(table.name), quoted(column)
    copy.execute("CREATE TEMP TABLE dealt (taker INTEGER PRIMARY KEY, value)")
    copy.executemany(
        f"INSERT INTO dealt SELECT ?, {at} FROM main.{name} WHERE {table.row} = ?",
        zip(ids, shuffled(ids, draws), strict=True),
    )
    copy.execute("SAVEPOINT dealing")
    try:
        copy.execute(f"UPDATE main.{name} SET {at} = (SELECT value FROM dealt WHERE taker = {name}.{table.row})")
    except sqlite3.IntegrityError:  # a CHECK between columns
        copy.execute("ROLLBACK TO dealing")
    copy.execute("RELEASE dealing")
    copy.execute("DROP TABLE dealt")


def _planted(
    copy: sqlite3.Connection, table: _Table, column: str, plants: Sequence[Boundary]
) -> list[int | float | str]:
    """The values to plant in a column."""
    meant = [plant for plant in plants if plant.column == column.casefold() and not plant.counted]
    if not meant:
        return []
    kinds = {
        kind
        for (kind,) in copy.execute(f"SELECT DISTINCT typeof({quoted(column)}) FROM {quoted(table.name)}").fetchall()
    }
    found: dict[int | float | str, None] = {}
    listed = _different(copy, table, column) <= _LISTED
    dated = kinds <= {"text", "null"} and _holds_dates(copy, table, column)
    for plant in meant:
        around = _days(str(plant.value)) if dated else _around(plant, kinds, listed)
        found |= dict.fromkeys(around)
    least, most = _span(copy, table, column) if found else (0, 0)
    return [value for value in found if isinstance(value, str) or least <= value <= most]


def _different(copy: sqlite3.Connection, table: _Table, column: str) -> int:
    """How many different values a column has."""
    told = f"SELECT count(DISTINCT {quoted(column)}) FROM {quoted(table.name)}"
    return int(copy.execute(told).fetchone()[0])


def _span(copy: sqlite3.Connection, table: _Table, column: str) -> tuple[float, float]:
    """What numbers a column may get: where none is negative, none will be, and where all are 0 or 1, all will."""
    at = quoted(column)
    found = copy.execute(
        f"SELECT min({at}), max({at}) FROM {quoted(table.name)} WHERE typeof({at}) IN ('integer', 'real')"
    ).fetchone()
    least, most = (found[0] or 0, found[1] or 0)
    return (0 if least >= 0 else -math.inf), (
        1 if (least, most) == (0, 1) and not isinstance(most, float) else math.inf
    )


_DAY = "____-__-__"
_DATE = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?(?:%|[ T].*)?")


def _holds_dates(copy: sqlite3.Connection, table: _Table, column: str) -> bool:
    """Whether every text of a column begins with a day: nothing else is put there, which functions of dates do not
    know."""
    name, at = quoted(table.name), quoted(column)
    digits = _DAY.replace("_", "[0-9]")
    told = f"SELECT count({at}), total({at} GLOB '{digits}*') FROM {name}"
    texts, days = copy.execute(told).fetchone()
    return bool(texts) and texts == days


def _days(text: str) -> list[int | float | str]:
    """The days at the ends of a year, a month or a day, and those before and behind."""
    found = _DATE.fullmatch(text)
    if found is None:
        return []
    year, month, day = (int(part) if part else None for part in found.groups())
    try:
        first = date(year or 0, month or 1, day or 1)
        if day:
            last = first
        elif month:
            last = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
        else:
            last = first.replace(month=12, day=31)
        ends = dict.fromkeys((first, last, first - timedelta(days=1), last + timedelta(days=1)))
        return [end.isoformat() for end in ends]
    except (ValueError, OverflowError):  # no such day, or none before it
        return []


_MOST_WHOLE = 2**63 - 1_025
"""No number beyond is put anywhere: what is next to it may be none of SQLite's whole numbers."""


def _around(plant: Boundary, kinds: set[str], listed: bool) -> list[int | float | str]:
    value = plant.value
    if plant.pattern:
        if "text" not in kinds:
            return []
        core = str(value).replace("%", "").replace("_", "q")
        shorter = [core[:-1], core[1:]] if len(core) > 2 else []
        return [core, f"{core}x", f"x{core}", *shorter]
    if isinstance(value, str):
        if "text" not in kinds:
            return []
        return [value] if listed or not value else [value, f"{value}x", f"x{value}"]
    if not -_MOST_WHOLE <= value <= _MOST_WHOLE:
        return []
    if "real" in kinds:
        step = max(abs(value) * 1e-3, 1e-3)
        return [float(value), value + step, value - step]
    if "integer" in kinds:
        return [int(value), int(value) + 1, int(value) - 1]
    return []


def _plant(
    copy: sqlite3.Connection,
    table: _Table,
    column: str,
    values: Sequence[int | float | str],
    draws: Draws,
    *,
    once: bool,
) -> None:
    """Put rows on the values; each text only once where no two are alike."""
    if not values:
        return
    name, at = quoted(table.name), quoted(column)
    ids = shuffled(_ids(copy, table), draws)
    once = once and any(isinstance(value, str) for value in values)
    count = len(values) if once else max(len(ids) // _PLANTED, len(values))
    put = "?1"
    if all(isinstance(value, str) and _DATE.fullmatch(value) for value in values) and _holds_dates(copy, table, column):
        put = f"?1 || substr({name}.{at}, {len(_DAY) + 1})"  # the time of the day stays
    new = f" AND NOT EXISTS (SELECT 1 FROM {name} AS other WHERE other.{at} = {put})" if once else ""
    copy.executemany(
        f"UPDATE OR IGNORE {name} SET {at} = {put} WHERE {table.row} = ?2{new}",
        [(values[place % len(values)], row) for place, row in enumerate(ids[:count])],
    )


def _refer(copy: sqlite3.Connection, table: _Table, column: str, other: str, parent: str, draws: Draws) -> None:
    """Lead references whose row is gone to rows that are left."""
    name, at, target, key = quoted(table.name), quoted(column), quoted(other), quoted(parent)
    lost = f"{at} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {target} AS parent WHERE parent.{key} = child.{at})"
    try:
        keys = [value for (value,) in copy.execute(f"SELECT {key} FROM {target} ORDER BY 1").fetchall()]
        if not table.row or not keys:
            copy.execute(f"DELETE FROM {name} AS child WHERE {lost}")
            return
        rows = copy.execute(f"SELECT {table.row} FROM {name} AS child WHERE {lost} ORDER BY {table.row}").fetchall()
    except sqlite3.OperationalError:  # the schema names a table or column that is not there
        return
    for (row,) in rows:
        try:
            copy.execute(f"UPDATE {name} SET {at} = ? WHERE {table.row} = ?", (draws.choice(keys), row))
        except sqlite3.IntegrityError:  # the pair exists already
            copy.execute(f"DELETE FROM {name} WHERE {table.row} = ?", (row,))
