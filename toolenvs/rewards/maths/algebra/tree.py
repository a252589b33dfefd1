"""Expressions as trees of numbers, symbols and operations."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

CONSTANTS = frozenset({"e", "i", r"\pi", r"\infty"})
"""Symbols that name a value; every other symbol is free."""


class Unreadable(Exception):
    """The text is not in the subset that is read; it can still be compared as text."""


class TooBig(Exception):
    """The answer is too large or too deep to be looked at."""


class NeedsChild(Exception):
    """Exact arithmetic cannot decide within its bounds."""


@dataclass(frozen=True, slots=True)
class Num:
    """A number as it was written."""

    value: Fraction
    places: int | None = None
    """Digits written after the decimal point, less the exponent of ten; None for an integer."""


@dataclass(frozen=True, slots=True)
class Sym:
    """A variable or a named constant, subscript and primes included."""

    name: str


@dataclass(frozen=True, slots=True)
class Op:
    """An operation or a function applied to its arguments."""

    name: str
    args: "tuple[Node, ...]"


Node: TypeAlias = Num | Sym | Op

INFINITY = Sym(r"\infty")
MINUS_INFINITY = Op("neg", (INFINITY,))


def integer(value: int) -> Num:
    """The tree of an integer."""
    return Num(Fraction(value))


def negate(node: Node) -> Node:
    """The tree of `-node`."""
    return Op("neg", (node,))


def subtract(left: Node, right: Node) -> Node:
    """The tree of `left - right`."""
    return Op("add", (left, negate(right)))


def walk(node: Node) -> Iterator[Node]:
    """Every node of the tree, the root first."""
    stack = [node]
    while stack:
        here = stack.pop()
        yield here
        if isinstance(here, Op):
            stack.extend(here.args)


def free_symbols(node: Node) -> frozenset[str]:
    """Names of the variables in the tree."""
    return frozenset(n.name for n in walk(node) if isinstance(n, Sym) and n.name not in CONSTANTS)


def has(node: Node, *names: str) -> bool:
    """Whether a symbol or an operation of one of these names is in the tree."""
    return any(not isinstance(n, Num) and n.name in names for n in walk(node))


def has_decimal(node: Node) -> bool:
    """Whether a number with a decimal point is in the tree."""
    return any(isinstance(n, Num) and n.places is not None for n in walk(node))


def is_infinite(node: Node) -> int:
    """+1 or -1 for plus or minus infinity, else 0."""
    if node == INFINITY:
        return 1
    return -1 if node == MINUS_INFINITY else 0


def rename(node: Node, old: str, new: str) -> Node:
    """The tree with one symbol renamed."""
    if isinstance(node, Sym):
        return Sym(new) if node.name == old else node
    if isinstance(node, Op):
        return Op(node.name, tuple(rename(arg, old, new) for arg in node.args))
    return node


def choose_signs(node: Node) -> list[Node]:
    r"""Each reading of `\pm` and `\mp`: independent signs, unless a `\mp` ties them together."""
    count = sum(1 for n in walk(node) if isinstance(n, Op) and n.name in ("pm", "mp"))
    if not count:
        return [node]
    if count > 4:
        raise TooBig("more than four sign pairs")
    if count == 1 or has(node, "mp"):
        return [_with_signs(node, [sign] * count) for sign in (1, -1)]
    choices = [[1 if bits >> k & 1 else -1 for k in range(count)] for bits in reversed(range(2**count))]
    return [_with_signs(node, list(choice)) for choice in choices]


def _with_signs(node: Node, signs: list[int]) -> Node:
    """Replace sign pairs in reading order, consuming `signs`."""
    if not isinstance(node, Op):
        return node
    if node.name in ("pm", "mp"):
        sign = signs.pop(0) * (1 if node.name == "pm" else -1)
        inner = _with_signs(node.args[0], signs)
        return inner if sign > 0 else negate(inner)
    return Op(node.name, tuple(_with_signs(arg, signs) for arg in node.args))


def clear_denominators(node: Node) -> tuple[Node, Node]:
    """Numerator and denominator of the tree as one fraction; only sums, products, quotients and signs are opened."""
    if isinstance(node, Op):
        if node.name == "neg":
            top, bottom = clear_denominators(node.args[0])
            return negate(top), bottom
        if node.name == "div":
            (a, b), (c, d) = map(clear_denominators, node.args)
            return Op("mul", (a, d)), Op("mul", (b, c))
        if node.name in ("add", "mul"):
            top, bottom = clear_denominators(node.args[0])
            for arg in node.args[1:]:
                other_top, other_bottom = clear_denominators(arg)
                if node.name == "mul":
                    top = Op("mul", (top, other_top))
                elif bottom == other_bottom:
                    top = Op("add", (top, other_top))
                    continue
                else:
                    top = Op("add", (Op("mul", (top, other_bottom)), Op("mul", (other_top, bottom))))
                bottom = Op("mul", (bottom, other_bottom))
            return top, bottom
    return node, integer(1)
