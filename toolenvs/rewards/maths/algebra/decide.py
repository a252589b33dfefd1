"""Whether two trees have the same value.

Rational functions are compared exactly, at a fixed choice of rational points: two that agree at as many random
points as this are the same but for a vanishing chance (J. T. Schwartz, J. ACM 27(4), 1980; R. Zippel, EUROSAM 1979).
What is irrational is compared in the same way with many digits, the count of which grows with the magnitudes met.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

from . import exact
from .exact import Inexact, Undefined
from .tree import NeedsChild, Node, Num, Op, TooBig, free_symbols, has, has_decimal, is_infinite, walk

RELATIVE_TOLERANCE = Fraction(2, 10**6)
"""How far a decimal may be from what it stands for; used only where one side is a decimal."""
_FLOAT_NOISE = Fraction(2, 10**15)
_MAX_BITS_HERE = 4_096
"""Bits of an intermediate in the calling process, where nothing can be killed."""
_MAX_BITS_IN_CHILD = 2**17
_ROUNDED_DIGITS = 6
_FIRST_DIGITS = 60
_MIN_POINTS = 2
"""Points at which both sides must be defined, and agree."""
_MAX_SYMBOLS = 26


class Decider(Protocol):
    """What the comparison of shapes asks about expressions."""

    def equal(self, left: Node, right: Node) -> bool:
        """Whether both have the same value wherever both are defined."""
        ...

    def proportional(self, left: Node, right: Node) -> int:
        """Sign of the constant c in `left = c * right`, or 0 where there is none."""
        ...

    def position(self, node: Node) -> float | Fraction:
        """Where a constant lies on the real line."""
        ...


class ExactDecider:
    """Decides by rational arithmetic alone; asks for the child where that does not suffice."""

    def __init__(self, max_bits: int = _MAX_BITS_HERE) -> None:
        self._max_bits = max_bits

    def equal(self, left: Node, right: Node) -> bool:
        """See `Decider`."""
        if left == right:
            return True
        if is_infinite(left) or is_infinite(right):
            return False
        tolerant = has_decimal(left) or has_decimal(right)
        symbols = free_symbols(left) | free_symbols(right)
        if tolerant and free_symbols(left) != free_symbols(right):
            return False
        agreed = 0
        for values in points(symbols):
            try:
                a, b = self._value(left, values), self._value(right, values)
            except Undefined:
                continue
            if not (close(left, right, a, b) if tolerant else a == b):
                return False
            agreed += 1
        return agreed >= (_MIN_POINTS if symbols else 1)

    def proportional(self, left: Node, right: Node) -> int:
        """See `Decider`."""
        symbols = free_symbols(left)
        if symbols != free_symbols(right):
            return 0
        tolerant = has_decimal(left) or has_decimal(right)
        ratios = []
        for values in points(symbols):
            try:
                a, b = self._value(left, values), self._value(right, values)
            except Undefined:
                continue
            if (a == 0) != (b == 0):
                return 0
            if b:
                ratios.append(a / b)
        return _common_sign(ratios, lambda x, y: abs(x - y) <= abs(y) * (RELATIVE_TOLERANCE if tolerant else 0))

    def position(self, node: Node) -> float | Fraction:
        """See `Decider`."""
        if sign := is_infinite(node):
            return sign * float("inf")
        return self._value(node, {})

    def _value(self, node: Node, values: Mapping[str, Fraction]) -> Fraction:
        try:
            return exact.evaluate(node, values, self._max_bits)
        except Inexact as error:
            raise NeedsChild(str(error)) from None
        except TooBig as error:
            if self._max_bits == _MAX_BITS_HERE:
                raise NeedsChild(str(error)) from None
            raise


class NumericDecider:
    """Decides by exact arithmetic where it suffices, else with many digits. For the child only."""

    def __init__(self) -> None:
        self._exact = ExactDecider(_MAX_BITS_IN_CHILD)
        self._rough: dict[Node, Any] = {}

    def equal(self, left: Node, right: Node) -> bool:
        """See `Decider`."""
        try:
            return self._exact.equal(left, right)
        except NeedsChild:
            pass
        symbols = free_symbols(left) | free_symbols(right)
        if not symbols and self._far_apart(left, right):
            return False
        tolerant = has_decimal(left) or has_decimal(right)
        agreed = 0
        for pair, zero in self._pairs(left, right, symbols):
            a, b = pair
            same = close(left, right, a, b) if tolerant else zero(a - b)
            if not same:
                return False
            agreed += 1
        return agreed >= (_MIN_POINTS if symbols else 1)

    def proportional(self, left: Node, right: Node) -> int:
        """See `Decider`."""
        try:
            return self._exact.proportional(left, right)
        except NeedsChild:
            pass
        tolerant = has_decimal(left) or has_decimal(right)
        ratios: list[Any] = []
        for (a, b), zero in self._pairs(left, right, free_symbols(left)):
            if zero(a) != zero(b):
                return 0
            if not zero(b):
                ratios.append(a / b)

        def same(x: Any, y: Any) -> bool:
            return bool(abs(x - y) <= abs(y) * (2e-6 if tolerant else 1e-40))

        return _common_sign(ratios, same)

    def position(self, node: Node) -> float | Fraction:
        """See `Decider`."""
        try:
            return self._exact.position(node)
        except NeedsChild:
            from .numeric import Evaluator

            return float(Evaluator(_FIRST_DIGITS, complex_allowed=False)(node, {}))

    def _far_apart(self, left: Node, right: Node) -> bool:
        """Whether two constants differ at a glance: each is evaluated once, however many it is compared with."""
        from .numeric import Evaluator

        for node in (left, right):
            if node not in self._rough:
                try:
                    self._rough[node] = Evaluator(_FIRST_DIGITS, complex_allowed=True)(node, {})
                except Undefined:
                    self._rough[node] = None
        a, b = self._rough[left], self._rough[right]
        return a is None or b is None or bool(abs(a - b) > 1e-5 * max(abs(a), abs(b)))

    def _pairs(
        self, left: Node, right: Node, symbols: frozenset[str]
    ) -> Iterator[tuple[tuple[Any, Any], Callable[[Any], bool]]]:
        """Both values at each point where both are defined, and a test for zero fit for their precision."""
        from .numeric import Evaluator

        complex_allowed = not symbols or has(left, "i") or has(right, "i")
        for values in points(symbols):
            try:
                scout = Evaluator(_FIRST_DIGITS, complex_allowed=complex_allowed)
                scout(left, values), scout(right, values)
                digits = _FIRST_DIGITS + 2 * scout.log10
                fine = Evaluator(digits, complex_allowed=complex_allowed)
                pair = fine(left, values), fine(right, values)
            except Undefined:
                continue
            bound = fine.ratio(Fraction(1, 10 ** (_FIRST_DIGITS - 20 + scout.log10)))
            yield pair, lambda value, bound=bound: abs(value) <= bound  # type: ignore[misc]


def close(left: Node, right: Node, a: Any, b: Any) -> bool:
    """Whether two values agree as decimals do: within the relative tolerance, and to the digits that were written.

    A decimal literal may be less than a unit of its last digit away. Inside an expression, only literals of six digits
    and more are taken for roundings; `0.5` there is a half.
    """
    gap, size = abs(a - b), max(abs(a), abs(b))
    if not _within(gap, RELATIVE_TOLERANCE, size):
        return False
    if _within(gap, _FLOAT_NOISE, size) and any(_is_float(node) for node in (left, right)):
        return True
    for node in (left, right):
        unit = _last_place(node)
        if unit is not None:
            if gap * unit.denominator < unit.numerator:
                return True
        elif _within(gap, max(map(_roundness, walk(node))), size):
            return True
    return False


def _within(gap: Any, tolerance: Fraction, size: Any) -> bool:
    """`gap <= tolerance * size`, for fractions and mpmath numbers alike."""
    return bool(gap * tolerance.denominator <= size * tolerance.numerator)


def _significant(number: Num) -> int:
    return len(str(abs(number.value) * Fraction(10) ** (number.places or 0)))


def _roundness(node: Node) -> Fraction:
    """How far, relatively, a literal may be from what it stands for inside an expression."""
    if not isinstance(node, Num) or node.places is None or not node.value or _significant(node) < _ROUNDED_DIGITS:
        return Fraction(0)
    return abs(Fraction(10) ** -node.places / node.value)


def _is_float(node: Node) -> bool:
    """Whether a literal has as many digits as a printed binary float of 64 bits."""
    if isinstance(node, Op) and node.name == "neg":
        node = node.args[0]
    return isinstance(node, Num) and node.places is not None and _significant(node) in (15, 16, 17)


def _last_place(node: Node) -> Fraction | None:
    """The unit of the last digit of a decimal literal, scaled where it is scaled; None for anything else."""
    if isinstance(node, Num):
        return None if node.places is None else Fraction(10) ** -node.places
    if isinstance(node, Op) and node.name == "neg":
        return _last_place(node.args[0])
    if isinstance(node, Op) and node.name in ("mul", "div") and not free_symbols(node):
        unit = _last_place(node.args[0])
        try:
            factor = exact.evaluate(node.args[1], {}, _MAX_BITS_HERE)
        except (Inexact, Undefined, TooBig):
            return None
        if unit is None or not factor:
            return None
        return unit * abs(factor) if node.name == "mul" else unit / abs(factor)
    return None


def _common_sign(ratios: list[Any], same: Callable[[Any, Any], bool]) -> int:
    if len(ratios) < _MIN_POINTS or not all(same(ratio, ratios[0]) for ratio in ratios):
        return 0
    return 1 if getattr(ratios[0], "real", ratios[0]) > 0 else -1


@lru_cache(maxsize=64)
def points(symbols: frozenset[str]) -> tuple[dict[str, Fraction], ...]:
    """Where expressions in these variables are compared: integers, small and large fractions, negative ones."""
    if not symbols:
        return ({},)
    if len(symbols) > _MAX_SYMBOLS:
        raise TooBig("too many variables")
    names = sorted(symbols)
    rng = random.Random(20_011)
    draws: list[Callable[[], Fraction]] = [
        lambda: Fraction(rng.randint(2, 13)),
        lambda: Fraction(rng.randint(2, 13)),
        lambda: Fraction(rng.randint(3, 40)),
        lambda: Fraction(rng.randint(101, 400), 101),
        lambda: Fraction(rng.randint(101, 900), 103),
        lambda: Fraction(rng.randint(1, 96), 97),
        lambda: Fraction(rng.randint(1, 88), 89),
        lambda: -Fraction(rng.randint(1, 400), 107),
        lambda: -Fraction(rng.randint(1, 400), 109),
        lambda: Fraction(rng.randint(-400, 400), 113),
        lambda: Fraction(rng.randint(-9000, 9000), 127),
    ]
    return tuple({name: draw() for name in names} for draw in draws)
