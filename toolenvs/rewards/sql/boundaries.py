"""The values that a query compares columns with: rows that lie exactly there tell `>` from `>=`, and 5 from 6."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from toolenvs.rewards.sql.reading import lex

_OPERATORS = frozenset({"=", "==", "!=", "<>", "<", "<=", ">", ">="})
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e\d+)?", re.IGNORECASE)
_NAME = re.compile(r"[^\W\d]\w*|\"(?:[^\"]|\"\")+\"|`[^`]+`|\[[^\]]+\]")
_WORDS = frozenset(
    {"and", "or", "not", "where", "when", "then", "else", "on", "having", "select", "between", "in", "like"}
)


_NO_VALUE = frozenset({"count", "instr", "julianday", "unixepoch", "in", "exists"})
"""Calls that no value of a column can be told for."""
_MAX_LENGTH = 200


class Boundary(NamedTuple):
    """One comparison of a column with a constant."""

    column: str
    """In lower case, without its table: every column of that name is meant."""
    value: int | float | str
    pattern: bool = False
    """Whether the value is a pattern of LIKE."""
    counted: bool = False
    """Whether the value is how many rows a group by the column has, as HAVING asks."""


def boundaries(sql: str) -> tuple[Boundary, ...]:
    """The comparisons of a column with a constant, on either side of the operator, and those of count() in HAVING.

    What is compared may be a term of one column as well: a call, or an operation with a number.
    """
    tokens = _joined([token for token in lex(sql) if token.strip() and not token.startswith(("--", "/*"))])
    return tuple(dict.fromkeys([*_found(tokens), *_counted(tokens)]))


def _joined(tokens: Sequence[str]) -> list[str]:
    """Operators of two characters as one token, and a sign with its number."""
    out: list[str] = []
    for token in tokens:
        before = out[-2] if len(out) > 1 else "("
        unary = before in _OPERATORS or before in ("(", ",") or before.lower() in _WORDS
        signed = unary and out[-1:] == ["-"] and _NUMBER.fullmatch(token)
        if out and (signed or out[-1] + token in _OPERATORS):
            out[-1] += token
        else:
            out.append(token)
    return out


def _found(tokens: Sequence[str]) -> Iterator[Boundary]:
    words = [token.lower() for token in tokens]
    for at, word in enumerate(words):
        if word in _OPERATORS:
            if (value := _value(tokens, at + 1)) is not None:
                yield from _met(tokens, words, at - 1, value)
            name, value = _name(tokens, at + 1), _value(tokens, at - 1)
            if name and value is not None and words[at + 2 : at + 3] != ["("]:
                yield Boundary(name, value)
        elif word in ("between", "in", "like"):
            left = at - 1 - (words[at - 1 : at] == ["not"])
            name = _name(tokens, left)
            if name and word == "like" and isinstance(value := _value(tokens, at + 1), str):
                yield Boundary(name, value, pattern=True)
            elif word != "like":
                for value in _listed(tokens, at, word):
                    yield from _met(tokens, words, left, value)


def _met(tokens: Sequence[str], words: Sequence[str], end: int, value: int | float | str) -> Iterator[Boundary]:
    """What a column must be so that what ends at a place meets a value: the column, or a term of it."""
    if end < 0:
        return
    if name := _name(tokens, end):
        yield Boundary(name, value)
    elif tokens[end] == ")":
        yield from _met_by_call(tokens, words, end, value)
    elif end > 1 and tokens[end - 1] in "+-*/" and not isinstance(value, str):
        by = _value(tokens, end)
        if isinstance(by, int | float) and by:
            with contextlib.suppress(OverflowError):  # whole numbers and infinities beyond what is met
                undone = {"+": value - by, "-": value + by, "*": value / by, "/": value * by}[tokens[end - 1]]
                yield from _met(tokens, words, end - 2, int(undone) if undone == int(undone) else undone)


def _met_by_call(tokens: Sequence[str], words: Sequence[str], end: int, value: int | float | str) -> Iterator[Boundary]:
    depth, begin = 0, end
    while begin >= 0 and (depth := depth + (tokens[begin] == ")") - (tokens[begin] == "(")):
        begin -= 1
    inside = range(max(begin, 0), end)
    called = {words[at - 1] for at in inside if tokens[at] == "("}
    if called & _NO_VALUE or {"select", "case", "over"} & set(words[inside.start : end]):
        return
    name = next((name for at in inside if words[at + 1] != "(" and (name := _name(tokens, at))), "")
    if not name:
        return
    if "length" in called and isinstance(value, int):
        yield from (Boundary(name, "q" * size) for size in (value - 1, value, value + 1) if 0 < size <= _MAX_LENGTH)
    elif {"lower", "upper"} & called and isinstance(value, str):
        yield from (Boundary(name, text) for text in dict.fromkeys((value.lower(), value.upper())))
    elif "strftime" in called:
        yield Boundary(name, str(value))
    elif "length" not in called:
        yield Boundary(name, value)


def _counted(tokens: Sequence[str]) -> Iterator[Boundary]:
    words = [token.lower() for token in tokens]
    groups: list[str] = []
    grouping = having = False
    for at, word in enumerate(words):
        if word == "group":
            grouping, having, groups = True, False, []
        elif word in ("having", "order", "limit", "select", "window"):
            grouping, having = False, word == "having"
        elif grouping and words[at + 1 : at + 2] != ["."]:
            groups += [name for name in [_name(tokens, at)] if name and name != "by"]
        elif having and word == "count" and words[at + 1 : at + 2] == ["("]:
            for number in _compared(tokens, words, at):
                yield from (Boundary(group, number, counted=True) for group in groups)


def _compared(tokens: Sequence[str], words: Sequence[str], at: int) -> Iterator[int]:
    """The whole numbers that the count at a place is compared with."""
    end = words.index(")", at) + 1 if ")" in words[at:] else len(words)
    operator = words[end : end + 1]
    places = [end + 1] if operator and operator[0] in _OPERATORS else []
    places += [end + 1, end + 3] if operator == ["between"] else []
    places += [at - 2] if words[at - 1] in _OPERATORS else []
    yield from (value for value in (_value(tokens, place) for place in places) if isinstance(value, int))


def _listed(tokens: Sequence[str], at: int, word: str) -> Iterator[int | float | str]:
    if word == "between":
        places = [at + 1, at + 3]
    else:
        end = tokens.index(")", at) if ")" in tokens[at:] else at
        places = list(range(at + 2, end, 2))
    for place in places:
        if (value := _value(tokens, place)) is not None:
            yield value


def _name(tokens: Sequence[str], at: int) -> str:
    """The column's name that ends at a place; of `t.a.b`, the last part. "" where there is none."""
    if not 0 <= at < len(tokens):
        return ""
    while at + 2 < len(tokens) and tokens[at + 1] == "." and _NAME.fullmatch(tokens[at + 2]):
        at += 2
    token = tokens[at]
    if not _NAME.fullmatch(token) or token.lower() in _WORDS or token.lower() in ("null", "true", "false", "end"):
        return ""
    return (token[1:-1] if token[0] in '"`[' else token).lower()


def _value(tokens: Sequence[str], at: int) -> int | float | str | None:
    if not 0 <= at < len(tokens):
        return None
    token = tokens[at]
    if token[0] == "'":
        return token[1:-1].replace("''", "'")
    if _NUMBER.fullmatch(token.removeprefix("-")):
        return float(token) if "." in token or "e" in token.lower() else int(token)
    return None
