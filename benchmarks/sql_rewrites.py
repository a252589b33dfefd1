"""Other ways to write a query that give the same answer on every state of the database that its schema allows."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlglot import exp, parse_one

Node: TypeAlias = Any


@dataclass(frozen=True)
class Facts:
    """What a schema declares, names in lower case."""

    keys: Mapping[str, str]
    """Table: its one column of primary key."""
    unique: frozenset[tuple[str, str]]
    not_null: frozenset[tuple[str, str]]
    whole: frozenset[tuple[str, str]]
    """Columns of whole numbers."""


@dataclass(frozen=True)
class Rewrite:
    """A query that is as good."""

    kind: str
    sql: str


def rewrites(sql: str, facts: Facts) -> list[Rewrite]:
    """Other forms of a SQLite query, each once."""
    tree = parse_one(sql, dialect="sqlite")
    found: dict[str, Rewrite] = {}
    for kind, rewrite in _REWRITES:
        for text in rewrite(tree, facts):
            if text != tree.sql(dialect="sqlite"):
                found.setdefault(text, Rewrite(kind, text))
    return list(found.values())


def _text(node: Node) -> str:
    return str(node.sql(dialect="sqlite"))


def _tables(tree: Node) -> dict[str, str]:
    return {table.alias_or_name: table.name.lower() for table in tree.find_all(exp.Table)}


def _of(column: Node, tables: Mapping[str, str]) -> tuple[str, str]:
    table = tables.get(column.table, "") if column.table else next(iter(tables.values()))
    return table, column.name.lower()


def _is_simple(tree: Node) -> bool:
    """One SELECT over one table, without groups."""
    return (
        len(list(tree.find_all(exp.Select))) == 1
        and not tree.args.get("joins")
        and not tree.args.get("group")
        and not tree.args.get("distinct")
    )


def _counts(tree: Node) -> bool:
    only = tree.expressions[0] if len(tree.expressions) == 1 else None
    return isinstance(only, exp.Count) and isinstance(only.this, exp.Star) and not tree.args.get("group")


def _changed(tree: Node, kind: type | tuple[type, ...], change: Callable[[Node], Node | None]) -> Iterator[str]:
    """The tree with every node of a kind changed where `change` gives one."""
    copy = tree.copy()
    done = False
    for node in list(copy.find_all(kind)):
        new = change(node)
        if new is not None and node is not copy:
            node.replace(new)
            done = True
    if done:
        yield _text(copy)


def _aliases(tree: Node, _: Facts) -> Iterator[str]:
    copy = tree.copy()
    for table in copy.find_all(exp.Table):
        if table.alias:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(f"the_{table.alias}")))
    for column in copy.find_all(exp.Column):
        if column.table:
            column.set("table", exp.to_identifier(f"the_{column.table}"))
    if any(table.alias for table in copy.find_all(exp.Table)):
        yield _text(copy)


def _spelling(tree: Node, _: Facts) -> Iterator[str]:
    yield str(tree.sql(dialect="sqlite", identify=True))
    yield f"-- the answer; see above\n{tree.sql(dialect='sqlite', pretty=True)}\n;  "
    yield str(tree.sql(dialect="sqlite", normalize_functions="upper")).replace("SELECT ", "select /* * */ ", 1)


def _comparisons(tree: Node, facts: Facts) -> Iterator[str]:
    tables = _tables(tree)
    flipped = {exp.GT: exp.LT, exp.LT: exp.GT, exp.GTE: exp.LTE, exp.LTE: exp.GTE, exp.EQ: exp.EQ}
    opposite = {exp.GT: exp.LTE, exp.LT: exp.GTE, exp.GTE: exp.LT, exp.LTE: exp.GT, exp.EQ: exp.NEQ}

    def ready(node: Node) -> bool:  # what joins tables stays as it is: without an index, a join would take for ever
        return node.find_ancestor(exp.Where) is not None and not isinstance(node.expression, exp.Column)

    def flip(node: Node) -> Node | None:
        return flipped[type(node)](this=node.expression.copy(), expression=node.this.copy()) if ready(node) else None

    def negate(node: Node) -> Node | None:
        inner = opposite[type(node)](this=node.this.copy(), expression=node.expression.copy())
        return exp.Not(this=exp.Paren(this=inner)) if ready(node) else None

    def step(node: Node) -> Node | None:
        left, right = node.this, node.expression
        if not (isinstance(left, exp.Column) and isinstance(right, exp.Literal) and right.is_int and ready(node)):
            return None
        if _of(left, tables) not in facts.whole:
            return None
        by = {exp.GT: (exp.GTE, 1), exp.GTE: (exp.GT, -1), exp.LT: (exp.LTE, -1), exp.LTE: (exp.LT, 1)}
        if type(node) not in by or int(right.name) == 0:
            return None
        other, add = by[type(node)]
        return other(this=left.copy(), expression=exp.Literal.number(int(right.name) + add))

    def between(node: Node) -> Node | None:
        if not isinstance(node.expression, exp.Literal) or not node.expression.is_number or not ready(node):
            return None
        column, value = _text(node.this), _text(node.expression)
        if isinstance(node, exp.GTE):
            return parse_one(f"{column} BETWEEN {value} AND 9223372036854775807", dialect="sqlite")
        if isinstance(node, exp.LTE):
            return parse_one(f"{column} BETWEEN -9223372036854775807 AND {value}", dialect="sqlite")
        return None

    def arithmetic(node: Node) -> Node | None:
        if not isinstance(node.expression, exp.Literal) or not node.expression.is_int or not ready(node):
            return None
        twice = exp.Mul(this=node.this.copy(), expression=exp.Literal.number(2))
        return type(node)(this=twice, expression=exp.Literal.number(2 * int(node.expression.name)))

    def alike(node: Node) -> Node | None:
        if isinstance(node.expression, exp.Literal) and isinstance(node, exp.EQ) and ready(node):
            return exp.In(this=node.this.copy(), expressions=[node.expression.copy()])
        return None

    def coalesced(node: Node) -> Node | None:
        right = node.expression
        if (
            isinstance(node, exp.EQ)
            and isinstance(right, exp.Literal)
            and right.is_string
            and right.name
            and ready(node)
        ):
            return parse_one(f"COALESCE({_text(node.this)}, '') = {_text(right)}", dialect="sqlite")
        return None

    def case(node: Node) -> Node | None:
        if not ready(node) or isinstance(node.expression, exp.Subquery):
            return None
        return parse_one(f"CASE WHEN {_text(node)} THEN 1 ELSE 0 END = 1", dialect="sqlite")

    for change in (flip, negate, step, between, arithmetic, alike, coalesced, case):
        yield from _changed(tree, tuple(flipped), change)


def _joins(tree: Node, facts: Facts) -> Iterator[str]:
    joins = tree.args.get("joins") or []
    if not joins or any(join.side or not join.args.get("on") for join in joins):
        return
    copy = tree.copy()
    conditions = [join.args["on"].copy() for join in copy.args["joins"]]
    for join in copy.args["joins"]:
        join.set("on", None)
        join.set("kind", None)
    text = _text(copy.where(*conditions, copy=True))
    yield text
    tables = [tree.args["from_"].this, *(join.this for join in joins)]
    turned = tree.copy()
    turned.set("from_", exp.From(this=tables[-1].copy()))
    turned.set("joins", [exp.Join(this=table.copy(), kind="CROSS") for table in reversed(tables[:-1])])
    yield _text(turned.where(*[join.args["on"].copy() for join in joins], copy=True))
    if len(joins) != 1 or tree.args.get("group"):
        return
    first, other = tables
    on, where = joins[0].args["on"], tree.args.get("where")
    used = [column.table for part in (*tree.expressions, *([tree.args["order"]] if tree.args.get("order") else ()))
            for column in part.find_all(exp.Column)]  # fmt: skip
    if other.alias in used or not where or not isinstance(on, exp.EQ) or not other.alias:
        return
    if on.expression.table != other.alias or on.expression.name.lower() != facts.keys.get(other.name.lower()):
        return
    parts = list(where.this.flatten()) if isinstance(where.this, exp.And) else [where.this]
    inner = [part for part in parts if {c.table for c in part.find_all(exp.Column)} == {other.alias}]
    outer = [part for part in parts if {c.table for c in part.find_all(exp.Column)} == {first.alias}]
    if len(inner) + len(outer) < len(parts) or not inner:
        return
    condition = " AND ".join(map(_text, inner))
    rest = "".join(f" AND {_text(part)}" for part in outer)
    bare = tree.copy()
    bare.set("joins", None)
    bare.set("where", None)
    for form in (
        f"{_text(on.this)} IN (SELECT {_text(on.expression)} FROM {_text(other)} WHERE {condition}){rest}",
        f"EXISTS (SELECT 1 FROM {_text(other)} WHERE {_text(on)} AND {condition}){rest}",
        f"(SELECT count(*) FROM {_text(other)} WHERE {_text(on)} AND {condition}) > 0{rest}",
    ):
        yield _text(bare.where(parse_one(form, dialect="sqlite"), copy=True))


def _wrapped(tree: Node, _: Facts) -> Iterator[str]:
    if tree.args.get("order"):
        return
    text = _text(tree)
    yield f"SELECT * FROM ({text})"
    yield f"WITH answer AS ({text}) SELECT * FROM answer"
    yield f"{text} ORDER BY 1 DESC"
    if not tree.args.get("limit") and _counts(tree):
        yield f"SELECT ({text})"
        yield f"{text} LIMIT 1"


def _aggregates(tree: Node, facts: Facts) -> Iterator[str]:
    def mean(node: Node) -> Node | None:
        of = _text(node.this)
        return parse_one(f"sum({of}) * 1.0 / count({of})", dialect="sqlite")

    yield from _changed(tree, exp.Avg, mean)
    tables = _tables(tree)

    def counted(node: Node) -> Node | None:
        return parse_one("count(1)", dialect="sqlite") if isinstance(node.this, exp.Star) else None

    def by_key(node: Node) -> Node | None:
        table = tree.args["from_"].this
        key = facts.keys.get(table.name.lower())
        if not isinstance(node.this, exp.Star) or not key or node.find_ancestor(exp.Subquery):
            return None
        return parse_one(f"count({table.alias_or_name}.{key})", dialect="sqlite")

    for change in (counted, by_key):
        yield from _changed(tree, exp.Count, change)
    where = tree.args.get("where")
    if _counts(tree) and where and not tree.args.get("joins"):
        condition, bare = _text(where.this), tree.copy()
        bare.set("where", None)
        source = _text(bare).partition(" FROM ")[2]
        yield f"SELECT count(CASE WHEN {condition} THEN 1 END) FROM {source}"
        yield f"SELECT coalesce(sum(iif({condition}, 1, 0)), 0) FROM {source}"
        yield f"SELECT count(*) FILTER (WHERE {condition}) FROM {source}"
        yield f"SELECT count(*) - count(*) FILTER (WHERE ({condition}) IS NOT TRUE) FROM {source}"
    only = tree.expressions[0] if len(tree.expressions) == 1 else None
    if isinstance(only, exp.Count) and isinstance(only.this, exp.Distinct) and _is_simple(tree):
        column = _text(only.this.expressions[0])
        rest = _text(tree).partition(" FROM ")[2]
        joiner = "AND" if where else "WHERE"
        yield f"SELECT count(*) FROM (SELECT DISTINCT {column} FROM {rest} {joiner} {column} IS NOT NULL)"
        yield f"SELECT count(*) FROM (SELECT {column} FROM {rest} {joiner} {column} IS NOT NULL GROUP BY {column})"
    if [type(one) for one in tree.expressions] == [exp.Min, exp.Max] and _is_simple(tree):
        rest = _text(tree).partition(" FROM ")[2]
        yield "SELECT " + ", ".join(f"(SELECT {_text(one)} FROM {rest})" for one in tree.expressions)
    _ = tables


def _groups(tree: Node, facts: Facts) -> Iterator[str]:
    group, having = tree.args.get("group"), tree.args.get("having")
    if not group or len(tree.expressions) != 2 or len(group.expressions) != 1:
        return
    column = group.expressions[0]
    if isinstance(column, exp.Column):
        wider = tree.copy()
        named = tree.expressions[0]
        if isinstance(named, exp.Column) and named.table == column.table and named != column:
            wider.set("group", exp.Group(expressions=[column.copy(), named.copy()]))
            yield _text(wider)
    if having and not tree.args.get("order") and isinstance(having.this, exp.GTE | exp.GT):
        inner = tree.copy()
        inner.set("having", None)
        inner.set(
            "expressions", [exp.alias_(tree.expressions[0].copy(), "who"), exp.alias_(tree.expressions[1].copy(), "n")]
        )
        sign = ">=" if isinstance(having.this, exp.GTE) else ">"
        if having.this.this == tree.expressions[1]:
            yield f"SELECT who, n FROM ({_text(inner)}) WHERE n {sign} {_text(having.this.expression)}"
            if sign == ">=":
                least = _text(having.this.expression)
                yield f"WITH counted AS ({_text(inner)}) SELECT who, n FROM counted WHERE NOT n < {least}"
    if tree.expressions[0] == column and not having and not tree.args.get("joins") and not tree.args.get("order"):
        windowed = tree.copy()
        windowed.set("group", None)
        windowed.set("distinct", exp.Distinct())
        over = f"{_text(tree.expressions[1])} OVER (PARTITION BY {_text(column)})"
        windowed.set("expressions", [column.copy(), parse_one(over, dialect="sqlite")])
        yield _text(windowed)


def _columns_turned(tree: Node, facts: Facts) -> Iterator[str]:
    """A text and a number: their types leave one choice."""
    if len(tree.expressions) != 2 or not isinstance(tree.expressions[1], exp.Count):
        return
    if isinstance(tree.expressions[0], exp.Column) and _of(tree.expressions[0], _tables(tree)) not in facts.whole:
        turned = tree.copy()
        turned.set("expressions", [tree.expressions[1].copy(), tree.expressions[0].copy()])
        yield _text(turned)


def _limits(tree: Node, facts: Facts) -> Iterator[str]:
    limit, order = tree.args.get("limit"), tree.args.get("order")
    if not limit or not order:
        return
    text, k = _text(tree), limit.expression.name
    yield f"{text} OFFSET 0"
    yield text.rpartition(" LIMIT ")[0] + f" LIMIT 0, {k}"
    yield text.rpartition(" LIMIT ")[0] + f" LIMIT {k} * 1"
    first = order.expressions[0]
    if not _is_simple(tree) or not isinstance(first.this, exp.Column):
        return
    key, direction = _text(first.this), "DESC" if first.args.get("desc") else "ASC"
    where = f" WHERE {_text(tree.args['where'].this)}" if tree.args.get("where") else ""
    table, listed = _text(tree.args["from_"].this), ", ".join(map(_text, tree.expressions))
    more = "AND" if where else "WHERE"
    if k == "1":
        best = "max" if direction == "DESC" else "min"
        yield f"SELECT {listed} FROM {table}{where} {more} {key} = (SELECT {best}({key}) FROM {table}{where})"
    sign = ">" if direction == "DESC" else "<"
    if _of(first.this, _tables(tree)) in facts.not_null:
        yield (
            f"SELECT {listed} FROM (SELECT *, row_number() OVER (ORDER BY {key} {direction}) AS place "
            f"FROM {table}{where}) WHERE place <= {k} ORDER BY place"
        )
        inner = where.replace(" WHERE ", " AND ") if where else ""
        yield (
            f"SELECT {listed} FROM {table} AS o{where} {more} (SELECT count(*) FROM {table} AS i WHERE i.{key} {sign} "
            f"o.{key}{inner}) < {k} ORDER BY {key} {direction}"
        )


def _missing(tree: Node, facts: Facts) -> Iterator[str]:
    for exists in tree.find_all(exp.Exists):
        select, where = exists.this, tree.args.get("where")
        if not isinstance(exists.parent, exp.Not) or select.args.get("joins") or not where or tree.args.get("joins"):
            continue
        on = select.args["where"].this
        if not isinstance(on, exp.EQ) or not isinstance(on.expression, exp.Column):
            continue
        inner = _text(select.args["from_"].this)
        other = tree.copy()
        target = next(other.find_all(exp.Exists)).parent
        condition = (
            f"{_text(on.expression)} NOT IN (SELECT {_text(on.this)} FROM {inner} WHERE {_text(on.this)} IS NOT NULL)"
        )
        target.replace(parse_one(condition, dialect="sqlite"))
        yield _text(other)
        kept = tree.copy()
        kept_not = next(kept.find_all(exp.Exists)).parent
        kept_not.replace(parse_one(f"{_text(on.this)} IS NULL", dialect="sqlite"))
        yield _text(kept.join(select.args["from_"].this.copy(), on=on.copy(), join_type="left", copy=True))
        zero = tree.copy()
        counted = f"(SELECT count(*) FROM {inner} WHERE {_text(on)}) = 0"
        next(zero.find_all(exp.Exists)).parent.replace(parse_one(counted, dialect="sqlite"))
        yield _text(zero)


def _split(tree: Node, facts: Facts) -> Iterator[str]:
    table = tree.args["from_"].this
    key = facts.keys.get(table.name.lower())
    if not key or tree.args.get("group") or tree.args.get("order") or tree.args.get("distinct"):
        return
    halves = [
        _text(tree.where(f"{table.alias_or_name}.{key} % 2 {sign} 0", copy=True, dialect="sqlite"))
        for sign in ("=", "<>")
    ]
    if _counts(tree):
        yield f"SELECT ({halves[0]}) + ({halves[1]})"
        yield f"SELECT sum(n) FROM (SELECT ({halves[0]}) AS n UNION ALL SELECT ({halves[1]}))"
    elif not any(tree.find_all(exp.AggFunc)):
        yield " UNION ALL ".join(halves)


def _distinct(tree: Node, facts: Facts) -> Iterator[str]:
    only = tree.expressions[0] if len(tree.expressions) == 1 else None
    if _is_simple(tree) and isinstance(only, exp.Column) and _of(only, _tables(tree)) in facts.unique:
        copy = tree.copy()
        copy.set("distinct", exp.Distinct())
        yield _text(copy)
        if not tree.args.get("order"):
            copy = tree.copy()
            copy.set("group", exp.Group(expressions=[only.copy()]))
            yield _text(copy)


def _order_forms(tree: Node, _: Facts) -> Iterator[str]:
    order = tree.args.get("order")
    if not order or len(order.expressions) != 1:
        return
    term = order.expressions[0]
    for place, shown in enumerate(tree.expressions, start=1):
        if shown == term.this:
            copy = tree.copy()
            copy.args["order"].expressions[0].set("this", exp.Literal.number(place))
            yield _text(copy)
            named = tree.copy()
            named.expressions[place - 1].replace(exp.alias_(shown.copy(), "shown"))
            named.args["order"].expressions[0].set("this", exp.column("shown"))
            yield _text(named)


_REWRITES: tuple[tuple[str, Callable[[Node, Facts], Iterator[str]]], ...] = (
    ("aliases", _aliases), ("spelling", _spelling), ("comparisons", _comparisons), ("joins", _joins),
    ("wrapped", _wrapped), ("aggregates", _aggregates), ("groups", _groups), ("columns", _columns_turned),
    ("limits", _limits), ("missing", _missing), ("split", _split), ("distinct", _distinct), ("order", _order_forms),
)  # fmt: skip
