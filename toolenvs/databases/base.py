"""What every database can do: run one query that only reads, and describe itself."""

import asyncio
import contextlib
import functools
import os
import re
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Self

from toolenvs import loop
from toolenvs.databases import ddl, wire
from toolenvs.databases import schema as schemas
from toolenvs.databases.kept import shared
from toolenvs.databases.limits import Limits
from toolenvs.databases.pool import Gone, Pool
from toolenvs.databases.result import Result
from toolenvs.databases.schema import Schema
from toolenvs.databases.worker import KILL_AFTER_S
from toolenvs.errors import ConfigError, DatabaseError

NOW = "2025-01-01 00:00:00"
"""What the clock of a database says by default, in UTC."""
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?", re.ASCII)
_MARK = "\ufeff".encode()
"""Of the order of bytes; it may stand before a text."""
_SCHEMA_TIMEOUT_S = 60.0


class Database(ABC):
    """One database that is only read. Safe to share between threads, event loops and episodes: a query leaves nothing.

    Queries run in processes of their own, which are killed when they do not stop in time.
    """

    dialect: ClassVar[str]
    """The engine's name, as sqlglot spells it: sqlite, duckdb, postgres."""
    engine: ClassVar[str]
    """Module and class of its side in the process."""
    extra: ClassVar[str] = ""
    """Of the package, for what the engine needs; "" where it needs nothing."""
    memory_mb: ClassVar[int] = 512
    """Of a process, where nothing else is asked for."""

    def __init__(
        self,
        source: str,
        *,
        workers: int | None = None,
        memory_mb: int | None = None,
        seed: int = 0,
        now: str = NOW,
        beside: Sequence[str] = (),
        keep: int = 0,
        **limits: Any,
    ) -> None:
        """Open the database; a wrong source is told at once.

        Args:
            source: what the engine opens: a file, or the address of a server.
            beside: further sources, which the same processes have open: `on` says which one a query is about.
            keep: how many results are kept, from 2; see `toolenvs.databases.kept`. SQLite only. 0: none.
            workers: processes that run queries at the same time; by default one for each processor.
            memory_mb: address space of one such process; by default what the engine needs.
            seed: of the engine's random numbers, the same for every query.
            now: what the engine's clock says, "YYYY-MM-DD HH:MM:SS" in UTC.
            limits: those of `Limits`, for queries that bring none.

        Raises:
            ConfigError: an option cannot be used.
            DatabaseError: the source cannot be opened.
        """
        for name, value, least in (("workers", workers, 1), ("memory_mb", memory_mb, 64), ("keep", keep, 0)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
                raise ConfigError(f"databases: {name} must be a whole number from {least}, not {value!r}")
        self.limits = Limits().override(**limits)
        self._seed, self._now = _seed(seed), _moment(now)
        self._places = range(1 + len(beside))
        self._keep = keep
        others = [self._opening(other) for other in beside]
        first = {
            **self._opening(source),
            "beside": others,
            "engine": self.engine,
            "dialect": self.dialect,
            "extra": self.extra,
            "memory_mb": memory_mb or self.memory_mb,
        }
        self._pool = Pool(first, workers or os.cpu_count() or 1)
        self._finish = weakref.finalize(self, self._pool.close)
        self._kept = [shared((self.engine, self._identity(opening))) for opening in (first, *others)]
        self._schemas: dict[int, Schema] = {}
        self._described: dict[tuple[int, int], str] = {}
        try:
            self.schema()
        except BaseException:
            self.close()
            raise

    def _identity(self, opening: Mapping[str, Any]) -> Hashable:
        """What tells a source from all others; where its contents may change, nothing is like it."""
        return object()

    @abstractmethod
    def _opening(self, source: str) -> Mapping[str, Any]:
        """What the process needs to know to open the database.

        Raises:
            ConfigError: the source is not of the right form.
            DatabaseError: there is no such source.
        """

    def query(
        self,
        sql: str,
        limits: Limits | None = None,
        *,
        answer: bool = False,
        seed: int | None = None,
        now: str | None = None,
        on: int = 0,
    ) -> Result:
        """Run one query; whatever it does, a result comes back.

        Args:
            sql: exactly one statement that only reads; a semicolon at its end is fine.
            limits: what it may use; None: the database's.
            answer: refuse what only explains or describes, so that it cannot stand as the answer to a question.
            seed: of the engine's random numbers; None: the database's.
            now: what the engine's clock says; None: the database's.
            on: which database: 0, this one, or from 1 those of `beside`.

        Raises:
            ConfigError: `sql` is no text, or `seed` or `now` cannot be used.
            DatabaseError: the database itself failed, or is closed: never the query's doing.
        """
        limits, started_s = limits or self.limits, time.perf_counter()
        if self._keep and (kept := self._again(sql, on, limits, now)) is not None:
            return kept
        frame = self._frame(sql, limits, answer, seed, now, on, alone=True)
        if isinstance(frame, Result):
            return frame
        try:
            outcome = self._pool.exchange(frame, limits.timeout_s + KILL_AFTER_S)
        except (TimeoutError, Gone) as ended:
            outcome = _ended(ended, limits)
        return self._noted(outcome, started_s, sql, on, limits, now)

    async def aquery(
        self,
        sql: str,
        limits: Limits | None = None,
        *,
        answer: bool = False,
        seed: int | None = None,
        now: str | None = None,
        on: int = 0,
    ) -> Result:
        """As `query`. Cancelling kills the query."""
        limits, started_s = limits or self.limits, time.perf_counter()
        if self._keep and (kept := self._again(sql, on, limits, now)) is not None:
            return kept
        frame = self._frame(sql, limits, answer, seed, now, on, alone=loop.alone.get())
        if isinstance(frame, Result):
            return frame
        try:
            outcome = await self._pool.aexchange(frame, limits.timeout_s + KILL_AFTER_S)
        except (TimeoutError, Gone) as ended:
            outcome = _ended(ended, limits)
        return self._noted(outcome, started_s, sql, on, limits, now)

    async def aquery_each(self, sql: str, on: Sequence[int], *, answer: bool = False) -> list[Result]:
        """As `aquery` on several of the databases, which one process asks one after another for one message."""
        limits, started_s = self.limits, time.perf_counter()
        found = [self._again(sql, place, limits, None) for place in on]
        missing = [place for place, kept in zip(on, found, strict=True) if kept is None]
        if len(missing) > 1:
            frame = self._frame(sql, limits, answer, None, None, tuple(missing), alone=loop.alone.get())
            if isinstance(frame, Result):
                return [frame] * len(on)
            outcome: dict[str, Any] = {}
            with contextlib.suppress(TimeoutError, Gone):  # one of them ended the process: each tells for itself
                timeout_s = len(missing) * (limits.timeout_s + KILL_AFTER_S)
                outcome = await self._pool.aexchange(frame, timeout_s)
            if "each" in outcome:
                ran = zip(missing, outcome["each"], strict=True)
                each = {place: self._noted(one, started_s, sql, place, limits, None) for place, one in ran}
                return [each[place] if kept is None else kept for place, kept in zip(on, found, strict=True)]
        return await asyncio.gather(*(self.aquery(sql, answer=answer, on=place) for place in on))

    async def aquery_while(
        self, sql: str, on: Sequence[int], like: Sequence[str], *, most_steps: int, answer: bool = False
    ) -> list[Result | None]:
        """As `aquery_each`, as long as one database after the other gives what is expected of it.

        Args:
            sql: the query.
            on: the databases, in their order.
            like: what is expected of each, as `wire.digest` tells it.
            most_steps: where more are taken together, the rest is left to the caller.
            answer: as in `query`.

        Returns:
            One result a database, up to the first that is not as expected; None for an expected one, but of the first
            database. It is shorter than `on` also after too many steps, or where the process ended.
        """
        limits, started_s = self.limits, time.perf_counter()
        found: list[Result | None] = []
        if on and not on[0] and (kept := self._again(sql, 0, limits, None)) is not None:
            if wire.digest(kept.columns, kept.rows) != like[0] or (kept.steps or 0) > most_steps:
                return [kept]
            found, on, like = [kept], on[1:], like[1:]
        frame = self._frame(
            sql, limits, answer, None, None, tuple(on), loop.alone.get(), like=tuple(like), most_steps=most_steps
        )
        if isinstance(frame, Result):
            return [frame]
        try:
            outcome = await self._pool.aexchange(frame, len(on) * (limits.timeout_s + KILL_AFTER_S))
        except (TimeoutError, Gone):  # one of them ended the process: each tells for itself
            return found
        for place, one in zip(on, outcome["each"], strict=False):
            found.append(self._noted(one, started_s, sql, place, limits, None) if one else None)
        return found

    def _again(self, sql: str, on: int, limits: Limits, now: str | None) -> Result | None:
        """The result that is kept of a query."""
        return (
            self._kept[on].find(sql, now or self._now, limits) if isinstance(sql, str) and on in self._places else None
        )

    def _noted(
        self, answer: dict[str, Any], started_s: float, sql: str, on: int, limits: Limits, now: str | None
    ) -> Result:
        """The result that a process answered; kept where it would answer the same again."""
        result = _result(answer, started_s)
        if self._keep and answer.get("again"):
            self._kept[on].add(sql, now or self._now, limits, result, self._keep)
        return result

    def schema(self, *, samples: int = 0) -> Schema:
        """Tables and views in order of their names, and up to `samples` values of each column; read once.

        Raises:
            DatabaseError: the database itself failed, or is closed.
        """
        if samples not in self._schemas:
            timeout_s = _SCHEMA_TIMEOUT_S
            asked: dict[str, Any] = {
                "samples": samples,
                "timeout_s": timeout_s,
                "max_value_bytes": self.limits.max_value_bytes,
            }
            asked |= {"seed": self._seed, "now": self._now}  # views may ask for them
            try:
                answer = self._pool.exchange(wire.encode(asked), timeout_s)
            except (TimeoutError, Gone):
                raise DatabaseError(f"the schema could not be read within {timeout_s:.0f} s") from None
            if "broken" in answer:
                raise DatabaseError(answer["broken"])
            self._schemas[samples] = schemas.from_message(self.dialect, answer["tables"])
        return self._schemas[samples]

    async def aschema(self, *, samples: int = 0) -> Schema:
        """As `schema`."""
        known = self._schemas.get(samples)
        return known if known is not None else await asyncio.to_thread(self.schema, samples=samples)

    def described(self, *, max_chars: int, samples: int = 0) -> str:
        """The schema as `toolenvs.databases.ddl.compact` writes it; written once.

        Raises:
            DatabaseError: the database itself failed, or is closed.
        """
        found = self._described.get((max_chars, samples))
        if found is None:
            found = ddl.compact(self.schema(samples=samples), max_chars=max_chars, samples=samples)
            self._described[max_chars, samples] = found
        return found

    def _frame(
        self,
        sql: str,
        limits: Limits,
        answer: bool,
        seed: int | None,
        now: str | None,
        on: int | tuple[int, ...],
        alone: bool,
        **more: Any,
    ) -> bytes | Result:
        if not isinstance(sql, str):
            raise ConfigError(f"query() takes one text of SQL, not {sql!r:.100}")
        if on and not all(place in self._places for place in ((on,) if isinstance(on, int) else on)):
            raise ConfigError(f"query() on {on!r}: the databases are numbered 0 to {self._places[-1]}")
        try:
            text = sql.encode()
        except UnicodeEncodeError:
            return Result("error", code="syntax", error="the query holds half of a surrogate pair: remove it")
        if len(text) > limits.max_sql_bytes:
            told = f"the query is {len(text):,} bytes long, and at most {limits.max_sql_bytes:,} are read: shorten it"
            return Result("refused", code="too_long", error=told)
        if b"\0" in text:
            return Result("error", code="syntax", error="the query holds a NUL character: remove it")
        head = _head(limits, bool(answer), self._now if now is None else _moment(now), on, alone, **more)
        return wire.query(head, self._seed if seed is None else _seed(seed), text.removeprefix(_MARK))

    def close(self) -> None:
        """End the processes; a second call does nothing."""
        self._finish()

    async def aclose(self) -> None:
        """As `close`."""
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


def late(limits: Limits) -> dict[str, Any]:
    """The answer to a query that ran past its deadline."""
    told = f"the query was stopped after {limits.timeout_s:g} s: make it do less"
    return {"status": "timeout", "code": "timeout", "error": told}


def _ended(how: TimeoutError | Gone, limits: Limits) -> dict[str, Any]:
    """The outcome of a query that ended its process, where it was the query's doing."""
    if isinstance(how, TimeoutError) or how.late:
        return late(limits)
    if not how.from_outside:
        told = "the query broke the database engine: write it in another way"
        return {"status": "error", "code": "crashed", "error": told}
    why = f"signal {how.signal}" if how.signal else "by itself"
    raise DatabaseError(f"the database's process ended ({why}) while a query ran") from None


def _result(answer: dict[str, Any], started_s: float) -> Result:
    if "broken" in answer:
        raise DatabaseError(answer["broken"])
    told = answer.get
    return Result(
        answer["status"],
        told("columns", ()),
        told("rows", ()),
        told("truncated", False),
        told("total_rows"),
        told("code"),
        told("error"),
        told("steps"),
        told("repeatable", True),
        time.perf_counter() - started_s,
    )


@functools.lru_cache(1024)
def _head(limits: Limits, answer: bool, now: str, on: int | tuple[int, ...], alone: bool, **more: Any) -> bytes:
    return wire.head(
        on=on,
        alone=alone,
        answer=answer,
        now=now,
        timeout_s=limits.timeout_s,
        max_steps=limits.max_steps,
        max_rows=limits.max_rows,
        max_bytes=limits.max_bytes,
        max_value_bytes=limits.max_value_bytes,
        **more,
    )


def _seed(seed: int) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise ConfigError(f"databases: seed must be a whole number from 0 to 2**64 - 1, not {seed!r}")
    return seed


def _moment(now: str) -> str:
    if isinstance(now, str) and _MOMENT.fullmatch(now) is not None:
        with contextlib.suppress(ValueError):  # a month, a day or an hour that there is not
            datetime.fromisoformat(now.partition(".")[0])
            return now
    raise ConfigError(f"databases: now must be a moment 'YYYY-MM-DD HH:MM:SS', not {now!r}")
