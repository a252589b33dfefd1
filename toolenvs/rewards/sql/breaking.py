"""Queries whose answer is luck inside: rows that tie where a subquery cuts them, or where they are numbered."""

from collections.abc import Sequence
from dataclasses import dataclass

from toolenvs.rewards.sql.reading import outline

_NUMBERS = frozenset({"row_number", "ntile", "lag", "lead", "first_value", "last_value", "nth_value"})
"""Functions of a window that tell rows apart which tie."""
_FRAMES = frozenset({"rows", "range", "groups", "exclude"})
_CUTS = frozenset({"limit", "offset", "fetch"})


def broken_ties(sql: str, by: str) -> str | None:
    """The query with a further term wherever inside it rows are cut or numbered by their order; None where nowhere is.

    What is outermost stays: see `toolenvs.rewards.sql.golds.luck`.

    Args:
        sql: the query.
        by: the term.
    """
    read = outline(sql)
    words = [token.lower() for token in read.tokens]
    put: dict[int, str] = {}
    opened: list[_Bracket] = []
    for at, word in enumerate(words):
        if word == "(":
            opened.append(_Bracket(at))
        elif opened:
            inner = opened[-1]
            if word == "order" and words[at + 1 : at + 2] == ["by"]:
                inner.ordered = True
            elif word in _CUTS and not inner.done:
                put[at] = f", {by}" if inner.ordered else f" ORDER BY {by}"
                inner.done = True
            elif (word == ")" or word in _FRAMES) and inner.ordered and not inner.done and _numbers(words, inner.begin):
                put[at] = f", {by}"
                inner.done = True
            if word == ")":
                opened.pop()
    if not put:
        return None
    pieces = [("" if glued else " ") + token for token, glued in zip(read.tokens, read.glued, strict=True)]
    return "".join(put.get(at, "") + piece for at, piece in enumerate(pieces)).strip()


@dataclass(slots=True)
class _Bracket:
    begin: int
    ordered: bool = False
    done: bool = False
    """Whether a term was put into it."""


def _numbers(words: Sequence[str], begin: int) -> bool:
    """Whether the bracket at a place is the window of a function that numbers."""
    if words[begin - 1 : begin] != ["over"] or words[begin - 2 : begin - 1] != [")"]:
        return False
    at, depth = begin - 2, 0
    while at > 0 and (depth := depth + (words[at] == ")") - (words[at] == "(")):
        at -= 1
    return words[at - 1] in _NUMBERS
