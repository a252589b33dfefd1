"""Tables of a PostgreSQL database in the form that `toolenvs.databases.schema` reads."""

from typing import Any

import psycopg
from psycopg import sql

from toolenvs.databases.values import plain

_SCANNED_ROWS = 10_000
"""Of a table, for values of its columns."""
_COLUMNS = """
SELECT c.relname, c.relkind::text, a.attname, format_type(a.atttypid, a.atttypmod), NOT a.attnotnull,
  coalesce(array_position(i.indkey::int2[], a.attnum) + 1, 0)
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND pg_table_is_visible(c.oid)
  AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND has_table_privilege(c.oid, 'SELECT')
ORDER BY c.relname COLLATE "C", a.attnum
"""
_KEYS = """
SELECT c.relname, t.relname,
  (SELECT array_agg(attname::text ORDER BY place) FROM unnest(k.conkey) WITH ORDINALITY u(number, place)
   JOIN pg_attribute ON attrelid = c.oid AND attnum = number),
  (SELECT array_agg(attname::text ORDER BY place) FROM unnest(k.confkey) WITH ORDINALITY u(number, place)
   JOIN pg_attribute ON attrelid = t.oid AND attnum = number)
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid JOIN pg_class t ON t.oid = k.confrelid
WHERE k.contype = 'f' ORDER BY k.conname COLLATE "C"
"""


def describe(connection: "psycopg.Connection[Any]", samples: int = 0) -> list[dict[str, Any]]:
    """Tables and views that a query may name without their schema, in order of their names."""
    tables: dict[str, dict[str, Any]] = {}
    for name, kind, column, declared, nullable, key in connection.execute(_COLUMNS).fetchall():
        table = tables.setdefault(
            name, {"name": name, "kind": "view" if kind in "vm" else "table", "columns": [], "foreign_keys": []}
        )
        values = _samples(connection, name, column, samples) if samples else []
        table["columns"].append(
            {"name": column, "type": declared, "nullable": nullable, "primary_key": key, "samples": values}
        )
    for name, other, own, to in connection.execute(_KEYS).fetchall():
        if name in tables:
            tables[name]["foreign_keys"].append((own, other, to))
    return list(tables.values())


def _samples(connection: "psycopg.Connection[Any]", table: str, column: str, count: int) -> list[Any]:
    query = sql.SQL(
        "SELECT (array_agg(value ORDER BY place))[1] FROM (SELECT {column} AS value, row_number() OVER () AS place "
        "FROM {table} LIMIT {scanned}) AS scanned WHERE value IS NOT NULL GROUP BY value::text ORDER BY min(place) "
        "LIMIT {count}"
    ).format(
        column=sql.Identifier(column),
        table=sql.Identifier(table),
        scanned=sql.Literal(_SCANNED_ROWS),
        count=sql.Literal(count),
    )
    return [plain(value) for (value,) in connection.execute(query).fetchall()]
