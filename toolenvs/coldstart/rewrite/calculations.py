r"""Find hand calculations in words: `34 + 57 = 91`, `(3 - 10) × 4 = -28`, `$12 \cdot 34 = 408$`, `10 / 3 = 3.33`."""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass

_MAX_CHARS = 200
"""Of an expression or a value: longer ones are no hand calculation, and Python's parser has limits of its own."""
_FRACTION_DIGITS = 6
"""To which a program rounds where the solution states a whole number, so that 1.1 * 10 gives 11.0."""

_TOKEN = re.compile(
    r"(?P<number>(?:\d{1,3}(?:,\d{3})++(?!\d)|\d++)(?:\.\d++)?)"
    r"|(?P<operator>\*\*|[-+*/^()−×÷·]|\\times(?![a-zA-Z])|\\cdot(?![a-zA-Z])|\\div(?![a-zA-Z]))"
    r"|(?P<equals>=)"
    r"|(?P<space>[ \t]+)"
    r"|(?P<other>[^\d\s=+*/^()−×÷·\\-]++|.)",
    re.DOTALL,
)
_PYTHON = {"^": "**", "−": "-", "×": "*", "÷": "/", "·": "*", r"\times": "*", r"\cdot": "*", r"\div": "/"}
_NODES = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Constant, ast.operator, ast.USub)
_GLUE = re.compile(r"[\w\\_{}%!.]")
"""A character that, beside an expression, makes it part of a larger one: `2x`, `f(3)`, `12%`, `5!`."""


@dataclass(frozen=True, slots=True)
class Calculation:
    """One calculation in a text."""

    end: int
    """Where its expression ends in the text; the equals sign follows."""
    program: str
    """What prints its value."""
    stated: str
    """The value that the text states."""
    result: str
    """The same as the program prints it if the text is right."""
    digits: int
    """Digits of the operands together: how hard it is by hand."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def find_calculations(text: str) -> list[Calculation]:
    """The calculations of a text, in order. Equations with letters in them, and chains of terms, are none."""
    found = _TOKEN.finditer(text)
    tokens = [_Token(str(m.lastgroup), m[0], m.start(), m.end()) for m in found if m.lastgroup != "space"]
    calculations = []
    for index, token in enumerate(tokens):
        if token.kind == "equals":
            left = _run(tokens, index, -1)
            right = _run(tokens, index, 1)
            calculation = _calculation(text, left, right) if left and right else None
            if calculation is not None:
                calculations.append(calculation)
    return calculations


def _run(tokens: Sequence[_Token], equals: int, step: int) -> list[_Token]:
    """The numbers and operators next to an equals sign, in the order of the text."""
    index = equals + step
    while 0 <= index < len(tokens) and tokens[index].kind in ("number", "operator"):
        index += step
    return list(tokens[index + 1 : equals] if step < 0 else tokens[equals + 1 : index])


def _calculation(text: str, left: Sequence[_Token], right: Sequence[_Token]) -> Calculation | None:
    start, end = left[0].start, left[-1].end
    stated = "".join(_PYTHON.get(token.text, token.text) for token in right).replace(",", "")
    glued = any(_GLUE.fullmatch(character) for character in (text[start - 1 : start], _behind(text, right[-1].end)))
    if glued or max(end - start, len(stated)) > _MAX_CHARS or not re.fullmatch(r"-?\d+(?:\.\d+)?", stated):
        return None
    if left[0].text in ("-", "−") and left[1:2] and left[0].end != left[1].start:
        return None  # "x - 3 * 4 = ": a term of something longer
    expression = _expression(left)
    if expression is None:
        return None
    digits = sum(character.isdigit() for token in left for character in token.text)
    if "/" not in expression and "." not in expression:
        return Calculation(end, f"print({expression})", stated, str(int(stated)), digits)
    places = len(stated.partition(".")[2]) or _FRACTION_DIGITS
    return Calculation(end, f"print(round({expression}, {places}))", stated, repr(float(stated)), digits)


def _behind(text: str, end: int) -> str:
    """The character behind a stated value; a full stop that ends a sentence does not count."""
    character = text[end : end + 1]
    return "" if character == "." and not text[end + 1 : end + 2].isdigit() else character


def _expression(tokens: Sequence[_Token]) -> str | None:
    """The expression as Python writes it; None where it is none, or only a number."""
    words = [_PYTHON.get(token.text, token.text).replace(",", "") for token in tokens]
    try:
        tree = ast.parse(" ".join(words), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
    nodes = list(ast.walk(tree))
    if not all(isinstance(node, _NODES) for node in nodes) or not any(isinstance(node, ast.BinOp) for node in nodes):
        return None
    return ast.unparse(tree)
