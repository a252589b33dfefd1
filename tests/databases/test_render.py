"""The text of a result: every value of a line can be read back, and what was cut is told."""

import math
import re
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from toolenvs.databases import Database, Result, Value, render
from toolenvs.databases.render import cell

_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=30),
    st.sampled_from(
        ["NULL", "null", "", "1", "-1.5e3", "x'00'", "true", "Inf", "(3 rows)", "a | b", " a", "'", "\\", "a\n"]
    ),
    st.binary(max_size=10),
)
_CODES = {"n": "\n", "r": "\r", "t": "\t", "'": "'", "\\": "\\"}


def _read(text: str) -> Value:
    """The value that a cell shows; written from the description of the form, not from its code."""
    if text == "NULL":
        return None
    if text in ("true", "false"):
        return text == "true"
    if re.fullmatch(r"x'[0-9A-F]*'", text):
        return bytes.fromhex(text[2:-1])
    if text in ("Inf", "-Inf"):
        return math.inf if text == "Inf" else -math.inf
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    if re.fullmatch(r"-?(\d+\.\d+(e[+-]\d+)?|\d+e[+-]\d+)", text):
        return float(text)
    if not text.startswith("'"):
        return text
    return re.sub(
        r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|.)",
        lambda match: _CODES.get(match[1]) or chr(int(match[1][1:], 16)),
        text[1:-1],
        flags=re.DOTALL,
    )


@given(_VALUES)
def test_a_value_can_be_read_back(value: Value) -> None:
    shown = cell(value)
    assert "\n" not in shown
    assert _read(shown) == value
    assert type(_read(shown)) is type(value)


def test_a_decimal_that_is_no_number_is_told_from_a_text() -> None:
    for value, shown in (("Infinity", "Inf"), ("-Infinity", "-Inf"), ("NaN", "NaN")):
        assert cell(Decimal(value)) == shown != cell(value)


@given(st.lists(st.tuples(_VALUES, _VALUES), max_size=8))
def test_rows_stand_in_their_order_one_a_line(rows: list[tuple[Value, Value]]) -> None:
    lines = Result("ok", ("a", "b"), tuple(rows), total_rows=len(rows)).text.split("\n")
    assert lines[0] == "a | b"
    assert [tuple(map(_read, _cells(line))) for line in lines[1:-1]] == rows
    assert lines[-1] == ("(1 row)" if len(rows) == 1 else f"({len(rows)} rows)")


def _cells(line: str) -> list[str]:
    """A bar stands within a value only where that is in quotes."""
    cells, at = [], 0
    while True:
        form = r"'(?:[^'\\]|\\.)*'" if line.startswith("'", at) else r"[^|]*?(?= \| |$)"
        match = re.compile(form).match(line, at)
        assert match is not None
        cells.append(match[0])
        if match.end() == len(line):
            return cells
        assert line.startswith(" | ", match.end())
        at = match.end() + 3


@given(st.lists(_VALUES, min_size=1, max_size=5), st.lists(_VALUES, min_size=1, max_size=5))
def test_different_rows_have_different_texts(one: list[Value], other: list[Value]) -> None:
    texts = [Result("ok", ("a",) * len(row), (tuple(row),), total_rows=1).text for row in (one, other)]
    same = [(type(v), v) for v in one] == [(type(v), v) for v in other]
    zeros = any(value == 0 and isinstance(value, float) for value in (*one, *other))
    assert (texts[0] == texts[1]) == same or zeros  # -0.0 equals 0.0 and is written in another way


@given(st.text(max_size=300), st.integers(1, 50))
def test_a_long_value_is_cut_and_says_by_how_much(text: str, max_chars: int) -> None:
    shown = cell(text, max_chars)
    if len(text) > max_chars:
        assert shown.endswith(f"...(+{len(text) - max_chars:,} characters)")
    else:
        assert "...(+" not in shown or "...(+" in text


def test_what_was_cut_is_told() -> None:
    rows = tuple((n,) for n in range(100))
    assert Result("ok", ("n",), rows, total_rows=100).shown(max_rows=3).splitlines() == [
        "n", "0", "1", "2", "(3 of 100 rows are shown)",
    ]  # fmt: skip
    assert (
        Result("ok", ("n",), rows, truncated=True, total_rows=3503)
        .shown(max_rows=3)
        .endswith("(3 of 3,503 rows are shown)")
    )
    assert (
        Result("ok", ("n",), rows, truncated=True)
        .shown(max_rows=3)
        .endswith("(the first 3 rows are shown; there are more than 100)")
    )
    wide = Result("ok", ("n",), (("x" * 400,),) * 30, total_rows=30)
    assert wide.shown(max_chars=1_000).endswith("(2 of 30 rows are shown)")
    assert wide.shown(max_chars=10).endswith("(1 of 30 rows are shown)")
    assert Result("ok", ("n",), ()).text == "n\n(0 rows)"
    assert cell(b"\x01" * 600) == f"x'{'01' * 500}'...(+100 bytes)"
    assert [cell(value) for value in (Decimal("1.50"), math.nan, Decimal("NaN"))] == ["1.50", "NaN", "NaN"]


_WRITTEN = st.text(max_size=20).filter(lambda text: "\0" not in text)


@given(
    st.lists(
        st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), _WRITTEN, st.binary(max_size=8)), min_size=1, max_size=6
    )
)
def test_values_come_through_the_engine_as_they_are(sqlite: Database, values: list[Value]) -> None:
    literals = ", ".join(_literal(value) for value in values)
    assert sqlite.query(f"SELECT {literals}").rows == (tuple(values),)


@given(st.lists(st.tuples(st.one_of(st.none(), st.integers(0, 9)), st.text("ab", max_size=2)), min_size=1, max_size=12))
def test_order_and_duplicates_are_kept(sqlite: Database, rows: list[tuple[int | None, str]]) -> None:
    values = ", ".join(f"({_literal(one)}, {_literal(other)})" for one, other in rows)
    assert sqlite.query(f"VALUES {values}").rows == tuple(rows)
    ordered = sqlite.query(f"WITH t(a, b) AS (VALUES {values}) SELECT b FROM t ORDER BY a, b DESC").rows
    by_b = sorted(rows, key=lambda row: row[1], reverse=True)
    assert [row[0] for row in ordered] == [b for _, b in sorted(by_b, key=lambda row: -1 if row[0] is None else row[0])]


def _literal(value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"x'{value.hex()}'"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value) if value != -(2**63) else "(-9223372036854775807 - 1)"


@given(
    st.one_of(
        st.text("nNuUlLtTiIfFaAxX'+-.(0123456789e\u0130\u0131\u0663 ", min_size=1, max_size=6), st.text(min_size=1)
    )
)
def test_what_could_be_another_value_is_found_without_the_pattern_where_that_is_sure(text: str) -> None:
    for one in (text, f"{text}...(+{text}"):
        assert render._taken(one) == (render._TAKEN.fullmatch(one) is not None)
