"""Integer expressions of three or more operands, as `(34 + 57) * 83`.

The question is the bare expression: digits, spaces, `+ - * ( )`. Each has at least one product, and its value has
more digits than an operand, so that neither rounding nor a favourite number guesses it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from toolenvs.tasks.generated import Problem, require_whole_number
from toolenvs.tasks.seeding import Draws

Operator = Literal["+", "-", "*"]

_SIZES = ((3, 2), (4, 2), (4, 3), (5, 3), (6, 4), (8, 5))
"""(operands, digits of each) at difficulty 0 to 5."""
_MAX_OPERANDS = 20
_MAX_DIGITS = 12
_PRECEDENCE = {"+": 1, "-": 1, "*": 2}
_ATOM = 3


@dataclass(frozen=True, slots=True)
class _Expression:
    text: str
    value: int
    precedence: int
    steps: tuple[str, ...]
    """One worked step per operation, in the order in which they can be done."""


def _combine(left: _Expression, operator: Operator, right: _Expression) -> _Expression:
    precedence = _PRECEDENCE[operator]
    left_text = f"({left.text})" if left.precedence < precedence else left.text
    right_text = f"({right.text})" if right.precedence <= precedence else right.text
    if operator == "+":
        value = left.value + right.value
    elif operator == "-":
        value = left.value - right.value
    else:
        value = left.value * right.value
    shown = f"({right.value})" if right.value < 0 else f"{right.value}"
    step = f"{left.value} {operator} {shown} = {value}."
    return _Expression(f"{left_text} {operator} {right_text}", value, precedence, (*left.steps, *right.steps, step))


def _expression(draws: Draws, operators: list[Operator], digits: int) -> _Expression:
    """A random tree over the operators, in order, and fresh operands."""
    if not operators:
        operand = draws.between(10 ** (digits - 1), 10**digits - 1)
        return _Expression(str(operand), operand, _ATOM, ())
    root = draws.below(len(operators))
    left = _expression(draws, operators[:root], digits)
    right = _expression(draws, operators[root + 1 :], digits)
    return _combine(left, operators[root], right)


def make(*, difficulty: int = 0, operands: int | None = None, digits: int | None = None) -> Callable[[Draws], Problem]:
    """Expressions of a given size.

    Args:
        difficulty: 0 (three two-digit operands) to 5 (eight five-digit operands).
        operands: how many, 3 to 20, instead of what the difficulty says.
        digits: decimal digits of each operand, 1 to 12, instead of what the difficulty says.

    Raises:
        TaskError: a value is out of range.
    """
    require_whole_number(difficulty, "arithmetic: difficulty", 0, len(_SIZES) - 1)
    default_operands, default_digits = _SIZES[difficulty]
    operand_count = default_operands if operands is None else operands
    digit_count = default_digits if digits is None else digits
    require_whole_number(operand_count, "arithmetic: operands", 3, _MAX_OPERANDS)
    require_whole_number(digit_count, "arithmetic: digits", 1, _MAX_DIGITS)

    def problem(draws: Draws) -> Problem:
        while True:
            operators: list[Operator] = [draws.choice(("+", "-", "*")) for _ in range(operand_count - 1)]
            operators[draws.below(len(operators))] = "*"
            expression = _expression(draws, operators, digit_count)
            if abs(expression.value) >= 10**digit_count:
                return Problem(
                    question=expression.text,
                    answer=expression.value,
                    program=f"print({expression.text})",
                    extra={
                        "difficulty": difficulty,
                        "solution": " ".join((*expression.steps, f"The answer is {expression.value}.")),
                    },
                )

    return problem
