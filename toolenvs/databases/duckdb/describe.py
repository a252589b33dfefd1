"""Tables of a DuckDB file in the form that `toolenvs.databases.schema` reads."""

from typing import Any

import duckdb

from toolenvs.databases.values import plain

_SCANNED_ROWS = 10_000
"""Of a table, for values of its columns."""


def describe(connection: Any, samples: int = 0) -> list[dict[str, Any]]:
    """Tables and views of the schema main in order of their names."""
    run = connection.execute
    tables = run(
        "SELECT table_name, 'table' FROM duckdb_tables() WHERE schema_name = 'main' AND NOT internal AND NOT temporary "
        "UNION ALL SELECT view_name, 'view' FROM duckdb_views() WHERE schema_name = 'main' AND NOT internal "
        "AND NOT temporary ORDER BY 1"
    ).fetchall()
    columns = run(
        "SELECT table_name, column_name, data_type, is_nullable FROM duckdb_columns() "
        "WHERE schema_name = 'main' AND NOT internal ORDER BY table_name, column_index"
    ).fetchall()
    primary: dict[str, list[str]] = {}
    foreign: dict[str, list[tuple[list[str], str, list[str]]]] = {}
    for table, kind, own, other, to in run(
        "SELECT table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names "
        "FROM duckdb_constraints() WHERE schema_name = 'main' ORDER BY constraint_index"
    ).fetchall():
        if kind == "PRIMARY KEY":
            primary[table] = own
        elif kind == "FOREIGN KEY":
            foreign.setdefault(table, []).append((own, other, to))
    return [
        {
            "name": name,
            "kind": kind,
            "columns": [
                {
                    "name": column,
                    "type": declared,
                    "nullable": nullable,
                    "primary_key": primary[name].index(column) + 1 if column in primary.get(name, ()) else 0,
                    "samples": _samples(connection, name, column, samples) if samples else [],
                }
                for table, column, declared, nullable in columns
                if table == name
            ],
            "foreign_keys": foreign.get(name, []),
        }
        for name, kind in tables
    ]


def _samples(connection: Any, table: str, column: str, count: int) -> list[Any]:
    quoted, of = ('"' + name.replace('"', '""') + '"' for name in (column, table))
    try:
        found = connection.execute(
            f"SELECT value FROM (SELECT {quoted} AS value, row_number() OVER () AS place FROM {of} "
            f"LIMIT {_SCANNED_ROWS})"
            f" WHERE value IS NOT NULL GROUP BY value ORDER BY min(place) LIMIT {count}"
        ).fetchall()
    except duckdb.Error:
        return []
    return [plain(value) for (value,) in found]
