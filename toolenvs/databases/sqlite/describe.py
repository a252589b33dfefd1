"""Tables of a SQLite file in the form that `toolenvs.databases.schema` reads."""

import sqlite3
from typing import Any

_SCANNED_ROWS = 10_000
"""Of a table, for values of its columns."""


def describe(connection: sqlite3.Connection, samples: int = 0) -> list[dict[str, Any]]:
    """Tables and views in order of their names, without SQLite's own."""
    found = connection.execute(
        "SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view') AND substr(name, 1, 7) <> 'sqlite_'"
        " ORDER BY name COLLATE BINARY"
    ).fetchall()
    hidden = {name for name, kind in connection.execute("SELECT name, type FROM pragma_table_list") if kind == "shadow"}
    return [_table(connection, name, kind, samples) for name, kind in found if name not in hidden]


def _table(connection: sqlite3.Connection, name: str, kind: str, samples: int) -> dict[str, Any]:
    columns = []
    try:
        described = connection.execute(
            'SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?) WHERE hidden <> 1', (name,)
        ).fetchall()
    except sqlite3.OperationalError:  # a view of what is no longer there
        described = []
    for column, declared, not_null, key in described:
        values = _samples(connection, name, column, samples) if samples else []
        columns.append(
            {
                "name": column,
                "type": declared,
                "nullable": not (not_null or key),
                "primary_key": key,
                "samples": values,
            }
        )
    keys: dict[int, tuple[list[str], str, list[str | None]]] = {}
    for number, to_table, own, to in connection.execute(
        'SELECT id, "table", "from", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq', (name,)
    ):
        key_columns = keys.setdefault(number, ([], to_table, []))
        key_columns[0].append(own)
        key_columns[2].append(to)
    return {
        "name": name,
        "kind": kind,
        "columns": columns,
        "foreign_keys": [_named(connection, key) for key in keys.values()],
    }


def _named(
    connection: sqlite3.Connection, key: tuple[list[str], str, list[str | None]]
) -> tuple[list[str], str, list[str]]:
    """A foreign key that names no columns means the other table's primary key."""
    own, table, to = key
    if None not in to:
        return own, table, [column for column in to if column is not None]
    primary = connection.execute("SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", (table,)).fetchall()
    return own, table, [name for (name,) in primary]


def _samples(connection: sqlite3.Connection, table: str, column: str, count: int) -> list[Any]:
    quoted, of = ('"' + name.replace('"', '""') + '"' for name in (column, table))
    try:
        found = connection.execute(
            f"SELECT DISTINCT value FROM (SELECT {quoted} AS value FROM {of} LIMIT {_SCANNED_ROWS})"
            f" WHERE value IS NOT NULL LIMIT {count}"
        ).fetchall()
    except (sqlite3.OperationalError, sqlite3.DataError):  # a view of what is gone, or a row larger than is read
        return []
    return [value for (value,) in found]
