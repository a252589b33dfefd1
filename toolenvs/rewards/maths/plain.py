"""The first and fastest layer: equal texts, and plain numbers compared exactly."""

import re
from decimal import Decimal
from fractions import Fraction

_MAX_CHARS = 40
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d+)?(?:/\d+)?|\.\d+)", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d{1,40}", re.ASCII)


def decide(gold: str, answer: str) -> bool | None:
    """Whether the two are the same; None where this layer cannot tell."""
    if gold == answer:
        return True
    gold, answer = gold.strip(), answer.strip()
    if gold == answer:
        return True
    if len(gold) > _MAX_CHARS or len(answer) > _MAX_CHARS:
        return None
    if _INTEGER.fullmatch(gold) and _INTEGER.fullmatch(answer):
        return int(gold) == int(answer)
    if _NUMBER.fullmatch(gold) and _NUMBER.fullmatch(answer):
        left, right = _value(gold), _value(answer)
        if left is None or right is None:
            return None
        if left == right:
            return True
        return None if "." in gold or "." in answer else False
    return None


def _value(text: str) -> Fraction | None:
    top, _, bottom = text.partition("/")
    if not bottom:
        return Fraction(Decimal(top))
    return Fraction(Decimal(top)) / int(bottom) if int(bottom) else None
