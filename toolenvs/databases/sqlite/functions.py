"""Functions of SQLite that would differ from run to run, or that could not be stopped, put right on a connection.

The clock stands still, random numbers come from a seed, and printf() refuses widths that nobody wants. What SQLite
itself computes for them, a second connection computes. Where SQLite's own clock cannot be stopped, every function that
may ask for it is replaced.
"""

import math
import random
import re
import sqlite3
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from toolenvs.databases.sqlite import clock

CALL_STEPS = 40
"""Steps that a call from SQLite into this module is counted as; it takes about as long."""
_DATES = ("date", "time", "datetime", "julianday", "unixepoch")
_CONVERSION = re.compile(r"%[-+ 0#,!]*(\*|\d*)(?:\.(\*|\d*))?l*(.?)", re.DOTALL)
_MILLISECONDS = len("2025-01-01 00:00:00.000")
"""Of a moment; SQLite's own clock knows no less."""
_MOMENTS = 65_536
"""Answers about moments, of short texts, that are kept."""
_LEADING = re.compile(r"\s*([+-]?\d{1,19})")


class Functions:
    """The functions of one connection. `start` before every query."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._native = sqlite3.connect(":memory:", isolation_level=None)
        self._random = random.Random()
        self._seeded = False
        self._seed = 0
        self._moments: dict[tuple[str, ...], Any] = {}
        self.now = ""
        self._days: float | None = None
        self.max_bytes = 0
        self.calls = 0
        """Since the query began."""
        self.problem: str | None = None
        """What was wrong with a call since the query began."""
        known = {name for (name,) in self._native.execute("SELECT name FROM pragma_function_list")}
        self._stopped = clock.stopped()
        if not self._stopped:
            self._replace_dates(connection, known)
        for name in ("printf", "format"):
            self._override(connection, name, self._printf, known)
        connection.create_function("random", 0, self._next)
        connection.create_function("randomblob", 1, self._bytes)

    def start(self, seed: int, now: str, max_bytes: int) -> None:
        """Set the seed, the clock and the largest value of the next query."""
        now = now[:_MILLISECONDS]
        if now != self.now:
            self.now = now
            (self._days,) = self._native.execute("SELECT julianday(?)", (now,)).fetchone()
            self._call.cache_clear()
            self._moments.clear()
        if max_bytes != self.max_bytes:
            self.max_bytes = max_bytes
            self._native.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max_bytes)
        if self._stopped:
            clock.tell(self._days)  # others of this process may have told it something else
        self._seed, self._seeded, self.calls, self.problem = seed, False, 0, None

    @property
    def drew(self) -> bool:
        """Whether the query asked for a random number."""
        return self._seeded

    def _replace_dates(self, connection: sqlite3.Connection, known: set[str]) -> None:
        for name in _DATES:
            self._override(connection, name, self._date(name, at=0), known)
        self._override(connection, "strftime", self._date("strftime", at=1), known)
        self._override(connection, "timediff", self._timediff, known)
        for name, function in (("current_date", "date"), ("current_time", "time"), ("current_timestamp", "datetime")):
            self._override(connection, name, self._date(function, at=0), known, arguments=0)

    def _override(
        self,
        connection: sqlite3.Connection,
        name: str,
        function: Callable[..., Any],
        known: set[str],
        arguments: int = -1,
    ) -> None:
        if name in known:
            connection.create_function(name, arguments, function, deterministic=True)

    @lru_cache(maxsize=65_536)  # noqa: B019 - one object lives as long as its process
    def _call(self, name: str, arguments: tuple[Any, ...], kinds: tuple[type, ...]) -> Any:
        """What SQLite's own function gives; `kinds` of the arguments, since 1 and 1.0 are one key and two texts."""
        marks = ",".join("?" * len(arguments))
        return self._native.execute(f"SELECT {name}({marks})", arguments).fetchone()[0]

    def _safe(self, name: str, arguments: tuple[Any, ...]) -> Any:
        self.calls += 1
        try:
            return self._call(name, arguments, tuple(map(type, arguments)))
        except sqlite3.Error as error:
            self.problem = str(error)
            raise

    def _date(self, name: str, at: int) -> Callable[..., Any]:
        kept = self._moments

        def function(*arguments: Any) -> Any:
            found = kept.get((name, *arguments))
            if found is not None:  # a column of dates: the same few, asked for once a row
                self.calls += 1
                return found
            moment = arguments[at : at + 1]
            if len(arguments) == at:
                arguments = (*arguments, self.now)
            elif isinstance(moment[0], str) and moment[0].lower() == "now":
                arguments = (*arguments[:at], self.now, *arguments[at + 1 :])
            elif isinstance(moment[0], str) and moment[0].lower() in ("subsec", "subsecond"):
                arguments = (*arguments[:at], self.now, *arguments[at:])
            else:
                found = self._safe(name, arguments)
                if len(kept) < _MOMENTS and all(isinstance(one, str) and len(one) < 64 for one in arguments):
                    kept[(name, *arguments)] = found
                return found
            return self._safe(name, arguments)

        return function

    def _timediff(self, *arguments: Any) -> Any:
        frozen = (self.now if isinstance(one, str) and one.lower() == "now" else one for one in arguments)
        return self._safe("timediff", tuple(frozen))

    def _printf(self, *arguments: Any) -> Any:
        if arguments and isinstance(arguments[0], str):
            widest = _widest(arguments[0], arguments[1:])
            if widest > self.max_bytes:
                self.problem = f"printf() with a width of {widest:,}: at most {self.max_bytes:,}"
                raise ValueError(self.problem)
        return self._safe("printf", arguments)

    def _next(self) -> int:
        self.calls += 1
        return self._stream().getrandbits(64) - 2**63

    def _bytes(self, size: Any) -> bytes:
        self.calls += 1
        count = max(_whole(size), 1)  # as SQLite does
        if count > self.max_bytes:
            self.problem = "string or blob too big"
            raise ValueError(self.problem)
        return self._stream().randbytes(count)

    def _stream(self) -> random.Random:
        if not self._seeded:
            self._random.seed(self._seed)
            self._seeded = True
        return self._random


def _widest(template: str, arguments: tuple[Any, ...]) -> int:
    """The largest width or precision that a template asks for, by itself or by its arguments."""
    at, widest = 0, 0
    for match in _CONVERSION.finditer(template):
        for size in match.groups("")[:2]:
            if size == "*":
                widest = max(widest, abs(_whole(arguments[at])) if at < len(arguments) else 0)
                at += 1
            elif size:
                widest = max(widest, int(size[:20]))
        if match[3] not in ("%", "n", ""):
            at += 1
    return widest


def _whole(value: Any) -> int:
    """What SQLite takes a value for where it needs an integer."""
    if isinstance(value, float):
        return int(value) if math.isfinite(value) else 2**63 - 1
    if isinstance(value, int):
        return value
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    match = _LEADING.match(value) if isinstance(value, str) else None
    return int(match[1]) if match else 0
