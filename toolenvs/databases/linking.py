"""Which tables and columns of a schema a query reads: schema linking, by the query's text alone.

>>> read = links("SELECT p.name FROM place AS p JOIN country AS c ON p.country_id = c.id", schema)  # doctest: +SKIP
>>> read.tables, read.columns  # doctest: +SKIP
(('country', 'place'), ('country.id', 'place.country_id', 'place.name'))
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from toolenvs.databases.parsing import Unparsed, parse, require
from toolenvs.databases.schema import Schema

if TYPE_CHECKING:
    from sqlglot.optimizer.scope import Scope

_Columns = dict[str, str]
"""Columns of a table: their names in lower case, and as the schema spells them with the table."""


@dataclass(frozen=True, slots=True)
class Links:
    """What a query reads, as the schema spells it, in order of the alphabet."""

    tables: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    """Each as "table.column"."""
    starred: tuple[str, ...] = ()
    """Those of `columns` that nothing but a `*` names."""


def links(sql: str, schema: Schema) -> Links | None:
    """What a query reads; None where it cannot be parsed. Names that the schema does not have are left out.

    Args:
        sql: one query or more, of the schema's dialect.
        schema: of the database.
    """
    require("schema linking")
    try:
        found = list(_found(sql, schema))
    except (Unparsed, RecursionError):
        return None
    except Exception:  # as in `parse`
        return None
    named = {name for name, star in found if "." in name and not star}
    columns = {name for name, _ in found if "." in name}
    return Links(
        tuple(sorted({name for name, _ in found if "." not in name})),
        tuple(sorted(columns)),
        tuple(sorted(columns - named)),
    )


def linking(gold: Links, said: Links, measure: Literal["recall", "f1"] = "recall") -> tuple[float, float]:
    """How much of the gold's tables, and of its columns, a query reads; what only a `*` names counts as not read.

    Args:
        gold: what the gold query reads.
        said: what the query reads that is judged.
        measure: "recall", the share of the gold's; "f1" takes off for whatever else is read as well.
    """
    stars = set(said.starred) - set(gold.starred)
    return (
        _measure(set(gold.tables), set(said.tables), measure),
        _measure(set(gold.columns), set(said.columns) - stars, measure),
    )


def _measure(gold: set[str], said: set[str], measure: str) -> float:
    both = len(gold & said)
    if not gold:
        return 1.0 if measure == "recall" or not said else 0.0
    return both / len(gold) if measure == "recall" else 2 * both / (len(gold) + len(said))


def _found(sql: str, schema: Schema) -> Iterator[tuple[str, bool]]:
    """Tables, and columns as "table.column"; with each, whether a `*` stands for it."""
    from sqlglot import exp
    from sqlglot.optimizer.scope import traverse_scope

    tables = {table.name.lower(): table for table in schema.tables}
    columns: dict[str, _Columns] = {
        name: {column.name.lower(): f"{table.name}.{column.name}" for column in table.columns}
        for name, table in tables.items()
    }
    resolved: set[int] = set()
    for tree in parse(sql, schema.dialect):
        for scope in traverse_scope(tree):
            sources = _sources(scope, columns, exp)
            yield from ((tables[table].name, False) for table in sources.values())
            for column in scope.columns:  # inner scopes come first; their columns are listed by the outer ones again
                if id(column) not in resolved:
                    resolved.add(id(column))
                    yield from ((name, False) for name in _resolved(column, scope, columns, exp))
            for projection in getattr(scope.expression, "selects", ()):
                if isinstance(projection, exp.Star):
                    yield from ((name, True) for table in sources.values() for name in columns[table].values())
                elif isinstance(projection, exp.Column) and isinstance(projection.this, exp.Star):
                    table = sources.get(projection.table.lower(), "")
                    yield from ((name, True) for name in columns.get(table, {}).values())


def _sources(scope: "Scope", columns: dict[str, _Columns], exp: Any) -> dict[str, str]:
    """The schema's tables that a scope reads, by the name that it gives them, both in lower case."""
    return {
        alias.lower(): source.name.lower()
        for alias, source in scope.sources.items()
        if isinstance(source, exp.Table) and source.name.lower() in columns
    }


def _resolved(column: Any, scope: "Scope", columns: dict[str, _Columns], exp: Any) -> Iterator[str]:
    """The column of the schema that a name stands for: of the scope that it stands in, or of one around it."""
    name, qualifier = column.name.lower(), column.table.lower()
    within: Scope | None = scope
    while within is not None:
        sources = _sources(within, columns, exp)
        if qualifier:
            if any(alias.lower() == qualifier for alias in within.sources):
                table = sources.get(qualifier, "")
                yield from ([columns[table][name]] if name in columns.get(table, {}) else [])
                return
        else:
            holding = [table for table in dict.fromkeys(sources.values()) if name in columns[table]]
            if holding:
                yield from (columns[table][name] for table in holding[:1])
                return
        within = within.parent
