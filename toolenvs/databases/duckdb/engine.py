"""DuckDB in the process that may be killed: every query in a transaction of its own, which is rolled back."""

import random
import re
from typing import Any

import duckdb

from toolenvs.databases.child import out_of_memory
from toolenvs.databases.duckdb import rules
from toolenvs.databases.duckdb.describe import describe
from toolenvs.databases.values import plain
from toolenvs.databases.watchdog import Watchdog

_COUNTED_ROWS = 200_000
_CHUNK = 256
_UNKNOWN = re.compile(r"column .*not found|does not have a column named")
_UNLIKE = re.compile(r"INTERVAL|_NS\b")
"""In the name of a type that Python's types cannot hold."""
_CLOSING = re.compile(r"[;\s]+\Z")
_SETTINGS = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "python_enable_replacements": "false",
    "threads": "1",
    "temp_directory": "",
}


class DuckDbEngine:
    """One opened file."""

    def __init__(self, first: dict[str, Any]) -> None:
        self._first = first
        self._watchdog = Watchdog(lambda: self._connection.interrupt())
        self._open()

    def _open(self) -> None:
        limit = f"{self._first['memory_mb'] // 4}MB"
        try:
            self._connection = duckdb.connect(
                self._first["path"], read_only=True, config={**_SETTINGS, "memory_limit": limit}
            )
        except duckdb.Error as error:
            raise ValueError(f"the file cannot be opened by DuckDB ({_line(error, self._first['path'])})") from None
        self._refused = rules.refused_functions(self._connection)
        self._schema = describe(self._connection)
        self._now = ""
        self._connection.execute("SET enable_progress_bar = false")
        # the database's own file is open already, and the setting above leaves its path open to all who can guess it
        self._connection.execute("SET disabled_filesystems = 'LocalFileSystem'")
        self._connection.execute("SET lock_configuration = true")

    def schema(self, request: dict[str, Any]) -> dict[str, Any]:
        """Tables and views, and `samples` values of each column."""
        if request["samples"]:
            self._set_clock(request["now"])
            self._set_seed(request["seed"])
            return {"tables": describe(self._connection, request["samples"])}
        return {"tables": self._schema}

    def query(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run one query; see `toolenvs.databases.base`."""
        run = self._connection.execute
        try:
            repeatable = rules.check(request["sql"], request["answer"], self._refused)
            self._set_clock(request["now"])
            run("BEGIN TRANSACTION")
            try:
                with self._watchdog.until(request["timeout_s"]):
                    found = self._rows(self._run(request["sql"], request["seed"]), request)
                    return {**found, "repeatable": repeatable}
            finally:
                run("ROLLBACK")
        except rules.Refusal as refusal:
            return {"status": "refused", "code": refusal.code, "error": str(refusal)}
        except MemoryError:
            return out_of_memory()
        except (duckdb.Error, ValueError, OverflowError) as error:
            return self._failure(error, request)

    def _run(self, sql: str, seed: int) -> Any:
        """The result of a query. Where Python has no like of a type, its columns are texts: months would be 30 days."""
        self._set_seed(seed)
        result = self._connection.execute(sql)
        columns = result.description or ()
        if not any(_UNLIKE.search(str(column[1])) for column in columns):
            return result
        names = [f"c{number}" for number in range(len(columns))]
        shown = [
            f"CAST({name} AS VARCHAR)" if _UNLIKE.search(str(column[1])) else name
            for name, column in zip(names, columns, strict=True)
        ]
        under = ", ".join(f"{one} AS {_quoted(column[0])}" for one, column in zip(shown, columns, strict=True))
        self._set_seed(seed)
        try:
            return self._connection.execute(f"SELECT {under} FROM ({_CLOSING.sub('', sql)}\n) AS q({', '.join(names)})")
        except duckdb.ParserException:  # it is none that may stand in brackets
            self._set_seed(seed)
            return self._connection.execute(sql)

    def _set_seed(self, seed: int) -> None:
        self._connection.execute("SELECT setseed(?)", [random.Random(seed).random()])

    def _set_clock(self, now: str) -> None:
        if now == self._now:
            return
        for form, names in rules.MOMENTS.items():
            value = form.format(now=now, day=now[:10])
            for name in names:
                self._connection.execute(f"CREATE OR REPLACE TEMP MACRO {name}() AS {value}")
        self._connection.execute(
            f"CREATE OR REPLACE TEMP MACRO age(a) AS system.main.age(TIMESTAMP '{now[:10]} 00:00:00', a), "
            "(a, b) AS system.main.age(a, b)"
        )
        self._connection.execute(f"CREATE OR REPLACE TEMP MACRO ago(a) AS TIMESTAMPTZ '{now}+00' - a")
        self._now = now

    def _rows(self, result: Any, request: dict[str, Any]) -> dict[str, Any]:
        max_rows, room = request["max_rows"], request["max_bytes"]
        columns = [column[0] for column in result.description or ()]
        rows: list[list[Any]] = []
        while found := result.fetchmany(_CHUNK if rows else 1):  # the first one alone, as it may be huge
            for at, row in enumerate(found):
                values = [plain(value) for value in row]
                room -= sum([len(value) if isinstance(value, str | bytes) else 8 for value in values])
                if room < 0 and not rows:
                    told = f"one row is larger than {request['max_bytes']:,} bytes: select less of it"
                    return {"status": "error", "code": "too_big", "error": told}
                if len(rows) == max_rows or room < 0:
                    total = _count(result, len(rows) + len(found) - at)
                    return {"status": "ok", "columns": columns, "rows": rows, "truncated": True, "total_rows": total}
                rows.append(values)
        return {"status": "ok", "columns": columns, "rows": rows, "total_rows": len(rows)}

    def _failure(self, error: Exception, request: dict[str, Any]) -> dict[str, Any]:
        told = _line(error, self._first["path"])
        if isinstance(error, duckdb.FatalException | duckdb.InternalException):
            self._connection.close()
            self._open()  # it answers nothing any more
            return {"status": "error", "code": "crashed", "error": "the query broke the database engine"}
        if isinstance(error, duckdb.InterruptException):
            told = f"the query was stopped after {request['timeout_s']:g} s: make it do less"
            return {"status": "timeout", "code": "timeout", "error": told}
        if isinstance(error, duckdb.OutOfMemoryException) or "bad_alloc" in told:
            return out_of_memory()
        if isinstance(error, duckdb.PermissionException) or "read-only mode" in told or "locked" in told:
            return {"status": "refused", "code": "forbidden", "error": told}
        unknown = isinstance(error, duckdb.BinderException) and _UNKNOWN.search(told) is not None
        return {"status": "error", "code": "no_such_column" if unknown else "sql", "error": told}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _count(result: Any, total: int) -> int | None:
    while found := result.fetchmany(2_048):
        total += len(found)
        if total > _COUNTED_ROWS:
            return None
    return total


def _line(error: Exception, path: str) -> str:
    """The message in one line, without the copy of the query under it and without where the file lies."""
    text = re.split(r"\n\s*\nLINE \d+:", str(error))[0].replace(path, "the database")
    return re.sub(r"\s+", " ", text).strip()
