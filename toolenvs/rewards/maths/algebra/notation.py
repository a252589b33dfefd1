"""Times of day, and digits in a stated base."""

import re

from .shapes import Based, Clock, Shape
from .tidy import flatten
from .tree import Unreadable

_BASES = {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
          "ten": "10", "twelve": "12", "sixteen": "16"}  # fmt: skip
_CLOCK = re.compile(r"(\d{1,2}):(\d{2})\s*([ap]\.?\s?m\.?)?", re.IGNORECASE)
_HOUR = re.compile(r"(\d{1,2})\s*([ap]\.?\s?m\.?)", re.IGNORECASE)
_BASED = re.compile(
    r"\(?\s*([0-9A-Za-z]+)\s*\)?\s*_\s*"
    r"(?:(\d)|\{\s*(\d+|[a-z]+)\s*\}|\\text\{\s*(\w+)\s*\}|\{\s*\\text\{\s*(\w+)\s*\}\s*\})"
)
_BASE_WORDS = re.compile(r"(\w+)\s*\(?\s*(?:in )?base[ -](\w+)\)?")


def clock(text: str) -> Shape | None:
    """`5:30 p.m.`, `17:30`, `5 PM`."""
    plain = flatten(text)
    if (match := _CLOCK.fullmatch(plain)) and int(match[2]) < 60:
        half = (match[3] or "").lower()[:1]
        return Clock(int(match[1]), int(match[2]), half, not half and match[2] != "00" and int(match[1]) > 0)
    if (match := _HOUR.fullmatch(plain)) and int(match[1]) <= 12:
        return Clock(int(match[1]), 0, match[2].lower()[:1], False)
    return None


def based(text: str) -> Shape | None:
    """`101_2`, `101 (base 2)`."""
    if match := _BASED.fullmatch(text):
        base = next(group for group in match.groups()[1:] if group)
        base = _BASES.get(base, base)
        if match[1][0].isdigit() and base.isdigit():
            return _in_base(match[1], base)
    if match := _BASE_WORDS.fullmatch(flatten(text)):
        base = _BASES.get(match[2], match[2])
        if match[1][0].isdigit() and base.isdigit():
            return _in_base(match[1], base)
    return None


def _in_base(digits: str, base: str) -> Based:
    try:
        int(digits, int(base))
    except ValueError:
        raise Unreadable("digits that the base does not have") from None
    return Based(digits.lower().lstrip("0") or "0", base)
