"""A schema as a model reads it: one statement a table, with a few values of each column, within a budget.

    CREATE TABLE city (
      id INTEGER PRIMARY KEY, -- 1, 2, 3
      name TEXT NOT NULL, -- 'Oldport', 'Lomir'
      country_id INTEGER NOT NULL REFERENCES country (id) -- 4, 1
    );

What does not fit goes in this order: values, one by one; then types; then tables, the last first. What went is said.
"""

import re
from collections.abc import Sequence

from toolenvs.databases import render
from toolenvs.databases.schema import Column, Schema, Table

SAMPLES = 3
_SAMPLE_CHARS = 40
_PLAIN = re.compile(r"[A-Za-z_]\w*")
_WORDS = (
    "add all alter and as asc between by case check collate column commit constraint create cross current_date "
    "current_time current_timestamp default deferrable delete desc distinct drop else end escape except exists filter "
    "for foreign from full group having if in index inner insert intersect into is isnull join key left like limit "
    "match natural not notnull null of offset on or order outer over primary references right rollback row rows select "
    "set table then to transaction trigger union unique update user using values view when where window with"
)
_RESERVED = frozenset(_WORDS.split())
"""Words that some engine takes for its own."""


def compact(schema: Schema, *, max_chars: int = 6_000, samples: int = SAMPLES) -> str:
    """The schema in at most `max_chars` characters, the note on what was left out aside.

    Args:
        schema: read with `samples` values of each column, where values are to be shown.
        max_chars: the budget.
        samples: values of each column, at most.
    """
    for shown in range(samples, -1, -1):
        text = "\n".join(_statement(table, shown) for table in schema.tables)
        if len(text) <= max_chars:
            return text
    lines = [
        f"{name(table.name)}({', '.join(name(column.name) for column in table.columns)})" for table in schema.tables
    ]
    kept, used = [], 0
    for line in lines:
        used += len(line) + 1
        if used > max_chars + 1:
            break
        kept.append(line)
    if len(kept) < len(lines):
        kept.append(f"({len(kept)} of {len(lines)} tables are shown)")
    return "\n".join(kept)


def _statement(table: Table, samples: int) -> str:
    single = {key.columns[0]: key for key in table.foreign_keys if len(key.columns) == 1}
    keys = sorted((column.primary_key, column.name) for column in table.columns if column.primary_key)
    parts = []
    for column in table.columns:
        part = f"{name(column.name)} {column.type}".rstrip()
        part += " PRIMARY KEY" if len(keys) == 1 and column.primary_key else "" if column.nullable else " NOT NULL"
        if column.name in single:
            key = single[column.name]
            part += f" REFERENCES {name(key.table)} ({_names(key.to)})"
        parts.append((part, _values(column, samples)))
    if len(keys) > 1:
        parts.append((f"PRIMARY KEY ({_names([key for _, key in keys])})", ""))
    for key in table.foreign_keys:
        if len(key.columns) > 1:
            parts.append((f"FOREIGN KEY ({_names(key.columns)}) REFERENCES {name(key.table)} ({_names(key.to)})", ""))
    last = len(parts) - 1
    lines = [f"  {part}{',' if at < last else ''}{values}" for at, (part, values) in enumerate(parts)]
    return f"CREATE {table.kind.upper()} {name(table.name)} (\n" + "\n".join(lines) + "\n);"


def _values(column: Column, samples: int) -> str:
    shown = [
        render.cell(value, _SAMPLE_CHARS) if not isinstance(value, str) else repr(value[:_SAMPLE_CHARS])
        for value in column.samples[:samples]
    ]
    return f" -- {', '.join(shown)}" if shown else ""


def _names(columns: Sequence[str]) -> str:
    return ", ".join(map(name, columns))


def name(text: str) -> str:
    """A name as a query has to write it."""
    return text if _PLAIN.fullmatch(text) and text.lower() not in _RESERVED else '"' + text.replace('"', '""') + '"'
