"""The SQL judge as a page uses it: the policy's query runs beside the task's gold, and their results are compared.

Both only read, each by itself: what one does is nothing to the other, and nothing to the file.
"""

import atexit
import functools
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Literal

from toolenvs import sample_databases
from toolenvs.databases import Result, dialects
from toolenvs.databases.parsing import Unparsed, transpiled
from toolenvs.databases.sources import asks, made, name_of
from toolenvs.errors import DatabaseError, TaskError
from toolenvs.rewards import sql
from toolenvs.rewards.json_answer import members
from toolenvs.rewards.moment import Moment
from toolenvs.rewards.sql.boundaries import Boundary
from toolenvs.rewards.sql.ran import Ran
from toolenvs.rewards.sql.suite import Suite
from toolenvs.rewards.verdict import Reason, Verdict
from toolenvs.sample_databases import questions
from toolenvs.schema import at_least
from toolenvs.tasks.sql_folders import holds_databases
from toolenvs.tasks.task import Task
from toolenvs.world.sql import NAME, THRESHOLDS

_FENCED = re.compile(r"```(?:(?:sqlite3?|sql|postgres(?:ql)?|duckdb|mysql)\b)?(.*?)```", re.DOTALL | re.IGNORECASE)
Metric = Literal[
    "careful", "bird_ex", "skyrl_set", "spider_test_suite", "deepretrieval", "deepretrieval_bird", "intercode"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[judge]`, name "sql"."""

    metric: Metric = "careful"
    """How results are compared; see `toolenvs.rewards.sql`. "spider_test_suite" runs the queries on every database that
    lies beside the task's own; one that is made has no neighbours, and its changed copies
    stand for them."""
    by_source: Mapping[str, Metric] = field(default_factory=dict)
    """Another metric for tasks whose source begins so: DeepRetrieval scores BIRD and Spider unlike."""
    copies: int = sql.suite.COPIES
    """Changed copies of the database on which the careful comparison must hold too."""
    database: str = ""
    """As in `[tools.sql]`."""
    databases: str = ""
    """As in `[tools.sql]`."""
    reads: Literal["answer", "response", "call"] = "answer"
    """Where the query stands: in what the protocol read as the answer, in all of the policy's last turn, or in the last
    call that was run, whatever ended the episode."""
    fenced: bool = True
    """Whether a query may stand in a fenced block; of several the last one counts."""
    key: str = ""
    """Where the answer is a JSON object, its key for the query; "" where the answer is the query."""
    extra_columns: bool = False
    """Whether a result may have more columns than the gold's."""
    dialect: str = ""
    """What the model writes, as in `[tools.sql]`; a query that is no SQL of it is wrong."""
    schema_chars: int = 6_000
    """Characters of the schema in a prompt that has no tool."""
    samples: int = 3
    """Values of each column that it shows."""
    answer_tag: str = "solution"
    """Around the gold, where a script answers."""

    def __post_init__(self) -> None:
        at_least(0, copies=self.copies, samples=self.samples)
        at_least(1, schema_chars=self.schema_chars)


class Judge:
    """See `toolenvs.rewards.sql`."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._golds: dict[Path, dict[str, None]] = {}
        self._suites: dict[tuple[int, str, tuple[str | None, ...]], Suite] = {}
        dialects.check(options.dialect)
        self.context: Mapping[str, Callable[[Task], str]] = {"schema": self._schema, "evidence": _evidence}
        """What a prompt may say of a task, by the name of its placeholder."""
        self.solution: Callable[[Task], str] | None = None if options.reads == "call" else self._solution
        """From a task to a whole response with its gold; None where the call says it all."""

    def suite(self, task: Task) -> Suite:
        """The task's database with its changed copies, which this process shares.

        Raises:
            TaskError: the task names no database, or it is not there.
        """
        metric = self._metric(task)
        key = (os.getpid(), metric, asks(task))
        found = self._suites.get(key)
        if found is None:
            name = self._database(task)
            copied = metric == "careful" or (metric == "spider_test_suite" and made(name) is not None)
            found = self._suites[key] = self._opened(name, copied)
        return found

    def _opened(self, name: str, copied: bool) -> Suite:
        path = made(name) or Path(name)
        plants = _plants(name) or sql.planted(list(self._golds.get(path, ())))
        kept = path.parent / "copies" if sample_databases.find(name) else None
        return _shared(path, self._options.copies if copied else 0, plants, kept)

    def _metric(self, task: Task) -> Metric:
        others = self._options.by_source.items()
        return next((metric for source, metric in others if task.source.startswith(source)), self._options.metric)

    def _database(self, task: Task) -> str:
        return name_of(task, folder=self._options.databases, default=self._options.database)

    def _is_made(self, task: Task) -> bool:
        """Whether what lies beside the task's database has nothing to do with it."""
        return made(self._database(task)) is not None

    def compare(self, gold: str, answer: str) -> Verdict:
        """Whether two queries are the same text: what they find belongs to a task, see `check_task`."""
        same = gold.strip() == answer.strip()
        return Verdict(same, Reason.MATCH if same else Reason.MISMATCH, answer)

    def check_tasks(self, tasks: list[Task]) -> dict[str, str]:
        """Why tasks cannot be judged, by their ids; called when task files are loaded.

        All golds of a database are looked at first, so that its copies have rows on the values that they compare with.
        """
        wrong = {}
        for task in tasks:
            try:
                name = self._database(task)
                self._golds.setdefault(made(name) or Path(name), {})[task.gold] = None
            except TaskError as error:
                wrong[task.id] = str(error)
        self._suites.clear()  # their copies know fewer golds
        return wrong | {task.id: why for task in tasks if task.id not in wrong and (why := self.check_task(task))}

    def check_task(self, task: Task) -> str | None:
        """Why the task cannot be judged, or None."""
        try:
            suite = self.suite(task)
            if (wrong := suite.check(task.gold)) or self._metric(task) != "spider_test_suite" or self._is_made(task):
                return wrong
            gold = sql.spider_rewrite(task.gold)
            for path in _beside(suite.source):
                one = _shared(path, 0, ())
                outcome = one.database().query(one.strict(gold))
                if outcome.status != "ok":
                    return f"its gold query fails on {path.name}, beside its database ({outcome.error})"
        except (TaskError, DatabaseError) as error:
            return str(error)
        return None

    def _solution(self, task: Task) -> str:
        """A whole response with the gold, as a policy may write it: with texts in single quotes."""
        gold = self.suite(task).strict(task.gold)
        answer = json.dumps({self._options.key: gold}) if self._options.key else gold
        tag = self._options.answer_tag
        return f"<think>\nI have what I need.\n</think>\n<{tag}>\n{answer}\n</{tag}>"

    async def __call__(self, moment: Moment) -> Ran:
        """Judge a finished episode.

        Raises:
            JudgeError: the gold fails.
            DatabaseError: a database failed.
            TaskError: the task has no gold, or names no database.
        """
        started_s = perf_counter()
        metric = self._metric(moment.task)
        said = self.read(self._written(moment))
        if said is None:
            return Ran(False, Reason.NO_ANSWER, None, score=0.0 if metric in _GRADED else None)
        suite, gold = self.suite(moment.task), moment.task.gold
        if self._options.dialect:
            try:
                said = transpiled(said, read=self._options.dialect, write=suite.database().dialect)
            except Unparsed as error:
                return _verdict(0.0, metric, said, f"dialect: {error}", False, started_s)
        if metric == "careful":
            ordered = moment.task.extra.get("ordered")
            found = await suite.judge(
                gold,
                said,
                ordered=ordered if isinstance(ordered, bool) else None,
                extra_columns=self._options.extra_columns,
            )
            runs = found.reason not in ("error", "refused", "timeout", "no query")
            return _verdict(float(found.equal), metric, said, found.reason, runs, started_s)
        if metric == "spider_test_suite":
            value, runs = await self._test_suite(moment.task, suite, said)
            return _verdict(value, metric, said, "", runs, started_s)
        ours, theirs = await suite.outcomes(gold, said)
        value = sql.METRICS[metric](ours, _with_the_rest(theirs) if not ours.truncated else theirs)
        return _verdict(value, metric, said, "", theirs.status == "ok", started_s)

    async def _test_suite(self, task: Task, suite: Suite, said: str) -> tuple[float, bool]:
        """The score on all databases, the task's own first and no further than to one where it is 0."""
        gold, said = sql.spider_rewrite(task.gold), sql.spider_rewrite(said)
        if self._is_made(task):
            places = [(suite, number) for number in range(-1, suite.copies)]
        else:
            places = [(_shared(path, 0, ()), -1) for path in _beside(suite.source)]
        runs = False
        for one, number in places:
            if number >= 0 and not await one.holds(gold, number):
                continue
            pair = await one.outcomes(gold, said, number)
            runs = runs or pair[1].status == "ok"
            if not sql.spider_test_suite(gold, pair[:1], pair[1:]):
                return 0.0, runs
        return 1.0, runs

    def _written(self, moment: Moment) -> str | None:
        """Where the query stands."""
        if self._options.reads == "call":
            query = moment.arguments[-1].get("query") if moment.arguments else None
            return query if isinstance(query, str) else None
        return moment.answer if self._options.reads == "answer" else "".join(moment.said[-1:])

    def read(self, text: str | None) -> str | None:
        """The query in an answer or a response; None where there is none."""
        text = text or ""
        if self._options.key:
            query = members(text).get(self._options.key)
            return query.strip() or None if isinstance(query, str) else None
        fenced = _FENCED.findall(text) if self._options.fenced else []
        if self._options.reads == "response" and not fenced:
            return None
        return (fenced[-1] if fenced else text).strip() or None

    def _schema(self, task: Task) -> str:
        options = self._options
        return self.suite(task).database().described(max_chars=options.schema_chars, samples=options.samples)


_GRADED = frozenset({"intercode"})
"""Metrics between right and wrong; DeepRetrieval's 0.3 is paid for a query that runs, and it is wrong."""


def _verdict(value: float, metric: str, said: str, why: str, runs: bool, started_s: float) -> Ran:
    score = max(value, 0.0) if metric in _GRADED else None
    reason, seconds = Reason.MATCH if value == 1 else Reason.MISMATCH, perf_counter() - started_s
    return Ran(value == 1, reason, said, seconds, score, why=why, runs=runs, published=value)


def _with_the_rest(said: Result) -> sql.Outcome:
    """A result that was cut, as one with a row that no gold has: what was left out may be anything."""
    return sql.Table(said.columns, (*said.rows, (object(),))) if said.truncated else said


def _beside(source: Path) -> list[Path]:
    """The databases of a folder, the one that is named first; only that, where others than its own states lie there."""
    if holds_databases(source.parent):
        return [source]
    return [source, *sorted(p for p in source.parent.iterdir() if p.suffix == source.suffix and p != source)]


_suites: dict[tuple[int, Path, int, tuple[Boundary, ...]], Suite] = {}


def _shared(path: Path, copies: int, plants: tuple[Boundary, ...], folder: Path | None = None) -> Suite:
    """The one suite of this process; closed when it exits."""
    key = (os.getpid(), path.absolute(), copies, plants)
    if key not in _suites:
        _suites[key] = Suite(path, copies=copies, plants=plants, folder=folder)
    return _suites[key]


def _close() -> None:
    for (owner, *_), suite in _suites.items():
        if owner == os.getpid():
            suite.close()


atexit.register(_close)


@functools.cache
def _plants(name: str) -> tuple[Boundary, ...]:
    """What questions over a database that is made compare its columns with; () for a file."""
    entry = questions.find(name)
    thresholds = THRESHOLDS if NAME.fullmatch(name) else entry.thresholds if entry else {}
    return tuple(Boundary(column.lower(), value) for (_, column), values in thresholds.items() for value in values)


def _evidence(task: Task) -> str:
    return str(task.extra.get("evidence") or "")
