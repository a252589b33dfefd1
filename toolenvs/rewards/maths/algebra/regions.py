"""Sets of reals: from inequalities, intervals and sets of numbers."""

from .parse import parse
from .shapes import Collection, Group, Interval, Quantity, Region, Relation, Shape
from .tree import INFINITY, MINUS_INFINITY, Node, Op, Sym, Unreadable, free_symbols, has, is_infinite, negate

LINE = Interval(MINUS_INFINITY, INFINITY, False, False)


def as_region(shape: Shape) -> Region | None:
    """The shape as a set of reals: an interval for a pair in brackets, points for a set of numbers."""
    if isinstance(shape, Region):
        return shape
    if isinstance(shape, Group) and len(shape.items) == 2 and shape.opening in ("(", "["):
        low, high = shape.items
        if isinstance(low, Quantity) and isinstance(high, Quantity) and not (low.unit or high.unit):
            return Region((Interval(low.value, high.value, shape.opening == "[", shape.closing == "]"),))
    if isinstance(shape, Collection) and shape.braces:
        values = [item.value for item in shape.items if isinstance(item, Quantity) and item.unit is None]
        if len(values) == len(shape.items):
            return Region(tuple(point(value) for value in values))
    return None


def point(node: Node) -> Interval:
    """A single number as an interval."""
    return Interval(node, node, True, True)


def join(first: Region, second: Region) -> Region:
    """The union of two regions; what either leaves out stays out, as in `x != 1 or x != 2`."""
    return Region((*first.inside, *second.inside), (*first.outside, *second.outside), first.variable)


def meet(first: Region, second: Region) -> Region:
    """The common part of two regions: what a union of complements leaves."""
    if len(first.inside) == len(second.inside) == 1:
        a, b = first.inside[0], second.inside[0]
        if is_infinite(a.low) and is_infinite(b.high):
            a, b = b, a
        if is_infinite(a.high) and is_infinite(b.low):
            merged = Interval(a.low, b.high, a.low_closed, b.high_closed)
            return Region((merged,), (*first.outside, *second.outside), first.variable)
    if first.inside == second.inside:
        return Region(first.inside, (*first.outside, *second.outside), first.variable)
    raise Unreadable("an intersection")


def inequality(parts: list[str], signs: list[str]) -> Shape:
    """Expressions with order signs between them: a region where they say it of one variable, else a relation."""
    trees = [single(part) for part in parts]
    flip = {">": "<", ">=": "<="}
    if len(trees) == 2:
        left, right, sign = trees[0], trees[1], signs[0]
        if sign in flip:
            left, right, sign = right, left, flip[sign]
        if (region := _ray(left, sign, right)) is not None:
            return region
        return Relation(left, sign, right)
    if len(trees) == 3 and not any(sign == "!=" for sign in signs):
        if all(sign in flip for sign in signs):
            trees.reverse()
            signs = [flip[sign] for sign in reversed(signs)]
        middle = trees[1]
        ends = free_symbols(trees[0]) | free_symbols(trees[2])
        if any(sign in flip for sign in signs) or not isinstance(middle, Sym) or middle.name in ends:
            raise Unreadable("a chain that is no interval")
        interval = Interval(trees[0], trees[2], signs[0] == "<=", signs[1] == "<=")
        return Region((interval,), (), middle.name)
    raise Unreadable("a chain of relations")


def _ray(left: Node, sign: str, right: Node) -> Region | None:
    """`x < a`, `a < x` or `x != a` as a region in x; the same for `|x|`."""
    closed = sign == "<="
    if isinstance(left, Op) and left.name == "abs" and isinstance(left.args[0], Sym) and not free_symbols(right):
        if sign == "!=":
            return None
        return Region((Interval(negate(right), right, closed, closed),), (), left.args[0].name)
    if isinstance(right, Op) and right.name == "abs" and isinstance(right.args[0], Sym) and not free_symbols(left):
        if sign == "!=":
            return None
        rays = (Interval(MINUS_INFINITY, negate(left), False, closed), Interval(left, INFINITY, closed, False))
        return Region(rays, (), right.args[0].name)
    if isinstance(left, Sym) and free_symbols(left) and left.name not in free_symbols(right):
        if isinstance(right, Sym) and free_symbols(right):
            return None
        if sign == "!=":
            return Region((LINE,), (point(right),), left.name)
        return Region((Interval(MINUS_INFINITY, right, False, closed),), (), left.name)
    if isinstance(right, Sym) and free_symbols(right) and right.name not in free_symbols(left):
        if sign == "!=":
            return Region((LINE,), (point(left),), right.name)
        return Region((Interval(left, INFINITY, closed, False),), (), right.name)
    return None


def single(text: str) -> Node:
    """The tree of an expression in which no sign is left open."""
    tree = parse(text)
    if has(tree, "pm", "mp"):
        raise Unreadable("a sign pair inside another shape")
    return tree
