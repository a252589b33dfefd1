"""What a database holds: tables, columns, keys, and a few values of each column."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from toolenvs.databases.result import Value


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table or view."""

    name: str
    type: str
    """As declared; "" where the engine knows none."""
    nullable: bool = True
    primary_key: int = 0
    """Its place in the primary key from 1; 0: not in it."""
    samples: tuple[Value, ...] = ()
    """Some of its values, each once, without NULL; as many as were asked for, or as there are."""


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Columns of a table that name a row of another one."""

    columns: tuple[str, ...]
    table: str
    to: tuple[str, ...]
    """Columns of `table`, as many."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table or view."""

    name: str
    kind: Literal["table", "view"]
    columns: tuple[Column, ...]
    foreign_keys: tuple[ForeignKey, ...] = ()


@dataclass(frozen=True, slots=True)
class Schema:
    """Tables and views in order of their names, those of the engine itself left out."""

    dialect: str
    """The engine's name, as sqlglot spells it: sqlite, duckdb, postgres."""
    tables: tuple[Table, ...]

    def table(self, name: str) -> Table | None:
        """The table of this name, upper and lower case alike; None where there is none."""
        return next((table for table in self.tables if table.name.lower() == name.lower()), None)


def from_message(dialect: str, tables: Sequence[Mapping[str, Any]]) -> Schema:
    """The schema that an engine's process described."""
    return Schema(
        dialect,
        tuple(
            Table(
                table["name"],
                table["kind"],
                tuple(Column(**column) for column in table["columns"]),
                tuple(ForeignKey(*key) for key in table["foreign_keys"]),
            )
            for table in tables
        ),
    )
