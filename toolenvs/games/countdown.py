"""Countdown: make a target out of some numbers, each used once, with + - * / and parentheses; one try.

RAGEN's scoring: 1 for an expression of the target's value, 0.1 for one that uses the numbers but has another value,
else 0. An expression is read by a small parser and computed in fractions. RAGEN hands it to Python's own evaluation,
where a tower of powers hangs, and pays the 0.1 for the bare numbers, without any expression.
"""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import gymnasium

from toolenvs.errors import ConfigError
from toolenvs.spaces import Unicode
from toolenvs.tasks.seeding import Draws

MAX_EXPRESSION_CHARS = 200
_MAX_DEPTH = 50
_MAX_NUMBERS = 8
_TOKEN = re.compile(r"\s*([0-9]+|[-+*/()])")
_RIGHT, _FORM = 1.0, 0.1


def value_of(expression: str) -> tuple[Fraction | None, list[int]]:
    """An expression's value and the numbers in it, in order.

    A value of None: it divides by zero.

    Raises:
        ValueError: it is no expression of whole numbers, + - * / and parentheses, or a longer one than 200 characters.
    """
    if len(expression) > MAX_EXPRESSION_CHARS:
        raise ValueError(f"it has {len(expression)} characters; at most {MAX_EXPRESSION_CHARS} are read")
    tokens, position, expression = [], 0, expression.rstrip()
    while position < len(expression):
        found = _TOKEN.match(expression, position)
        if found is None:
            raise ValueError(f"{expression[position:].strip()[:1]!r} is neither a number nor one of + - * / ( )")
        tokens.append(found[1])
        position = found.end()
    reader = _Reader(tokens)
    value = reader.sum()
    if reader.next:
        raise ValueError(f"{reader.next!r} is one too many")
    return value, [int(token) for token in tokens if token.isdigit()]


class _Reader:
    """Recursive descent, of bounded depth."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens, self._at, self._depth = tokens, 0, 0

    @property
    def next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        token = self.next
        self._at += 1
        return token

    def sum(self) -> Fraction | None:
        value = self._product()
        while self.next in ("+", "-"):
            sign, other = (1 if self._take() == "+" else -1), self._product()
            value = None if value is None or other is None else value + sign * other
        return value

    def _product(self) -> Fraction | None:
        value = self._factor()
        while self.next in ("*", "/"):
            divide, other = self._take() == "/", self._factor()
            if value is None or other is None or (divide and other == 0):
                value = None
            else:
                value = value / other if divide else value * other
        return value

    def _factor(self) -> Fraction | None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise ValueError(f"it is nested deeper than {_MAX_DEPTH}")
        value = self._atom()
        self._depth -= 1
        return value

    def _atom(self) -> Fraction | None:
        token = self._take()
        if token.isdigit():
            return Fraction(int(token))
        if token == "-":
            value = self._factor()
            return None if value is None else -value
        if token != "(":
            raise ValueError(f"a number or ( is missing before {token!r}" if token else "it ends too early")
        value = self.sum()
        if self._take() != ")":
            raise ValueError("a ) is missing")
        return value


def score(expression: str, numbers: Sequence[int], target: int) -> tuple[float, str]:
    """What an expression earns, and why, in words."""
    try:
        value, used = value_of(expression)
    except ValueError as error:
        return 0.0, f"no expression: {error}"
    if sorted(used) != sorted(numbers):
        return 0.0, f"it uses {used}, and not each of {list(numbers)} once"
    if value != target:
        return _FORM, "it divides by zero" if value is None else f"its value is {value}, not {target}"
    return _RIGHT, "right"


def draw_puzzle(
    draws: Draws, *, min_numbers: int = 3, max_numbers: int = 4, largest: int = 99, operators: str = "+-*/"
) -> tuple[tuple[int, ...], int, str]:
    """Numbers, a target of two digits that is none of them, and an expression that makes it.

    Args:
        draws: where its chance comes from.
        min_numbers: how many numbers, at least.
        max_numbers: at most.
        largest: the largest number; the smallest is 1.
        operators: which of + - * / the expression may use.

    Raises:
        ConfigError: an option is out of range.
    """
    for name, value, low, high in (
        ("min_numbers", min_numbers, 2, _MAX_NUMBERS),
        ("max_numbers", max_numbers, min_numbers, _MAX_NUMBERS),
        ("largest", largest, 10, 999),
    ):
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ConfigError(f"Countdown: {name} is {value!r}; give {low} to {high}, a whole number")
    if not operators or set(operators) - set("+-*/"):
        raise ConfigError(f"Countdown: operators is {operators!r}; give some of '+-*/'")
    while True:
        count = draws.between(min_numbers, max_numbers)
        numbers = tuple(draws.between(1, largest) for _ in range(count))
        made = _combine(draws, numbers, operators)
        if made is not None and 10 <= made[0] <= 99 and made[0] not in numbers:
            return numbers, *made


def _combine(draws: Draws, numbers: Sequence[int], operators: str) -> tuple[int, str] | None:
    """A value that is made of all numbers, and how; None where an operation leaves the whole numbers from 0 on."""
    parts = [(number, str(number)) for number in numbers]
    while len(parts) > 1:
        (left, left_text), (right, right_text) = (parts.pop(draws.below(len(parts))) for _ in range(2))
        operator = draws.choice(operators)
        if (operator == "-" and left < right) or (operator == "/" and (right == 0 or left % right)):
            return None
        value = {"+": left + right, "-": left - right, "*": left * right, "/": left // (right or 1)}[operator]
        shown = [text if text.isdigit() else f"({text})" for text in (left_text, right_text)]
        parts.append((value, f"{shown[0]} {operator} {shown[1]}"))
    return parts[0]


class Countdown(gymnasium.Env[str, str]):
    """One puzzle, or another one at each reset.

    Observation: the puzzle in words, then what became of the try. Action: an expression. The episode ends with the
    first one, and `info["success"]` says whether it has the target's value.

    Args:
        numbers: what is to be used; None for some that are drawn at each reset, with a target.
        target: what is to be made.
        render_mode: "ansi" or None.

    Raises:
        ConfigError: numbers without a target, or a target without numbers, or one of them is not a whole number.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012

    def __init__(
        self, numbers: Sequence[int] | None = None, target: int | None = None, *, render_mode: str | None = None
    ) -> None:
        if (numbers is None) != (target is None):
            raise ConfigError("Countdown: numbers and target belong together: give both, or neither")
        whole = [*(numbers or ()), *(() if target is None else (target,))]
        if numbers is not None and (len(whole) < 3 or not all(type(number) is int and number >= 0 for number in whole)):
            raise ConfigError(f"Countdown: numbers {numbers!r}, target {target!r}: two whole numbers or more, and one")
        self.render_mode = render_mode
        self._fixed = None if numbers is None or target is None else (tuple(numbers), target)
        self._numbers, self._target = self._fixed or ((1, 2), 3)
        self._told = self._puzzle
        self.observation_space = Unicode(1_000)
        self.action_space = Unicode(MAX_EXPRESSION_CHARS)

    @property
    def _puzzle(self) -> str:
        return f"Numbers: {', '.join(map(str, self._numbers))}\nTarget: {self._target}"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Tell the puzzle."""
        super().reset(seed=seed)
        if self._fixed is None:
            self._numbers, self._target, _ = draw_puzzle(Draws("countdown", int(self.np_random.integers(2**62))))
        self._told = self._puzzle
        return self._told, {"success": False}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Judge an expression."""
        reward, why = score(action, self._numbers, self._target)
        self._told = f"{self._puzzle}\n{why}"[: self.observation_space.max_length]  # type: ignore[attr-defined]
        return self._told, reward, True, False, {"success": reward == _RIGHT}

    def render(self) -> str | None:
        """The observation, where the mode is "ansi"."""
        return self._told if self.render_mode == "ansi" else None
