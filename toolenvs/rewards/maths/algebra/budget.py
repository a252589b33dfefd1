"""Limits that hold before anything is read. They are static: none of them depends on how long something took."""

import re

MAX_CHARACTERS = 300
"""Length of an answer; four times the gold's where that is more."""
MAX_GOLD_CHARACTERS = 2_000
"""A longer gold is compared as text alone."""
MAX_NESTING = 64
MAX_DIGITS = 256
"""Digits in a row; as many as the gold has where that is more."""
MAX_POWERS = 24
MAX_FACTORIALS = 6
MAX_ITEMS = 128

_DIGITS = re.compile(r"\d+")
_RESTATING = re.compile(
    r"\\?(?<![a-z])(sum|prod|int|iint|oint|lim|gcd|lcm|det|max|min|mod|bmod|pmod|sup|inf|limsup|liminf|vmatrix|"
    r"displaylimits|operatorname\*|bigcup|bigcap|frac\{d\}|partial|nabla)(?![a-z])|[∑∏∫∂∇]"
)
_REPEATED_FACTORIAL = re.compile(r"!\s*[)}\]]*\s*!")
_TOWER = re.compile(r"\d[\s({]*(?:\^[\s({]*\d+[\s)}]*){3}")
_COSTLY = re.compile(r"\\(?:begin\{vmatrix\}|substack|underbrace|overbrace|def|newcommand|csname|input|write)")


def too_large(answer: str, gold: str) -> str | None:
    """Why the answer is not even tidied, or None. For text as it came."""
    if len(answer) > max(MAX_CHARACTERS, 4 * len(gold)):
        return "too long"
    if _depth(answer) > MAX_NESTING:
        return "nested too deeply"
    longest = max(map(len, _DIGITS.findall(answer)), default=0)
    if longest > MAX_DIGITS and longest > max(map(len, _DIGITS.findall(gold)), default=0):
        return "too many digits"
    return None


def refuse(answer: str, gold: str) -> str | None:
    """Why the answer is not read, or None. For tidied text."""
    if answer.count("^") > max(MAX_POWERS, 2 * gold.count("^")):
        return "too many powers"
    if answer.count("!") > max(MAX_FACTORIALS, 2 * gold.count("!")):
        return "too many factorials"
    if answer.count(",") + answer.count(";") > max(MAX_ITEMS, 2 * gold.count(",")):
        return "too many items"
    for pattern, why in (
        (_RESTATING, "an operation that restates the problem"),
        (_REPEATED_FACTORIAL, "a factorial of a factorial"),
        (_TOWER, "a tower of powers"),
        (_COSTLY, "a construct that is not read"),
    ):
        found = pattern.search(answer)
        if found and not pattern.search(gold):
            return why
    return None


def _depth(text: str) -> int:
    depth = deepest = 0
    for char in text:
        if char in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in ")]}":
            depth -= 1
    return deepest
