"""Rational arithmetic with a bound on the size of every intermediate."""

import math
from collections.abc import Mapping
from fractions import Fraction

from .tree import Node, Num, Op, Sym, TooBig

MAX_FACTORIAL = 3_000
MAX_BINOMIAL_TERMS = 3_000


class Inexact(Exception):
    """The value is irrational, or cannot be told to be rational cheaply."""


class Undefined(Exception):
    """The expression has no value here (division by zero, a negative factorial)."""


def evaluate(node: Node, values: Mapping[str, Fraction], max_bits: int) -> Fraction:
    """The rational value of the tree with its variables set.

    Raises:
        Inexact: the value is not obviously rational.
        Undefined: there is no value.
        TooBig: an intermediate would need more than `max_bits`.
    """
    if isinstance(node, Num):
        return node.value
    if isinstance(node, Sym):
        if node.name in values:
            return values[node.name]
        raise Inexact(node.name)
    args = [evaluate(arg, values, max_bits) for arg in node.args]
    result = _apply(node, args, max_bits)
    if result.numerator.bit_length() + result.denominator.bit_length() > max_bits:
        raise TooBig("a number of too many digits")
    return result


def _apply(node: Op, args: list[Fraction], max_bits: int) -> Fraction:
    match node.name:
        case "add":
            return sum(args[1:], args[0])
        case "neg":
            return -args[0]
        case "mul":
            return args[0] * args[1]
        case "div":
            if not args[1]:
                raise Undefined("division by zero")
            return args[0] / args[1]
        case "pow":
            return _power(args[0], args[1], max_bits)
        case "root":
            return _root(args[0], args[1])
        case "abs":
            return abs(args[0])
        case "floor":
            return Fraction(math.floor(args[0]))
        case "ceil":
            return Fraction(math.ceil(args[0]))
        case "fact":
            return Fraction(math.factorial(_count(args[0], MAX_FACTORIAL)))
        case "binom":
            return _binomial(args[0], args[1])
        case "log":
            return _logarithm(args[0], args[1])
    raise Inexact(node.name)


def _power(base: Fraction, exponent: Fraction, max_bits: int) -> Fraction:
    if base == 0 and exponent <= 0:
        raise Undefined("a power of zero")
    if base in (0, 1):
        return base
    if exponent.denominator != 1:
        return _root(_power(base, Fraction(exponent.numerator), max_bits), Fraction(exponent.denominator))
    bits = max(base.numerator.bit_length(), base.denominator.bit_length())
    if base != -1 and bits * abs(exponent) > max_bits:
        raise TooBig("a power of too many digits")
    return base ** (exponent.numerator % 2 if base == -1 else exponent.numerator)


def _root(radicand: Fraction, index: Fraction) -> Fraction:
    """A root where it is rational; of a negative number in odd roots it is left to `numeric`."""
    if index.denominator != 1 or not 1 <= index <= 64 or radicand < 0:
        raise Inexact("root")
    top = _integer_root(radicand.numerator, index.numerator)
    return Fraction(top, _integer_root(radicand.denominator, index.numerator))


def _integer_root(value: int, index: int) -> int:
    if index == 2:
        root = math.isqrt(value)
    else:
        if value.bit_length() > 1_000:
            raise Inexact("root")
        root = round(value ** (1 / index))
    if root**index != value:
        raise Inexact("root")
    return root


def _logarithm(value: Fraction, base: Fraction) -> Fraction:
    """A logarithm where it is an integer."""
    if value <= 0 or base <= 0 or base == 1:
        raise Inexact("log")
    if value == 1:
        return Fraction(0)
    if max(value.numerator, value.denominator, base.numerator, base.denominator).bit_length() > 1_000:
        raise Inexact("log")
    guess = round(math.log(value) / math.log(base)) if math.log(base) else 0
    if guess and abs(guess) <= 1_000 and base**guess == value:
        return Fraction(guess)
    raise Inexact("log")


def _count(value: Fraction, limit: int) -> int:
    if value.denominator != 1:
        raise Inexact("factorial of a fraction")
    if value < 0:
        raise Undefined("factorial of a negative number")
    if value > limit:
        raise TooBig("a huge factorial")
    return value.numerator


def _binomial(upper: Fraction, lower: Fraction) -> Fraction:
    if upper.denominator != 1 or lower.denominator != 1:
        raise Inexact("binomial of fractions")
    n, k = upper.numerator, lower.numerator
    if n < 0 or k < 0:
        raise Undefined("binomial of negative numbers")
    if k > n:
        return Fraction(0)
    if min(k, n - k) > MAX_BINOMIAL_TERMS or n.bit_length() > 64:
        raise TooBig("a huge binomial")
    return Fraction(math.comb(n, k))
