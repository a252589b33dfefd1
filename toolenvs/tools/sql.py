"""SQL as a tool: one query on the database that the task is about, its rows as text, and the schema on request."""

import os
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from toolenvs import databases
from toolenvs.databases import Database, Result, ddl
from toolenvs.databases.sources import asks, source_of
from toolenvs.errors import TaskError, ToolError, did_you_mean
from toolenvs.schema import at_least
from toolenvs.tasks.task import Task
from toolenvs.tools import _sql_parsing
from toolenvs.tools.base import ToolResult

_KEPT = 512
"""Small results of a database: the queries of a group of episodes are often the same."""
_SCHEMA = re.compile(r"\s*\.(schema|tables)\b\s*(.*?)\s*;?\s*", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[tools.sql]`."""

    database: str = ""
    """The database of tasks that name none: a SQLite file, "world:PASSAGES" or "world:PASSAGES:SEED", or the name of a
    database of `toolenvs.sample_databases`."""
    databases: str = ""
    """Where tasks that name a `db_id` have their databases: a folder with a folder for each."""
    timeout_s: float = 5.0
    """Wall-clock deadline of a query, a backstop behind `max_steps`."""
    max_steps: int = 20_000_000
    """Steps of SQLite's virtual machine that a query may take: a budget that does not depend on the machine's load."""
    max_rows: int = 50
    """Rows that are shown."""
    all_that_fits: bool = False
    """Whether `max_rows` cuts only what is longer than `max_chars`."""
    max_chars: int = 8_000
    """Characters that the shown rows may have together."""
    max_cell_chars: int = 500
    """Characters of one value that are shown."""
    schema_chars: int = 6_000
    """Characters of the schema, in the prompt and where `.schema` asks for it."""
    samples: int = 3
    """Values of each column that the schema shows, as far as they fit."""
    linking: bool = False
    """Whether the data of a call says which tables and columns its query reads: `data["reads"]`, with `tables` and
    `columns` ("table.column"), or None for what cannot be parsed. Takes a millisecond a query; needs extra `sql`."""
    hints: bool = False
    """Whether a failed query that is SQL of another dialect is answered with what it is in the database's, where that
    runs. Needs the extra `sql`."""
    dialect: str = ""
    """What the model writes, by sqlglot's names, such as "postgres"; its queries are translated to the database's
    dialect. "" for the database's own. The judge has the same key. Needs the extra `sql`."""
    description: str = (
        "Runs one SELECT query of SQLite and returns its rows. The query .schema returns the schema, and .schema NAME "
        "that of one table."
    )
    """Shown to models that choose functions by their schema."""

    def __post_init__(self) -> None:
        at_least(1, max_steps=self.max_steps, max_rows=self.max_rows, max_chars=self.max_chars)
        at_least(1, max_cell_chars=self.max_cell_chars, schema_chars=self.schema_chars)
        at_least(0, samples=self.samples)


class Tool:
    """The databases of a page's tasks, each open once in this process."""

    name: ClassVar[str] = "sql"
    parameters: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "One SELECT query, or .schema."}},
        "required": ["query"],
    }

    def __init__(self, options: Options) -> None:
        self.options = options
        self.parses = bool(options.linking or options.hints or options.dialect)
        if self.parses:
            _sql_parsing.check(options.dialect)
        self.description = options.description
        self._found: dict[tuple[int, tuple[str | None, ...]], Database] = {}
        self.context: Mapping[str, Callable[[Task], str]] = {"schema": self.schema, "evidence": evidence}
        """What a prompt may say of a task, by the name of its placeholder."""

    def database(self, task: Task) -> Database:
        """The database of a task, which this process shares.

        Raises:
            TaskError: the task names none, or it is not there.
            DatabaseError: it cannot be opened.
        """
        options, key = self.options, (os.getpid(), asks(task))
        found = self._found.get(key)
        if found is None:
            path = source_of(task, folder=options.databases, default=options.database)
            limits = {"timeout_s": options.timeout_s, "max_steps": options.max_steps}
            found = self._found[key] = databases.shared(f"sqlite:///{path.absolute()}", keep=_KEPT, **limits)
        return found

    def schema(self, task: Task) -> str:
        """The schema of a task's database, within the budget."""
        options = self.options
        return self.database(task).described(max_chars=options.schema_chars, samples=options.samples)

    async def check(self) -> None:
        """Run one query, where the page itself names a database; tasks name theirs when they begin.

        Raises:
            InfrastructureError: the database does not work here.
        """
        if self.options.database:
            await self.database(Task(id="check", question="")).aquery("SELECT 1")

    async def open(self, task: Task, *, seed: int, progress: float) -> "Session":
        """A session; a query leaves nothing behind."""
        return Session(self, task, seed)

    async def close(self) -> None:
        """Nothing: the process shares the databases and closes them when it exits."""


class Session:
    """Queries of one episode, each by itself."""

    def __init__(self, tool: Tool, task: Task, seed: int) -> None:
        self._tool = tool
        self._task = task
        self._database: Database | None = None
        self._seed = seed % 2**63

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Run the query of a call.

        Raises:
            ToolError: there is none, or it is not of the dialect that the page says.
            InfrastructureError: the database failed.
        """
        query = arguments.get("query")
        if not isinstance(query, str):
            raise ToolError("the argument 'query' must be a string with one query")
        started_s, options = time.perf_counter(), self._tool.options
        database = self._database
        if database is None:
            try:
                database = self._database = self._tool.database(self._task)
            except TaskError as error:
                raise ToolError(str(error)) from error
        asked = _SCHEMA.fullmatch(query)
        if asked:
            text = await self._described(database, asked[1].lower(), asked[2])
            return ToolResult(text=text, data={"sql": query}, seconds=time.perf_counter() - started_s)
        ran = query
        if options.dialect:
            ran = _sql_parsing.translated(query, options.dialect, database.dialect)
        result = await database.aquery(ran, seed=self._seed)
        text = self._shown(result)
        data: dict[str, Any] = {
            "sql": query,
            "result": result.status,
            "code": result.code,
            "columns": result.columns,
            "rows": len(result.rows),
        }
        if self._tool.parses:
            data |= await _sql_parsing.data(database, query, ran, linking=options.linking)
            if options.hints and result.code in ("sql", "no_such_column"):
                text += await _sql_parsing.hint(database, ran, seed=self._seed)
        return ToolResult(text=text, status=result.status, data=data, seconds=time.perf_counter() - started_s)

    def _shown(self, result: Result) -> str:
        options, length = self._tool.options, len(result.rows)
        least = length * (4 * len(result.columns) - 2)  # characters: of each value one, and what stands between
        if options.all_that_fits and length > options.max_rows and not result.truncated and least <= options.max_chars:
            whole = result.shown(
                max_rows=length, max_chars=options.max_chars + 1, max_cell_chars=options.max_cell_chars
            )
            if whole.count("\n") > length and len(whole) <= options.max_chars:  # names, rows and their number
                return whole
        return result.shown(
            max_rows=options.max_rows, max_chars=options.max_chars, max_cell_chars=options.max_cell_chars
        )

    async def _described(self, database: Database, what: str, table: str) -> str:
        options = self._tool.options
        schema = await database.aschema(samples=options.samples)
        if what == "tables":
            return ", ".join(ddl.name(found.name) for found in schema.tables)
        if not table:
            return database.described(max_chars=options.schema_chars, samples=options.samples)
        found = schema.table(table.strip("\"'`[]"))
        if found is None:
            raise ToolError(f"no table is called {table!r:.80}; {did_you_mean(table, [t.name for t in schema.tables])}")
        one = type(schema)(schema.dialect, (found,))
        return ddl.compact(one, max_chars=options.schema_chars, samples=options.samples)

    async def fork(self) -> "Session":
        """The same: a query keeps nothing."""
        return self

    async def close(self) -> None:
        """Nothing."""


def evidence(task: Task) -> str:
    """What a task says that its question needs to know; "" for nothing."""
    return str(task.extra.get("evidence") or "")
