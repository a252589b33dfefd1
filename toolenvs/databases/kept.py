"""Small results that a query of a file would give again: the policies of a group often ask, and answer, alike.

All databases of a process that have the same file open share them, so that a judge need not run what a tool just ran.
Only results that depend on the file and the text alone are kept: complete ones, without random numbers, of a query that
ended by itself. What ran within some limits runs the same way within wider ones.
"""

import weakref
from collections.abc import Hashable

from toolenvs.databases.limits import Limits
from toolenvs.databases.result import Result


class Kept:
    """The results of one file."""

    def __init__(self) -> None:
        self._new: dict[tuple[str, str], tuple[Limits, Result]] = {}
        self._old: dict[tuple[str, str], tuple[Limits, Result]] = {}
        self._most = 0

    def __len__(self) -> int:
        return len(self._new) + len(self._old)

    def find(self, sql: str, now: str, limits: Limits) -> Result | None:
        """The result of a query, where it is known that these limits allow it."""
        key = (sql, now)
        found = self._new.get(key)
        if found is None:
            found = self._old.pop(key, None)
            if found is None:
                return None
            self._put(key, found)
        return found[1] if found[0] is limits or _within(found[0], limits) else None

    def add(self, sql: str, now: str, limits: Limits, result: Result, most: int) -> None:
        """Keep a result among `most`, from 2; those that nobody asked for since long are forgotten."""
        self._most = max(self._most, most)
        self._put((sql, now), (limits, result))

    def _put(self, key: tuple[str, str], found: tuple[Limits, Result]) -> None:
        if len(self._new) >= self._most // 2:
            self._old, self._new = self._new, {}
        self._new[key] = found


_all: "weakref.WeakValueDictionary[Hashable, Kept]" = weakref.WeakValueDictionary()


def shared(key: Hashable) -> Kept:
    """The one of this process for a file that `key` tells from all others, its contents included."""
    return _all.setdefault(key, Kept())


def _within(narrow: Limits, wide: Limits) -> bool:
    return (
        narrow.max_steps <= wide.max_steps
        and narrow.max_rows <= wide.max_rows
        and narrow.max_bytes <= wide.max_bytes
        and narrow.max_value_bytes <= wide.max_value_bytes
        and narrow.max_sql_bytes <= wide.max_sql_bytes
        and narrow.timeout_s <= wide.timeout_s
    )
