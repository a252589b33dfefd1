"""Many-digit floating arithmetic, for what is irrational. Runs in the child only: imports mpmath when used."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from .exact import Undefined
from .tree import Node, Num, Sym, TooBig

_MAX_LOG10 = 3_000
"""Magnitudes beyond ten to this power, either way, are refused."""
_MAX_FACTORIAL = 3_000
_MAX_GAMMA = 100
"""Largest argument of a factorial that is no integer: many digits of the gamma function are dear."""


class Evaluator:
    """Evaluates trees to `digits` decimal digits and remembers the largest magnitude that it met."""

    def __init__(self, digits: int, *, complex_allowed: bool) -> None:
        import mpmath  # type: ignore[import-untyped, unused-ignore]

        self._mp = mpmath.mp.clone()
        self._mp.dps = digits
        self._complex_allowed = complex_allowed
        self.log10 = 0
        """Largest |log10| of any intermediate so far."""

    def __call__(self, node: Node, values: Mapping[str, Fraction]) -> Any:
        """The value as an mpmath number.

        Raises:
            Undefined: no value, or none in the reals where only they are allowed.
            TooBig: a magnitude is out of bounds.
        """
        try:
            return self._value(node, values)
        except (ZeroDivisionError, ValueError, self._mp.NoConvergence) as error:
            raise Undefined(str(error)) from error
        except OverflowError as error:
            raise TooBig("a number of too many digits") from error

    def ratio(self, value: Fraction) -> Any:
        """A fraction as an mpmath number."""
        return self._mp.mpf(value.numerator) / value.denominator

    def _value(self, node: Node, values: Mapping[str, Fraction]) -> Any:
        if isinstance(node, Num):
            return self._checked(self.ratio(node.value))
        if isinstance(node, Sym):
            return self._symbol(node.name, values)
        args = [self._value(arg, values) for arg in node.args]
        return self._checked(self._apply(node.name, args))

    def _symbol(self, name: str, values: Mapping[str, Fraction]) -> Any:
        if name in values:
            return self._checked(self.ratio(values[name]))
        match name:
            case "e":
                return +self._mp.e
            case r"\pi":
                return +self._mp.pi
            case "i" if self._complex_allowed:
                return self._mp.mpc(0, 1)
        raise Undefined(f"{name} has no value")

    def _checked(self, value: Any) -> Any:
        mp = self._mp
        if not mp.isfinite(value):
            raise Undefined("not finite")
        if isinstance(value, mp.mpc):
            if value.imag == 0:
                value = value.real
            elif not self._complex_allowed:
                raise Undefined("not real")
        if value != 0:
            self.log10 = max(self.log10, int(abs(mp.mag(value)) * 0.302) + 1)
            if self.log10 > _MAX_LOG10:
                raise TooBig("a number of too many digits")
        return value

    def _apply(self, name: str, args: list[Any]) -> Any:
        mp = self._mp
        match name:
            case "add":
                return mp.fsum(args)
            case "neg":
                return -args[0]
            case "mul":
                return args[0] * args[1]
            case "div":
                return args[0] / args[1]
            case "pow":
                return self._power(args[0], args[1])
            case "root":
                return self._root(args[0], args[1])
            case "abs":
                return abs(args[0])
            case "floor" | "ceil":
                return self._rounded(name, args[0])
            case "fact":
                return self._factorial(args[0])
            case "binom":
                return self._factorial(args[0]) / (self._factorial(args[1]) * self._factorial(args[0] - args[1]))
            case "log":
                return mp.log(args[0]) / mp.log(args[1])
            case "ln":
                return mp.log(args[0])
            case "exp":
                return self._power(+mp.e, args[0])
            case "arccot":
                return mp.pi / 2 - mp.atan(args[0])
        return getattr(mp, _NAMES.get(name, name))(args[0])

    def _power(self, base: Any, exponent: Any) -> Any:
        mp = self._mp
        if base == 0:
            if mp.re(exponent) <= 0:
                raise Undefined("a power of zero")
            return mp.mpf(0)
        if exponent == mp.floor(mp.re(exponent)) and abs(exponent) > 10**9:
            raise TooBig("a huge exponent")
        if abs(exponent) * abs(mp.log(abs(base))) > 2.4 * _MAX_LOG10:
            raise TooBig("a number of too many digits")
        if base == mp.e:
            return mp.exp(exponent)
        return mp.power(base, exponent)

    def _root(self, radicand: Any, index: Any) -> Any:
        mp = self._mp
        if not mp.isint(index) or not 1 <= index <= 1_000:
            return self._power(radicand, 1 / index)
        degree = int(index)
        if degree % 2 and not isinstance(radicand, mp.mpc) and radicand < 0:
            return -mp.root(-radicand, degree)
        return mp.root(radicand, degree)

    def _rounded(self, name: str, value: Any) -> Any:
        """Floor or ceiling, refused where rounding noise could decide it."""
        nearest = self._mp.nint(value)
        if abs(value - nearest) < self._mp.mpf(10) ** (-self._mp.dps // 2):
            return nearest
        return self._mp.floor(value) if name == "floor" else self._mp.ceil(value)

    def _factorial(self, value: Any) -> Any:
        if abs(value) > (_MAX_FACTORIAL if self._mp.isint(value) else _MAX_GAMMA):
            raise TooBig("a huge factorial")
        return self._mp.factorial(value)


_NAMES = {"arcsin": "asin", "arccos": "acos", "arctan": "atan"}
