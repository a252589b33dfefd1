"""A database with its changed copies: where queries are run to be judged."""

import asyncio
import hashlib
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from toolenvs import databases
from toolenvs.databases import Database, Result, wire
from toolenvs.errors import JudgeError
from toolenvs.rewards.sql.boundaries import Boundary, boundaries
from toolenvs.rewards.sql.careful import Comparison, compare
from toolenvs.rewards.sql.cells import Tolerance
from toolenvs.rewards.sql.copies import write_copy
from toolenvs.rewards.sql.golds import check_gold, luck, order_of
from toolenvs.rewards.sql.reading import lex, texts_in_single_quotes, unquoted

COPIES = 4
_COMPARED = {"max_rows": 20_000, "max_bytes": 20_000_000, "max_steps": 100_000_000, "timeout_s": 60.0}
"""A right query may look at every pair of a few thousand rows, and may not be refused for that."""
_GOLDS = 10_000
"""Results of golds that are kept."""
_KEPT = 512
"""Small results of other queries: the answers of a group are often the same."""
_VERDICTS = 10_000
_CHANCES = ("timeout", "error")
"""How verdicts begin that another run may not give: of time, or of memory."""
_LONG_STEPS = 500_000
"""Of a query on the database: from here on it is worth asking the copies side by side."""
_EXACT = Tolerance()
_MATCH = Comparison(True, "match")


@dataclass(frozen=True, slots=True)
class _Gold:
    outcome: Result
    order: list[Hashable] | None
    """Labels of the rows, where the gold orders them."""
    usable: bool
    """Whether it is held against: on a copy, not where it fails, or luck decides which rows it keeps."""
    digest: str
    """Of its rows: a result with the same need not be held against it."""


class Suite:
    """One SQLite database and changed copies of it, opened when they are first needed.

    Args:
        source: the SQLite file.
        copies: how many changed copies; 0 for none.
        seed: another seed makes other copies.
        plants: the values that rows of the copies are put on; `planted` takes them from gold queries.
        folder: where the copies are kept, under names that tell their contents; None for a folder that ends with this
            suite.
        options: of `toolenvs.databases.open`, instead of the defaults for judging: 20,000 rows, 20 MB, 60 s, and 100
            million steps.
    """

    def __init__(
        self,
        source: Path | str,
        *,
        copies: int = COPIES,
        seed: int = 0,
        plants: Sequence[Boundary] = (),
        folder: Path | None = None,
        **options: Any,
    ) -> None:
        self.source = Path(source)
        self.copies = copies
        self._seed, self._plants = seed, tuple(dict.fromkeys(plants))
        self._folder = folder
        self._options = {"keep": _KEPT, **_COMPARED, **options}
        self._opened: dict[bool, Database] = {}
        self._pid = os.getpid()
        self._golds: dict[tuple[str, int], _Gold] = {}
        self._verdicts: dict[tuple[Any, ...], Comparison] = {}
        self._lock = threading.Lock()
        self._names: dict[str, frozenset[str]] | None = None  # of tables, with those of their columns
        self._temporary: weakref.finalize[..., Any] | None = None

    def database(self, *, copied: bool = False) -> Database:
        """The database itself; or with its changed copies, which one process has open: `on` is one more than the number
        of a copy.

        Raises:
            DatabaseError: it cannot be opened.
            TaskError: the source is no SQLite database.
        """
        if self._pid != os.getpid():  # a forked child opens its own, and another thread may have held the lock
            self._opened, self._pid, self._lock = {}, os.getpid(), threading.Lock()
        found = self._opened.get(copied)
        if found is None:
            with self._lock:
                if copied not in self._opened:
                    paths = map(self._copy, range(self.copies if copied else 0))
                    beside = [str(path.absolute()) for path in paths]
                    options = {"workers": min(os.cpu_count() or 1, max(len(beside), 1)), **self._options}
                    self._opened[copied] = databases.open(
                        f"sqlite:///{self.source.absolute()}", beside=beside, **options
                    )
                found = self._opened[copied]
        return found

    def _runs(self, number: int) -> Callable[[str], Result]:
        """Runs queries on the database itself, below 0, or on the changed copy of that number."""
        return self.database().query if number < 0 else partial(self.database(copied=True).query, on=number + 1)

    def check(self, gold_sql: str) -> str | None:
        """What is wrong with a gold query; None where nothing is. See `check_gold`."""
        return check_gold(self.strict(gold_sql), self._runs(-1), list(map(self._runs, range(self.copies))))

    async def judge(
        self,
        gold_sql: str,
        said_sql: str,
        *,
        ordered: bool | None = None,
        tolerance: Tolerance = _EXACT,
        extra_columns: bool = False,
    ) -> Comparison:
        """Whether a query answers what the gold does: on the database, and on every copy where the gold says one thing.

        Args:
            gold_sql: the gold query.
            said_sql: the query that is judged.
            ordered: whether the question asks for an order; None: where the gold has an outermost ORDER BY.
            tolerance: between floating-point numbers.
            extra_columns: whether further columns are allowed.

        Raises:
            JudgeError: the gold fails on the database.
            DatabaseError: a database failed.
        """

        key = (gold_sql, said_sql, ordered, tolerance, extra_columns)
        found = self._verdicts.get(key)
        if found is None:
            found = await self._judged(gold_sql, said_sql, ordered, tolerance, extra_columns)
            if not found.reason.startswith(_CHANCES):
                if len(self._verdicts) >= _VERDICTS:
                    self._verdicts.clear()
                self._verdicts[key] = found
        return found

    async def _judged(
        self, gold_sql: str, said_sql: str, ordered: bool | None, tolerance: Tolerance, extra_columns: bool
    ) -> Comparison:
        def held(gold: _Gold, said: Result) -> Comparison:
            if said.truncated:
                return Comparison(False, "too many rows")
            order = gold.order if ordered is not False else None
            if ordered and order is None:
                order = list(range(len(gold.outcome.rows)))
            return compare(gold.outcome, said, order=order, tolerance=tolerance, extra_columns=extra_columns)

        gold = await self._gold(gold_sql, -1)
        if gold.outcome.status != "ok" or not gold.outcome.columns:
            raise JudgeError(f"the gold query fails on {self.source.name}: {gold.outcome.error or 'no columns'}")
        given: list[Result | None] = []
        known = self._known_golds(gold_sql)
        if known is None:  # they may have to be made, and the copies too, which a wrong query is not worth
            said = await self.database().aquery(said_sql, answer=True)
            if not (found := held(gold, said)) or not self.copies:
                return found
            given, known = [said], await self._golds_of_copies(gold_sql)
        golds = [gold, *known]
        places = [place for place, one in enumerate(golds) if one.usable]
        copies, done = self.database(copied=True), len(given)
        if not given or (given[0] is not None and (given[0].steps or 0) <= _LONG_STEPS):
            like = [golds[place].digest for place in places[done:]]
            given += await copies.aquery_while(said_sql, places[done:], like, most_steps=_LONG_STEPS, answer=True)
        if (wrong := _first_wrong(places, given, golds, held)) is not None:
            return wrong
        rest, last = places[len(given) :], given[-1] if given else None
        if last is not None and (last.steps or 0) <= _LONG_STEPS:
            more = await copies.aquery_each(said_sql, rest, answer=True)
        else:  # side by side
            more = await asyncio.gather(*(copies.aquery(said_sql, answer=True, on=place) for place in rest))
        wrong = _first_wrong(rest, more, golds, held)
        return _MATCH if wrong is None else wrong

    async def outcomes(self, gold_sql: str, said_sql: str, number: int = -1) -> tuple[Result, Result]:
        """What both give on the database itself, or on a changed copy, for the published scores; texts may stand in
        double quotes."""
        gold, database = await self._gold(gold_sql, number), self.database(copied=number >= 0)
        return gold.outcome, await database.aquery(self.strict(said_sql), on=number + 1)

    async def holds(self, gold_sql: str, number: int) -> bool:
        """Whether the gold says one thing on a changed copy: it runs there, and luck decides nothing."""
        return (await self._gold(gold_sql, number)).usable

    def strict(self, sql: str) -> str:
        """A query as this database takes it: texts in single quotes, where SQLite lets them stand in double ones."""
        if '"' not in sql:
            return sql
        if self._names is None:
            tables = self.database().schema().tables
            self._names = {one.name.lower(): frozenset(column.name.lower() for column in one.columns) for one in tables}
        said = {unquoted(token) for token in lex(sql)}
        read = [columns for table, columns in self._names.items() if table in said]  # of others, a name is a text
        return texts_in_single_quotes(sql, frozenset(self._names).union(*read))

    def close(self) -> None:
        """Close the databases and remove copies that nobody asked to keep; a second call does nothing."""
        for opened in self._opened.values():
            opened.close()
        self._opened.clear()
        if self._temporary is not None:
            self._temporary()

    async def aclose(self) -> None:
        """As `close`."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> "Suite":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _gold(self, sql: str, number: int) -> _Gold:
        """The gold's result, kept. It is run aside: a copy may have to be made for it."""
        found = self._golds.get((sql, number))
        if found is None:
            found = await asyncio.to_thread(self._run_gold, sql, number)
            while len(self._golds) >= _GOLDS:
                self._golds.pop(next(iter(self._golds)), None)
            self._golds[sql, number] = found
        return found

    def _known_golds(self, sql: str) -> list[_Gold] | None:
        """Those of the copies, where all of them are known, and there are any."""
        golds = [self._golds.get((sql, number)) for number in range(self.copies)]
        known = [gold for gold in golds if gold is not None]
        return known if known and len(known) == self.copies else None

    async def _golds_of_copies(self, sql: str) -> list[_Gold]:
        return await asyncio.gather(*(self._gold(sql, number) for number in range(self.copies)))

    def _run_gold(self, sql: str, number: int) -> _Gold:
        run, sql = self._runs(number), self.strict(sql)
        outcome = run(sql)
        if outcome.status != "ok" or outcome.truncated or not outcome.columns:
            return _Gold(outcome, None, number < 0, "")
        usable = number < 0 or luck(sql, outcome, run) is None
        return _Gold(outcome, order_of(sql, outcome, run), usable, wire.digest(outcome.columns, outcome.rows))

    def _copy(self, number: int) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="toolenvs-sql-"))
            self._temporary = weakref.finalize(self, _remove, self._folder, os.getpid())
        self._folder.mkdir(parents=True, exist_ok=True)
        with self.source.open("rb") as file:
            told = hashlib.file_digest(file, "sha256")
        told.update(repr((_VERSION, number, self._seed, self._plants)).encode())
        path = self._folder / f"{self.source.stem}-{number}-{told.hexdigest()[:16]}.sqlite"
        if not path.is_file():
            write_copy(self.source, path, number=number, seed=self._seed, plants=self._plants)
        return path


def _first_wrong(
    places: Sequence[int],
    given: Sequence[Result | None],
    golds: Sequence[_Gold],
    held: Callable[[_Gold, Result], Comparison],
) -> Comparison | None:
    """The first verdict that is none of a right query; None in place of a result is one that is the gold's."""
    for place, said in zip(places, given, strict=False):
        if said is not None and not (found := held(golds[place], said)):
            return Comparison(False, f"{found.reason} on changed copy {place - 1}") if place else found
    return None


_VERSION = 3
"""Of how copies are made; a kept copy of another is not used."""


def planted(golds: Sequence[str]) -> tuple[Boundary, ...]:
    """What to plant so that these gold queries are told from those with another operator or constant."""
    return tuple(dict.fromkeys(boundary for sql in golds for boundary in boundaries(sql)))


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)
