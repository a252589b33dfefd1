"""Cutting text where no bracket holds it together, and joining digits that a comma groups."""

import re

from .tree import Unreadable

COMMA = re.compile(",")
ELLIPSES = frozenset({r"\ldots", "..."})
_OPEN, _CLOSE = frozenset("([{⟨"), frozenset(")]}⟩")
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!\d|,\d)")


def split(text: str, separator: re.Pattern[str]) -> tuple[list[str], list[str]]:
    """Cut the text at separators outside brackets; the pieces, and the separators between them.

    Raises:
        Unreadable: brackets do not balance.
    """
    depth, start, pieces, cuts = 0, 0, [], []
    position = 0
    while position < len(text):
        char = text[position]
        if depth == 0 and (match := separator.match(text, position)):
            pieces.append(text[start:position].strip())
            cuts.append(match[0])
            position = start = match.end()
            continue
        depth += (char in _OPEN) - (char in _CLOSE)
        if depth < 0:
            raise Unreadable("brackets do not balance")
        position += 1
    if depth:
        raise Unreadable("brackets do not balance")
    pieces.append(text[start:].strip())
    return pieces, cuts


def inside(text: str, opening: str, closing: str) -> str | None:
    """What stands between the brackets, if one pair of them encloses the whole."""
    if not (text.startswith(opening) and text.endswith(closing) and len(text) >= len(opening) + len(closing)):
        return None
    inner = text[len(opening) : -len(closing)]
    depth = 0
    for char in inner:
        depth += (char in _OPEN) - (char in _CLOSE)
        if depth < 0:
            return None
    return inner.strip() if depth == 0 else None


def is_grouped(text: str) -> bool:
    """Whether a comma in the text can be read as a thousands separator."""
    return _GROUPED.search(text) is not None


def ungroup(text: str) -> str:
    """Join thousands outside brackets; inside braces of a LaTeX command too."""

    def join(match: re.Match[str]) -> str:
        before = text[: match.start()]
        stack: list[str] = []
        for k, char in enumerate(before):
            if char in _OPEN:
                stack.append("\\{" if char == "{" and before[k - 1 : k] == "\\" else char)
            elif char in _CLOSE and stack:
                stack.pop()
        return match[0].replace(",", "") if all(char == "{" for char in stack) else match[0]

    return _GROUPED.sub(join, text)
