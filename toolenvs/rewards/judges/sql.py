"""The SQL judge as a page uses it: the policy's query runs beside the task's gold, and their results are compared."""

import atexit
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Literal

from toolenvs.databases import ddl
from toolenvs.databases.sources import source_of
from toolenvs.errors import DatabaseError, TaskError
from toolenvs.rewards import sql
from toolenvs.rewards.moment import Moment
from toolenvs.rewards.sql.boundaries import Boundary
from toolenvs.rewards.sql.ran import Ran
from toolenvs.rewards.sql.suite import Suite
from toolenvs.rewards.verdict import Reason, Verdict
from toolenvs.schema import at_least
from toolenvs.tasks.task import Task
from toolenvs.world.sql import NAME, THRESHOLDS

_FENCED = re.compile(r"```(?:sql|sqlite)?[^\S\n]*\n(.*?)```", re.DOTALL | re.IGNORECASE)
_WORLD = tuple(Boundary(column, value) for (_, column), values in THRESHOLDS.items() for value in values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[judge]`, name "sql"."""

    metric: Literal[
        "careful", "bird_ex", "skyrl_set", "spider_test_suite", "deepretrieval", "deepretrieval_bird", "intercode"
    ] = "careful"
    """How results are compared; see `toolenvs.rewards.sql`. "spider_test_suite" runs the queries on every database that
    lies beside the task's own."""
    copies: int = sql.suite.COPIES
    """Changed copies of the database on which the careful comparison must hold too."""
    database: str = ""
    """As in `[tools.sql]`."""
    databases: str = ""
    """As in `[tools.sql]`."""
    reads: Literal["answer", "response"] = "answer"
    """Where the query stands: in what the protocol read as the answer, or in all of the policy's last turn. Of fenced
    blocks in it, the last one counts."""
    key: str = ""
    """Where the answer is a JSON object, its key for the query; "" where the answer is the query."""
    extra_columns: bool = False
    """Whether a result may have more columns than the gold's."""
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
        self.context: Mapping[str, Callable[[Task], str]] = {"schema": self._schema, "evidence": _evidence}
        """What a prompt may say of a task, by the name of its placeholder."""

    def suite(self, task: Task) -> Suite:
        """The task's database with its changed copies, which this process shares.

        Raises:
            TaskError: the task names no database, or it is not there.
        """
        path = source_of(task, folder=self._options.databases, default=self._options.database)
        named = NAME.fullmatch(str(task.extra.get("database") or self._options.database))
        plants = _WORLD if named else sql.planted(list(self._golds.get(path, ())))
        return _shared(path, self._options.copies if self._options.metric == "careful" else 0, plants)

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
                path = source_of(task, folder=self._options.databases, default=self._options.database)
                self._golds.setdefault(path, {})[task.gold] = None
            except TaskError as error:
                wrong[task.id] = str(error)
        return wrong | {task.id: why for task in tasks if task.id not in wrong and (why := self.check_task(task))}

    def check_task(self, task: Task) -> str | None:
        """Why the task cannot be judged, or None."""
        try:
            return self.suite(task).check(task.gold)
        except (TaskError, DatabaseError) as error:
            return str(error)

    def solution(self, task: Task) -> str:
        """A whole response with the gold."""
        answer = json.dumps({self._options.key: task.gold}) if self._options.key else task.gold
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
        said = self.read(moment.answer if self._options.reads == "answer" else "".join(moment.said[-1:]))
        if said is None:
            return Ran(False, Reason.NO_ANSWER, None, score=None if self._options.metric in _EXACT else 0.0)
        suite, gold, metric = self.suite(moment.task), moment.task.gold, self._options.metric
        if metric == "careful":
            ordered = moment.task.extra.get("ordered")
            found = await suite.judge(
                gold,
                said,
                ordered=ordered if isinstance(ordered, bool) else None,
                extra_columns=self._options.extra_columns,
            )
            runs = found.reason not in ("error", "refused", "timeout", "no query")
            return self._verdict(float(found.equal), said, found.reason, runs, perf_counter() - started_s)
        if metric == "spider_test_suite":
            return await self._test_suite(suite, gold, said, started_s)
        outcomes = await suite.outcomes(gold, said)
        value = sql.METRICS[metric](*outcomes)
        return self._verdict(value, said, "", outcomes[1].status == "ok", perf_counter() - started_s)

    async def _test_suite(self, suite: Suite, gold: str, said: str, started_s: float) -> Ran:
        gold, said = sql.spider_rewrite(gold), sql.spider_rewrite(said)
        beside = sorted(path for path in suite.source.parent.iterdir() if path.suffix == suite.source.suffix)
        pairs = [await _shared(path, 0, ()).outcomes(gold, said) for path in beside]
        value = sql.spider_test_suite(gold, [pair[0] for pair in pairs], [pair[1] for pair in pairs])
        return self._verdict(value, said, "", pairs[0][1].status == "ok", perf_counter() - started_s)

    def _verdict(self, value: float, said: str, why: str, runs: bool, seconds: float) -> Ran:
        score = None if self._options.metric in _EXACT else max(value, 0.0)
        reason = Reason.MATCH if value == 1 else Reason.MISMATCH
        return Ran(value == 1, reason, said, seconds, score, why=why, runs=runs)

    def read(self, text: str | None) -> str | None:
        """The query in an answer or a response; None where there is none."""
        text = text or ""
        if self._options.key:
            try:
                found = json.loads(text)
            except (ValueError, RecursionError):
                return None
            text = found.get(self._options.key, "") if isinstance(found, dict) else ""
            return text.strip() or None if isinstance(text, str) else None
        fenced = _FENCED.findall(text)
        if self._options.reads == "response" and not fenced:
            return None
        return (fenced[-1] if fenced else text).strip() or None

    def _schema(self, task: Task) -> str:
        options = self._options
        schema = self.suite(task).database().schema(samples=options.samples)
        return ddl.compact(schema, max_chars=options.schema_chars, samples=options.samples)


_EXACT = frozenset({"careful", "bird_ex", "skyrl_set", "spider_test_suite"})
_suites: dict[tuple[int, Path, int, tuple[Boundary, ...]], Suite] = {}


def _shared(path: Path, copies: int, plants: tuple[Boundary, ...]) -> Suite:
    """The one suite of this process; closed when it exits."""
    key = (os.getpid(), path.absolute(), copies, plants)
    if key not in _suites:
        _suites[key] = Suite(path, copies=copies, plants=plants)
    return _suites[key]


def _close() -> None:
    for (owner, *_), suite in _suites.items():
        if owner == os.getpid():
            suite.close()


atexit.register(_close)


def _evidence(task: Task) -> str:
    return str(task.extra.get("evidence") or "")
