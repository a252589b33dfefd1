"""Comparing what came out of the sandbox with what was expected: outside, over text alone.

Numbers with a point or an exponent may differ by `RELATIVE` (or `ABSOLUTE` near 0); everything else is exact.
"""

import json
import math
from typing import Any

from .driver import encode

RELATIVE = 1e-6
ABSOLUTE = 1e-9
_LONGEST_NUMBER = 64


def same_output(expected: str, printed: str) -> bool:
    """Whether two outputs agree: line by line and word by word, white space at the end of either left out."""
    if expected == printed:
        return True
    left, right = (text.rstrip().splitlines() for text in (expected, printed))
    return len(left) == len(right) and all(map(_same_line, left, right))


def _same_line(expected: str, printed: str) -> bool:
    if expected.rstrip() == printed.rstrip():
        return True
    left, right = expected.split(), printed.split()
    return len(left) == len(right) and all(map(_same_word, left, right))


def _same_word(expected: str, printed: str) -> bool:
    if expected == printed:
        return True
    if not any(mark in expected for mark in ".eE") or max(len(expected), len(printed)) > _LONGEST_NUMBER:
        return False
    try:
        return close(float(expected), float(printed))
    except ValueError:
        return False


def same_value(expected: Any, text: str) -> bool:
    """Whether `text`, which a driver in the sandbox gave, stands for `expected`; total on hostile text."""
    try:
        return _same(expected, json.loads(text))
    except (ValueError, TypeError, AttributeError, RecursionError, OverflowError):
        return False


def _same(expected: Any, node: Any) -> bool:
    """As deep as `expected` is, and no deeper; types count, but for a tuple where a list is expected, as from JSON."""
    if expected is None or isinstance(expected, bool | str):
        return type(node) is type(expected) and bool(node == expected)
    if not isinstance(node, dict) or len(node) != 1:
        return False
    ((kind, content),) = node.items()
    if isinstance(expected, float):
        return kind == "float" and close(expected, float.fromhex(content))
    if isinstance(expected, list | tuple):
        if kind != "tuple" and (kind != "list" or isinstance(expected, tuple)):
            return False
        return len(content) == len(expected) and all(map(_same, expected, content))
    if isinstance(expected, dict):
        if kind != "dict" or len(content) != len(expected):
            return False
        found = {json.dumps(key): item for key, item in content}
        keyed = {json.dumps(encode(key)): item for key, item in expected.items()}
        return found.keys() == keyed.keys() and all(_same(item, found[key]) for key, item in keyed.items())
    return bool(json.dumps(node) == json.dumps(encode(expected)))


def close(expected: float, found: float) -> bool:
    """Whether two floats are the same but for rounding."""
    if math.isnan(expected):
        return math.isnan(found)
    return math.isclose(expected, found, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
