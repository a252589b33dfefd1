r"""Results as text: one header of column names, one line a row, and what was left out.

    GenreId | Name
    1 | Rock
    2 | NULL
    3 | 'NULL'
    (3 of 25 rows are shown)

A number, NULL, true, false and x'00FF' stand bare, and so does a text that cannot be taken for anything else. Any
other text stands in single quotes, with \' \\ \n \r \t and \xNN, \uNNNN or \UNNNNNNNN for characters that do not show.
So every value of a line can be read back, and NULL, 'NULL' and '' differ. A value that is cut ends with what was cut.
"""

import math
import re
from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolenvs.databases.result import Result, Value

_TAKEN = re.compile(
    r"(?i:null|true|false|[+-]?(?:inf|nan|\d+\.?\d*(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)|x'[0-9a-f]*')|\(.*|.*\.\.\.\(\+.*"
)
"""Texts that could be read as another kind of value, as the line under the rows, or as a cut value."""
_TAKEN_STARTS = frozenset("nNtTfFiIxX+-.(0123456789")
"""How such a text begins, where it is of ASCII alone and not a cut value."""
_ESCAPES = {"'": "\\'", "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def shown(result: "Result", *, max_rows: int = 50, max_chars: int = 8_000, max_cell_chars: int = 500) -> str:
    """The result as a model reads it: see the module for the form, and `Result.shown` for the limits."""
    if result.status != "ok":
        return f"{'Refused' if result.status == 'refused' else 'Error'} ({result.code}): {result.error}"
    lines = [" | ".join([cell(name, max_cell_chars, is_name=True) for name in result.columns])]
    used = 0
    for row in result.rows[:max_rows]:
        line = " | ".join([str(value) if type(value) is int else cell(value, max_cell_chars) for value in row])
        used += len(line) + 1
        if used > max_chars and len(lines) > 1:
            break
        lines.append(line)
    lines.append(_count(len(lines) - 1, len(result.rows), result.truncated, result.total_rows))
    if not result.repeatable:
        lines.append("(this reads the clock or takes a sample: another run may give other rows)")
    return "\n".join(lines)


def cell(value: "Value", max_chars: int = 500, *, is_name: bool = False) -> str:
    """One value as text; of a text or blob at most `max_chars` characters or bytes, and what was cut."""
    if isinstance(value, str):
        cut = len(value) - max_chars
        return _text(value, is_name) if cut <= 0 else f"{_text(value[:max_chars], is_name)}...(+{cut:,} characters)"
    if isinstance(value, bytes):
        cut = len(value) - max_chars
        text = f"x'{value[:max_chars].hex().upper()}'"
        return f"{text}...(+{cut:,} bytes)" if cut > 0 else text
    return _bare(value)


def _bare(value: bool | int | float | Decimal | None) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float | Decimal) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Inf" if value > 0 else "-Inf"
    return repr(value) if isinstance(value, float) else str(value)


def _text(value: str, is_name: bool) -> str:
    plain = value.isprintable() and "|" not in value and value[:1] not in ("", " ") and value[-1] != " "
    if plain and (is_name or (value[0] != "'" and not _taken(value))):
        return value
    return "'" + "".join(_escaped(value)) + "'"


def _taken(value: str) -> bool:
    if value.isascii() and value[0] not in _TAKEN_STARTS and "...(+" not in value:  # most, without the pattern
        return False
    return _TAKEN.fullmatch(value) is not None


def _escaped(value: str) -> Iterable[str]:
    for character in value:
        if character in _ESCAPES:
            yield _ESCAPES[character]
        elif character.isprintable():
            yield character
        else:
            code = ord(character)
            yield f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _count(listed: int, kept: int, truncated: bool, total: int | None) -> str:
    if not truncated:
        total = kept
    if total is None:
        return f"(the first {listed:,} rows are shown; there are more than {kept:,})"
    if listed < total:
        return f"({listed:,} of {total:,} rows are shown)"
    return "(1 row)" if total == 1 else f"({total:,} rows)"
