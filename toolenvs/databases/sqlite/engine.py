"""SQLite in the process that may be killed: one connection, which is asked everything and can change nothing."""

import difflib
import re
import sqlite3
import time
from functools import partial
from typing import Any
from urllib.parse import quote

from toolenvs.databases import wire
from toolenvs.databases.child import out_of_memory
from toolenvs.databases.sqlite import rules
from toolenvs.databases.sqlite.describe import describe
from toolenvs.databases.sqlite.functions import CALL_STEPS, Functions
from toolenvs.databases.sqlite.lexer import Lexed, lex

_TICK_STEPS = 1_000
_EXPLAINS = ("EXPLAIN", "PRAGMA")
_AGAIN_BYTES = 8_192
"""Results up to this size, as they are sent, are worth keeping."""
_NUMBER_BYTES = 8
"""What a number or NULL counts for."""
_AT_ONCE = 16
"""Rows that are taken from SQLite together."""
_COUNT_STEPS = 1_000_000
"""What is spent at most on counting the rows that are not kept."""
_LIMITS = {
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 1_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 2_000,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 500,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 250_000,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 10,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
_UNKNOWN = re.compile(r"no such (column|table|function): (.*)", re.DOTALL)
_FOREIGN = {
    "SHOW": "SHOW is of another engine: SELECT name FROM sqlite_master lists the tables",
    "DESCRIBE": "DESCRIBE is of another engine: use PRAGMA table_info(TABLE)",
    "DESC": "DESC is of another engine: use PRAGMA table_info(TABLE)",
}
_INSTEAD = {
    "generate_series": "it is not built in; use WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c LIMIT 3)"
}


def _without_address(value: Any) -> Any:
    """EXPLAIN names a virtual table by where it lies in memory."""
    return re.sub(r"vtab:\w+", "vtab", value) if isinstance(value, str) else value


_text = partial(str, encoding="utf-8", errors="replace")
_SIZED = (str, bytes)


def _bytes(row: tuple[Any, ...]) -> int:
    """What a row counts for among `max_bytes`."""
    return sum([len(value) if value.__class__ in _SIZED else _NUMBER_BYTES for value in row])


class SqliteEngine:
    """One opened file."""

    def __init__(self, first: dict[str, Any]) -> None:
        uri = f"file:{quote(first['path'])}?mode=ro&immutable=1"
        # no cache of statements: a second run of one would count its steps on from the first
        self._connection = sqlite3.connect(uri, uri=True, isolation_level=None, cached_statements=0)
        self._connection.text_factory = _text
        try:
            self._prepare(first)
        except sqlite3.DatabaseError as error:
            raise ValueError(f"the file is no database of SQLite, or is damaged ({error})") from None

    def _prepare(self, first: dict[str, Any]) -> None:
        run = self._connection.execute
        run(f"PRAGMA hard_heap_limit={first['memory_mb'] << 19}").fetchall()
        run("PRAGMA temp_store=MEMORY")
        run("PRAGMA query_only=ON")
        run("PRAGMA cache_size=-16384")
        self._schema = describe(self._connection)
        for name in rules.EPONYMOUS:  # their first use would be refused: it declares them
            if name.startswith("pragma_"):
                run(f"SELECT * FROM {name} LIMIT 0").fetchall()
            else:
                run(f"SELECT * FROM {name}('[]')").fetchall()
        tables = [name for (name,) in run("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")]
        for (name,) in run("SELECT name FROM sqlite_master WHERE sql LIKE 'create virtual table%'").fetchall():
            run("SELECT * FROM {} LIMIT 0".format('"' + name.replace('"', '""') + '"')).fetchall()
        run("BEGIN")  # once for all queries: each by itself would ask the file whether it has changed
        run("SELECT count(*) FROM sqlite_master").fetchall()
        self._functions = Functions(self._connection)
        self._authorizer = rules.Authorizer(tables)
        self._connection.set_authorizer(self._authorizer.answer)
        for limit, value in _LIMITS.items():
            self._connection.setlimit(limit, value)
        self._connection.set_progress_handler(self._tick, _TICK_STEPS)
        self._names = {"table": tables, "column": [c["name"] for t in self._schema for c in t["columns"]]}
        self._names["function"] = sorted(rules.FUNCTIONS)
        self._ticks, self._max_steps, self._until, self._told_s, self._met = 0, 0, 0.0, "", ""
        self._max_value_bytes = 0
        self._connection.text_factory = str  # far quicker than one of Python's, as long as all texts are UTF-8

    def _tick(self) -> int:
        self._ticks += 1
        if self._steps() > self._max_steps:
            self._met = "steps"
        elif time.monotonic() > self._until:
            self._met = "deadline"
        return bool(self._met)

    def _steps(self) -> int:
        return self._ticks * _TICK_STEPS + self._functions.calls * CALL_STEPS

    def schema(self, request: dict[str, Any]) -> dict[str, Any]:
        """Tables and views, and `samples` values of each column."""
        if request["samples"]:
            connection = self._connection
            connection.set_authorizer(None)
            connection.set_progress_handler(None, 0)
            connection.text_factory = _text
            self._start(request)
            try:
                return {"tables": describe(connection, request["samples"])}
            except sqlite3.Error as error:
                return {"broken": f"the database cannot be read ({error})"}
            finally:
                connection.text_factory = str
                connection.set_authorizer(self._authorizer.answer)
                connection.set_progress_handler(self._tick, _TICK_STEPS)
        return {"tables": self._schema}

    def query(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run one query; see `toolenvs.databases.base`."""
        lexed = lex(request["sql"])
        no = _refusal(lexed, request["answer"])
        if no is not None:
            return no
        self._start(request)
        self._ticks, self._met, self._authorizer.refused = 0, "", None
        self._max_steps, self._until = request["max_steps"], time.monotonic() + request["timeout_s"]
        self._told_s = f"{request['timeout_s']:g} s"  # how far a query has come by then differs from run to run
        try:
            if lexed.unquoted is not None and lexed.first != "PRAGMA":
                prefix = "" if lexed.first == "EXPLAIN" else "EXPLAIN "
                self._connection.execute(prefix + lexed.unquoted).close()
                self._ticks = 0
            try:
                found = self._rows(self._connection.execute(lexed.sql), request)
            except sqlite3.OperationalError as error:
                if not str(error).startswith("Could not decode to UTF-8"):
                    raise
                found = self._as_far_as_it_is_text(lexed.sql, request)
            if lexed.first == "EXPLAIN" and found["status"] == "ok":
                found["rows"] = [tuple(map(_without_address, row)) for row in found["rows"]]
            found["again"] = found.get("again", False) and lexed.first not in _EXPLAINS
            return found
        except (sqlite3.Error, sqlite3.Warning, MemoryError, ValueError, OverflowError) as error:
            return self._failure(error, lexed)

    def _start(self, request: dict[str, Any]) -> None:
        """Seed, clock and the size of a value, which what ran before may have changed."""
        if request["max_value_bytes"] != self._max_value_bytes:
            self._max_value_bytes = request["max_value_bytes"]
            self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, self._max_value_bytes)
        self._functions.start(request["seed"], request["now"], request["max_value_bytes"])

    def _as_far_as_it_is_text(self, sql: str, request: dict[str, Any]) -> dict[str, Any]:
        """The rows of a query that gives bytes which are no UTF-8. Its first run, made without a look at each text, is
        forgotten: it takes no steps, and random numbers begin again."""
        self._ticks = 0
        self._functions.start(request["seed"], request["now"], request["max_value_bytes"])
        self._connection.text_factory = _text
        try:
            return self._rows(self._connection.execute(sql), request)
        finally:
            self._connection.text_factory = str

    def _rows(self, cursor: sqlite3.Cursor, request: dict[str, Any]) -> dict[str, Any]:
        max_rows, max_bytes = request["max_rows"], request["max_bytes"]
        columns = [column[0] for column in cursor.description or ()]
        rows: list[tuple[Any, ...]] = []
        truncated, taken, at_most, sent = False, 0, 0, 0
        while not truncated and (piece := cursor.fetchmany(min(_AT_ONCE, max_rows + 1 - taken))):
            taken += len(piece)
            size = wire.size(piece)  # quick, and more than the texts in it
            sent += size
            at_most += size + _NUMBER_BYTES * len(columns) * len(piece)
            if at_most <= max_bytes and taken <= max_rows:
                rows += piece
                continue
            room = max_bytes - sum(map(_bytes, rows))
            for row in piece:
                room -= _bytes(row)
                if room < 0 and not rows:
                    cursor.close()
                    told = f"one row is larger than {max_bytes:,} bytes: select less of it"
                    return {"status": "error", "code": "too_big", "error": told, "steps": self._steps()}
                if len(rows) == max_rows or room < 0:
                    truncated = True
                    break
                rows.append(row)
            at_most = max_bytes - room
        steps = self._steps()
        total = self._count(cursor, taken) if truncated else taken
        return {
            "status": "ok",
            "columns": columns,
            "rows": rows,
            "truncated": truncated,
            "total_rows": total,
            "steps": steps,
            "again": not truncated and sent <= _AGAIN_BYTES and not self._functions.drew,
        }

    def _count(self, cursor: sqlite3.Cursor, total: int) -> int | None:
        self._max_steps = min(self._max_steps, self._steps() + _COUNT_STEPS)
        before, self._connection.text_factory = self._connection.text_factory, bytes
        try:
            for _ in cursor:
                total += 1
        except (sqlite3.Error, MemoryError):
            return None
        finally:
            self._connection.text_factory = before
            cursor.close()
        return total

    def _failure(self, error: Exception, lexed: Lexed) -> dict[str, Any]:
        message = str(error)
        if self._authorizer.refused is not None:
            return _forbidden(self._authorizer.refused)
        if self._met:
            after = f"{self._steps() // 1_000:,} thousand steps of work" if self._met == "steps" else self._told_s
            told = f"the query was stopped after {after}: make it do less"
            return {"status": "timeout", "code": "timeout", "error": told, "steps": self._steps()}
        if isinstance(error, MemoryError):
            return out_of_memory()
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
            return {"broken": f"the database cannot be read ({message})"}
        code, told = "sql", self._functions.problem or message
        match = _UNKNOWN.fullmatch(message)
        if match:
            code = "no_such_column" if match[1] == "column" else "sql"
            told += self._hint(match[1], match[2], lexed)
        elif lexed.first in _FOREIGN:
            told += f" ({_FOREIGN[lexed.first]})"
        return {"status": "error", "code": code, "error": told, "steps": self._steps()}

    def _hint(self, kind: str, name: str, lexed: Lexed) -> str:
        bare = name.rpartition(".")[2]
        if bare in _INSTEAD:
            return f" ({_INSTEAD[bare]})"
        near = {known.lower(): known for known in self._names[kind]}
        close = difflib.get_close_matches(bare.lower(), near, n=1, cutoff=0.75)
        hints = [f"did you mean {near[close[0]]}?"] if close and close[0] != bare.lower() else []
        if kind == "column" and lexed.unquoted is not None and f'"{bare}"' in lexed.sql:
            hints.append("double quotes are for names; a text stands in single quotes")
        return f" ({'; '.join(hints)})" if hints else ""


def _forbidden(what: str) -> dict[str, Any]:
    told = (
        f"{what} is not allowed: the database is only read, by one SELECT, VALUES, WITH or EXPLAIN, "
        "or a PRAGMA that describes a table"
    )
    return {"status": "refused", "code": "forbidden", "error": told}


def _refusal(lexed: Lexed, answer: bool) -> dict[str, Any] | None:
    """Why a text is not run; None where it is exactly one query, as far as its tokens tell."""
    if not lexed.statements:
        return {"status": "refused", "code": "empty", "error": "there is no query: write one"}
    if lexed.first == ".":
        told = "commands with a dot belong to SQLite's shell: write SQL, such as SELECT name FROM sqlite_master"
        return {"status": "error", "code": "sql", "error": told}
    if lexed.statements > 1:
        told = f"there are {lexed.statements} statements: write exactly one"
        return {"status": "refused", "code": "multi_statement", "error": told}
    if lexed.first in rules.STATEMENTS:
        return _forbidden(lexed.first)
    if lexed.parameter:
        told = f"the parameter {lexed.parameter} has no value: write the value itself"
        return {"status": "error", "code": "sql", "error": told}
    if answer and lexed.first in _EXPLAINS:
        told = f"{lexed.first} only explains or describes: answer with a query that gives the rows"
        return {"status": "refused", "code": "not_a_query", "error": told}
    return None
