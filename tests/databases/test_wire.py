"""Frames: every value of every engine comes through as it was, and what is none is refused."""

import contextlib
import math
from decimal import Decimal
from typing import Any

import msgpack
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.databases import wire

_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**200), 2**200),
    st.floats(),
    st.decimals(),
    st.text(st.characters()),
    st.text(st.sampled_from("a\ud800\udfff\0\u20ac")),
    st.binary(),
)


def _alike(first: Any, second: Any) -> bool:
    if isinstance(first, float | Decimal):  # nan is not itself, and 0.0 is -0.0
        return type(first) is type(second) and repr(first) == repr(second)
    return type(first) is type(second) and bool(first == second)


@given(st.lists(st.lists(_VALUES, max_size=4), max_size=4))
def test_values_come_through_as_they_were(rows: list[list[Any]]) -> None:
    frame = wire.encode({"rows": rows, "columns": ("a",)})
    assert wire.HEADER.unpack_from(frame) == (len(frame) - wire.HEADER.size,)
    message = wire.decode(frame[wire.HEADER.size :])
    assert message["columns"] == ("a",)
    assert len(message["rows"]) == len(rows)
    for row, sent in zip(message["rows"], rows, strict=True):
        assert type(row) is tuple
        assert all(map(_alike, row, sent))


@given(st.text(), st.integers(0, 2**64 - 1), st.integers(0, 2**40))
def test_a_query_is_its_head_its_seed_and_its_text(sql: str, seed: int, limit: int) -> None:
    head = wire.head(max_rows=limit, on=(0, 2), alone=True, like=("1-ab",))
    frame = wire.query(head, seed, sql.encode())
    assert wire.HEADER.unpack_from(frame) == (len(frame) - wire.HEADER.size,)
    expected = {"max_rows": limit, "on": (0, 2), "alone": True, "like": ("1-ab",), "seed": seed, "sql": sql}
    assert wire.decode_request(frame[wire.HEADER.size :]) == expected


def test_another_message_is_read_where_a_query_may_come() -> None:
    frame = wire.encode({"samples": 3})
    assert wire.decode_request(frame[wire.HEADER.size :]) == {"samples": 3}


@given(st.binary())
def test_bytes_that_are_no_message_are_refused(body: bytes) -> None:
    with contextlib.suppress(ValueError):
        assert isinstance(wire.decode(body), dict)


@pytest.mark.parametrize("body", [b"", b"\x93\x01", b"\x01", b"\x80\x80", b"\x81\xa1a\xd4\x07\x00", b"\x91" * 5_000])
def test_broken_frames(body: bytes) -> None:
    with pytest.raises(ValueError, match="a frame"):
        wire.decode(body)


def test_a_number_that_is_none_is_refused() -> None:
    for code in (1, 2):
        with pytest.raises(ValueError, match="holds no message"):
            wire.decode(msgpack.packb({"a": msgpack.ExtType(code, b"x")}))


def test_a_digest_tells_types_and_orders_apart() -> None:
    values = [1, 1.0, True, "1", b"1", Decimal(1), None, 0, 0.0, -0.0, math.inf, 2**70, str(2**70)]
    assert len({wire.digest(["a"], [(value,)]) for value in values}) == len(values)
    assert wire.digest(["a"], [(1,), (2,)]) != wire.digest(["a"], [(2,), (1,)])
    assert wire.digest(["a"], []) != wire.digest(["a", "b"], [])
    assert wire.digest(("a",), ((1, "x"),)) == wire.digest(["a"], [[1, "x"]])
