"""Wrong queries, made out of right ones by one small change each, as people and models make them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlglot import exp, parse_one

Node: TypeAlias = Any
Values = Mapping[tuple[str, str], Sequence[Any]]
"""Table and column, in lower case: some values of it."""

_NEIGHBOURS = {
    exp.GT: (exp.GTE, exp.LT), exp.GTE: (exp.GT, exp.LTE), exp.LT: (exp.LTE, exp.GT), exp.LTE: (exp.LT, exp.GTE),
    exp.EQ: (exp.NEQ, exp.GTE), exp.NEQ: (exp.EQ,),
}  # fmt: skip
_AGGREGATES = {
    exp.Avg: (exp.Sum, exp.Max), exp.Sum: (exp.Avg, exp.Count), exp.Min: (exp.Max,), exp.Max: (exp.Min, exp.Avg),
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """A query that is probably wrong."""

    kind: str
    sql: str


def mutants(sql: str, values: Values) -> list[Mutant]:
    """The changed forms of a SQLite query, each once."""
    tree = parse_one(sql, dialect="sqlite")
    tables = {table.alias_or_name.lower(): table.name.lower() for table in tree.find_all(exp.Table)}
    columns: dict[str, list[str]] = {}
    for table, column in values:
        columns.setdefault(table, []).append(column)
    found: dict[str, Mutant] = {}
    for kind, change in _CHANGES:
        for changed in change(tree, tables, columns, values):
            text = changed.sql(dialect="sqlite")
            if text != tree.sql(dialect="sqlite"):
                found.setdefault(text, Mutant(kind, text))
    return list(found.values())


def _each(
    tree: Node, kinds: type | tuple[type, ...], changes: Callable[[Node], Iterator[Callable[[Node], Node]]]
) -> Iterator[Node]:
    """For every node of a kind and every change of it, the tree with that one change."""
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    for place, node in enumerate(tree.find_all(*kinds)):
        for change in changes(node):
            copy = tree.copy()
            target = list(copy.find_all(*kinds))[place]
            new = change(target)
            if new is None:  # it was changed where it stands
                yield copy
            elif target is not copy:
                target.replace(new)
                yield copy


def _operators(tree: Node, *_: Any) -> Iterator[Node]:
    def changes(node: Node) -> Iterator[Callable[[Node], Node]]:
        if isinstance(node, exp.EQ) and isinstance(node.expression, exp.Column):
            return
        for other in _NEIGHBOURS[type(node)]:
            yield lambda n, other=other: other(this=n.this.copy(), expression=n.expression.copy())

    return _each(tree, tuple(_NEIGHBOURS), changes)


def _constants(tree: Node, tables: Mapping[str, str], columns: Any, values: Values) -> Iterator[Node]:
    def changes(node: Node) -> Iterator[Callable[[Node], Node]]:
        if node.is_string:
            column = node.parent.find(exp.Column) if node.parent else None
            known = values.get((_table(column, tables, values), column.name.lower()), ()) if column else ()
            others = [value for value in known if isinstance(value, str) and value != node.name]
            for value in others[:2]:
                yield lambda n, value=value: exp.Literal.string(value)
        elif node.is_int:
            for step in (1, -1):
                if int(node.name) + step >= 0:
                    yield lambda n, step=step: exp.Literal.number(int(n.name) + step)
            yield lambda n: exp.Literal.number(2 * int(n.name) + 1)
        elif node.is_number:
            for step in (0.5, -0.5):
                yield lambda n, step=step: exp.Literal.number(float(n.name) + step)

    return _each(tree, exp.Literal, changes)


def _table(column: Node, tables: Mapping[str, str], values: Values) -> str:
    """The table of a column, in lower case."""
    if column.table:
        return tables.get(column.table.lower(), "")
    scope = column.find_ancestor(exp.Select)
    names = [table.name.lower() for table in scope.find_all(exp.Table)] if scope else []
    return next((name for name in names if (name, column.name.lower()) in values), "")


def _columns(tree: Node, tables: Mapping[str, str], columns: Mapping[str, list[str]], values: Values) -> Iterator[Node]:
    def changes(node: Node) -> Iterator[Callable[[Node], Node]]:
        table, own = _table(node, tables, values), node.name.lower()
        kinds = {type(value) for value in values.get((table, own), ())}
        same = [c for c in columns.get(table, ()) if c != own and {type(v) for v in values[table, c]} & kinds]
        for other in same[:3]:
            yield lambda n, other=other: exp.column(other, table=n.table or None)
        for alias, name in tables.items():
            if node.table and alias != node.table.lower() and own in columns.get(name, ()):
                yield lambda n, alias=alias: exp.column(n.name, table=alias)

    return _each(tree, exp.Column, changes)


def _aggregates(tree: Node, *_: Any) -> Iterator[Node]:
    def changes(node: Node) -> Iterator[Callable[[Node], Node]]:
        if isinstance(node.this, exp.Distinct):
            return
        for other in _AGGREGATES[type(node)]:
            yield lambda n, other=other: other(this=n.this.copy())

    yield from _each(tree, tuple(_AGGREGATES), changes)

    def counted(node: Node) -> Iterator[Callable[[Node], Node]]:
        if isinstance(node.this, exp.Distinct):
            yield lambda n: exp.Count(this=n.this.expressions[0].copy())
            yield lambda n: exp.Count(this=exp.Star())
        else:
            group = node.find_ancestor(exp.Select).args.get("group")
            for column in list(node.find_ancestor(exp.Select).find_all(exp.Column))[:3]:
                if not group or column not in group.expressions:
                    text = column.sql()
                    yield lambda n, text=text: parse_one(f"count(DISTINCT {text})", dialect="sqlite")
            yield lambda n: parse_one("count(*) + 1", dialect="sqlite")

    yield from _each(tree, exp.Count, counted)


def _conditions(tree: Node, *_: Any) -> Iterator[Node]:
    def halves(node: Node) -> Iterator[Callable[[Node], Node]]:
        yield lambda n: n.this.copy()
        yield lambda n: n.expression.copy()
        yield lambda n: exp.Or(this=n.this.copy(), expression=n.expression.copy())

    yield from _each(tree, exp.And, halves)

    def whole(node: Node) -> Iterator[Callable[[Node], Node]]:
        def drop(n: Node) -> None:
            n.parent.set(n.arg_key, None)

        yield drop
        if isinstance(node, exp.Where):
            yield lambda n: exp.Where(this=exp.Not(this=exp.Paren(this=n.this.copy())))

    yield from _each(tree, (exp.Where, exp.Having), whole)

    def negated(node: Node) -> Iterator[Callable[[Node], Node]]:
        yield lambda n: n.this.copy()

    yield from _each(tree, exp.Not, negated)


def _orders(tree: Node, tables: Mapping[str, str], columns: Mapping[str, list[str]], values: Values) -> Iterator[Node]:
    def turned(node: Node) -> Iterator[Callable[[Node], Node]]:
        yield lambda n: exp.Ordered(this=n.this.copy(), desc=not n.args.get("desc"))
        table = next(iter(tables.values()))
        for other in columns.get(table, ())[:3]:
            alias = next(iter(tables)) if len(tables) > 1 else None
            yield lambda n, other=other, alias=alias: exp.Ordered(
                this=exp.column(other, table=alias), desc=n.args.get("desc")
            )

    yield from _each(tree, exp.Ordered, turned)

    def dropped(node: Node) -> Iterator[Callable[[Node], Node]]:
        def drop(n: Node) -> None:
            n.parent.set(n.arg_key, None)

        yield drop

    yield from _each(tree, (exp.Order, exp.Limit), dropped)


def _shapes(tree: Node, tables: Mapping[str, str], columns: Mapping[str, list[str]], values: Values) -> Iterator[Node]:
    copy = tree.copy()
    copy.set("distinct", None if copy.args.get("distinct") else exp.Distinct())
    yield copy
    if len(tree.expressions) > 1:
        for order in (list(reversed(tree.expressions)), tree.expressions[:1]):
            copy = tree.copy()
            copy.set("expressions", [one.copy() for one in order])
            yield copy
    copy = tree.copy()
    copy.set("expressions", [*copy.expressions, copy.expressions[0].copy()])
    yield copy

    def outer(node: Node) -> Iterator[Callable[[Node], Node]]:
        def left(n: Node) -> None:
            n.set("side", "LEFT")

        yield left

    yield from _each(tree, exp.Join, outer)

    def grouped(node: Node) -> Iterator[Callable[[Node], Node]]:
        def drop(n: Node) -> None:
            n.parent.set("group", None)

        yield drop
        for column in node.find_ancestor(exp.Select).find_all(exp.Column):
            text = column.sql()
            yield lambda n, text=text: exp.Group(expressions=[parse_one(text, dialect="sqlite")])

    yield from _each(tree, exp.Group, grouped)


def _nulls(tree: Node, tables: Mapping[str, str], columns: Mapping[str, list[str]], values: Values) -> Iterator[Node]:
    def changes(node: Node) -> Iterator[Callable[[Node], Node]]:
        yield lambda n: exp.Not(this=n.copy())
        yield lambda n: exp.EQ(this=n.this.copy(), expression=exp.Literal.string(""))

    return _each(tree, exp.Is, changes)


_CHANGES: tuple[tuple[str, Callable[..., Iterator[Node]]], ...] = (
    ("operator", _operators), ("constant", _constants), ("column", _columns), ("aggregate", _aggregates),
    ("condition", _conditions), ("order", _orders), ("shape", _shapes), ("null", _nulls),
)  # fmt: skip
