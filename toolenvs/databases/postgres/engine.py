"""PostgreSQL, asked from the process that may be killed: each query in a read-only transaction that is rolled back."""

import difflib
import random
import re
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import psycopg

from toolenvs.databases.child import out_of_memory
from toolenvs.databases.postgres import rules
from toolenvs.databases.postgres.describe import describe
from toolenvs.databases.postgres.lexer import tokens
from toolenvs.databases.postgres.session import Late, ServerError, Session
from toolenvs.errors import ConfigError

_COUNTED_ROWS = 200_000
_FORBIDDEN = {"25006", "42501", "0A000"}  # read-only transaction, privilege, not supported there
_MEMORY = {"53200", "53400", "53100"}  # memory, a configured limit, disk
_ASKS_TOO_MUCH = re.compile(r"invalid memory alloc request size|out of memory")
"""What the server calls an internal error, and is the query's."""
_TEXT: Callable[[bytes], Any] = lambda data: data.decode("utf-8", "replace")  # noqa: E731
_VALUES: dict[int, Callable[[bytes], Any]] = {
    16: lambda data: data == b"t",
    17: lambda data: bytes.fromhex(data[2:].decode()),
    **dict.fromkeys((20, 21, 23, 26), int),
    **dict.fromkeys((700, 701), float),
    1700: lambda data: Decimal(data.decode()),
}
"""By the number of the type; every other value is a text in the server's own writing."""


def _seeded(seed: int) -> str:
    return f"SELECT setseed({random.Random(seed).uniform(-1, 1)!r})"


class PostgresEngine:
    """One database of a server."""

    def __init__(self, first: dict[str, Any]) -> None:
        try:
            self._session = Session(first["conninfo"])
        except psycopg.Error as error:
            raise ValueError(f"the server cannot be reached ({_line(str(error))})") from None
        connection = self._session.connection
        row = connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
        if row is None or row[0]:
            raise ConfigError(
                "a superuser may do everything: connect as a role that only reads "
                "(toolenvs.databases.postgres.role.reader makes one)"
            )
        found = connection.execute("SELECT DISTINCT lower(proname) FROM pg_proc WHERE provolatile = 'v'").fetchall()
        self._volatile = frozenset(name for (name,) in found) - rules.VOLATILE
        self._schema = describe(connection)
        self._tables = [table["name"] for table in self._schema]

    def schema(self, request: dict[str, Any]) -> dict[str, Any]:
        """Tables and views, and `samples` values of each column."""
        if not request["samples"]:
            return {"tables": self._schema}
        try:
            self._session.ensure()
            self._session.script(_seeded(request["seed"]))
            return {"tables": describe(self._session.connection, request["samples"])}
        except (psycopg.Error, ServerError) as error:
            return {"broken": f"the schema cannot be read ({_line(str(error))})"}

    def query(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run one query; see `toolenvs.databases.base`."""
        found = tokens(request["sql"])
        try:
            rules.check(found, request["answer"], self._volatile)
        except rules.Refusal as refusal:
            return {"status": refusal.status, "code": refusal.code, "error": str(refusal)}
        try:
            self._session.ensure()
        except psycopg.Error as error:
            return {"broken": f"the server cannot be reached ({_line(str(error))})"}
        try:
            return {**self._run(request), "repeatable": rules.repeatable(found)}
        except Late:
            told = f"the query was stopped after {request['timeout_s']:g} s: make it do less"
            return {"status": "timeout", "code": "timeout", "error": told}
        except ServerError as error:
            return self._failure(error, request)

    def _run(self, request: dict[str, Any]) -> dict[str, Any]:
        until = time.monotonic() + request["timeout_s"]
        self._session.script(
            "BEGIN TRANSACTION READ ONLY; "
            f"SET LOCAL statement_timeout = {int(request['timeout_s'] * 1000) + 100}; "
            "SET LOCAL lock_timeout = '1s'; SET LOCAL TimeZone = 'UTC'; SET LOCAL DateStyle = 'ISO'; "
            "SET LOCAL bytea_output = 'hex'; SET LOCAL IntervalStyle = 'postgres'; SET LOCAL extra_float_digits = 1; "
            "SET LOCAL synchronize_seqscans = off; "  # else a scan begins where another one is
            f"SET LOCAL max_parallel_workers_per_gather = 0; {_seeded(request['seed'])}"
        )
        try:
            return self._rows(request, until)
        finally:
            if not self._session.connection.closed:
                self._session.script("ROLLBACK")

    def _rows(self, request: dict[str, Any], until: float) -> dict[str, Any]:
        max_rows, room = request["max_rows"], request["max_bytes"]
        columns: list[str] = []
        readers: list[Callable[[bytes], Any]] = []
        rows: list[list[Any]] = []
        total = 0
        truncated = False
        running = self._session.rows(request["sql"], until)
        for result in running:
            if not columns:
                columns = [(result.fname(at) or b"").decode("utf-8", "replace") for at in range(result.nfields)]
                readers = [_VALUES.get(result.ftype(at), _TEXT) for at in range(result.nfields)]
            if not result.ntuples:
                continue
            total += 1
            if not truncated:
                raw = [result.get_value(0, at) for at in range(result.nfields)]
                room -= sum([8 if value is None else max(len(value), 8) for value in raw])
                if room < 0 and not rows:
                    running.close()
                    told = f"one row is larger than {request['max_bytes']:,} bytes: select less of it"
                    return {"status": "error", "code": "too_big", "error": told}
                truncated = room < 0 or len(rows) == max_rows
                if not truncated:
                    rows.append([None if v is None else read(v) for read, v in zip(readers, raw, strict=True)])
            if total > _COUNTED_ROWS + max_rows:
                running.close()
                total = 0
                break
        return {
            "status": "ok",
            "columns": columns,
            "rows": rows,
            "truncated": truncated,
            "total_rows": total if total or not truncated else None,
        }

    def _failure(self, error: ServerError, request: dict[str, Any]) -> dict[str, Any]:
        told = _line(str(error)) + (f" ({_line(error.hint)})" if error.hint else "")
        if error.state == "57014":
            told = f"the query was stopped after {request['timeout_s']:g} s: make it do less"
            return {"status": "timeout", "code": "timeout", "error": told}
        if error.state in _FORBIDDEN:
            return {"status": "refused", "code": "forbidden", "error": told}
        if error.state in _MEMORY or (not error.state and "memory" in told):
            return out_of_memory()
        if error.state == "XX000" and _ASKS_TOO_MUCH.search(told):
            return out_of_memory()
        if not error.state or error.state.startswith(("08", "57P", "58", "XX")):
            return {"broken": f"the server failed ({told})"}
        if error.state == "42P01":
            told += self._hint(told)
        return {"status": "error", "code": "no_such_column" if error.state == "42703" else "sql", "error": told}

    def _hint(self, told: str) -> str:
        """A table that was meant: unquoted names are lower case to the server."""
        name = re.search(r'relation "(.+?)"', told)
        known = {table.lower(): table for table in self._tables}
        close = difflib.get_close_matches(name[1].lower(), known, n=1, cutoff=0.75) if name else []
        return f' (did you mean "{known[close[0]]}", in double quotes?)' if close else ""


def _line(text: str) -> str:
    """A message in one line, without the folder of the server's socket."""
    return re.sub(r'(on socket|server at) "[^"]*"', r"\1 ...", re.sub(r"\s+", " ", text)).strip()
