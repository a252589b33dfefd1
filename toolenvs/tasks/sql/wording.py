"""Numbers, comparisons and grammar in questions."""

import re
from collections.abc import Mapping

COMPARISONS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "amount": (("more than {n}", ">"), ("at least {n}", ">="), ("fewer than {n}", "<"), ("at most {n}", "<=")),
    "measure": (("more than {n}", ">"), ("at least {n}", ">="), ("less than {n}", "<"), ("at most {n}", "<=")),
    "year": (("after {n}", ">"), ("in or after {n}", ">="), ("before {n}", "<"), ("in or before {n}", "<=")),
}
"""For each sort of figure, comparisons in words and their operators."""
EXTREMES: Mapping[str, tuple[str, str]] = {
    "amount": ("largest", "smallest"),
    "measure": ("largest", "smallest"),
    "year": ("latest", "earliest"),
}
"""For each sort of figure, what the first is when the column is ordered downwards, and upwards."""
SMALL = ("two", "three", "four", "five")
"""Numbers from 2 on."""
_AN = re.compile(r"(?:[aeio]|hour|honest|u(?!ni|s[aeiu]|ti|ru|ra|ga|kr))", re.IGNORECASE)


def number(value: int | float, sort: str = "amount") -> str:
    """A number as a question writes it: with commas, but not a year."""
    return str(value) if sort == "year" else f"{value:,}"


def a(noun: str) -> str:
    """A noun with its article: "a town", "an elevation", "an hour", "a unit"."""
    return f"{'an' if _AN.match(noun) else 'a'} {noun}"


def count_of(n: int, one: str, many: str) -> str:
    """So many of something: "1 album", "3 albums"."""
    return f"{n:,} {one if n == 1 else many}"


def several(noun: str) -> str:
    """The plural of a word of a column: "names", "cities", "codes"."""
    return f"{noun[:-1]}ies" if noun.endswith("y") and noun[-2:-1] not in "aeiou" else f"{noun}s"


def literal(value: str | int | float) -> str:
    """A value as SQL writes it."""
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
