"""Values and outputs compared outside the sandbox."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.rewards.unit_tests.compare import same_output, same_value
from toolenvs.rewards.unit_tests.driver import decode, encode

_leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.complex_numbers()
_keys = st.none() | st.booleans() | st.integers() | st.text() | st.binary() | st.tuples(st.integers(), st.text())
VALUES: st.SearchStrategy[Any] = st.recursive(
    _leaves,
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(_keys, inner) | st.sets(_keys),
    max_leaves=12,
)


@given(VALUES)
def test_a_value_equals_itself_after_the_way_through_text(value: Any) -> None:
    text = json.dumps(encode(value))
    assert same_value(value, text)
    assert same_value(decode(json.loads(text)), text)


@pytest.mark.parametrize(
    ("expected", "returned", "same"),
    [
        (1, True, False),
        (True, 1, False),
        (1, 1.0, False),
        (1.0, 1, False),
        (1, "1", False),
        (0, None, False),
        (None, False, False),
        ([1, 2], (1, 2), True),  # JSON files know no tuples
        ((1, 2), [1, 2], False),
        ([1, 2], [2, 1], False),
        ({1, 2}, {2, 1}, True),
        ({1, 2}, [1, 2], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, True),
        ({1: "a"}, {"1": "a"}, False),
        (0.1 + 0.2, 0.3, True),
        (1.0, 1.00001, False),
        (1e-12, 1e-7, False),
        (math.nan, math.nan, True),
        (math.inf, 1e308, False),
        ([[1.0]], [[1.0000001]], True),
        (b"ab", "ab", False),
    ],
)
def test_types_count_and_floats_may_be_rounded(expected: Any, returned: Any, same: bool) -> None:
    assert same_value(expected, json.dumps(encode(returned))) is same


def test_integers_have_as_many_digits_as_they_like() -> None:
    assert same_value(10**5000, json.dumps(encode(10**5000)))
    assert not same_value(10**5000, json.dumps(encode(10**5000 + 1)))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "5",
        "true",
        "[" * 100_000,
        '{"list": 5}',
        '{"list": [5, 6]}',
        '{"int": 5}',
        '{"int": "05"}',
        '{"int": "5", "float": "x"}',
        '{"float": "zz"}',
        '{"dict": [[1]]}',
        '{"dict": [1, 2]}',
        '{"set": [{"int": "5"}]}',
        "{}",
        "9" * 60_000,
    ],
)
@pytest.mark.parametrize("expected", [5, [5], {5: 5}, {6}, 5.0, "5", None, False, (5,), b"5"])
def test_hostile_text_is_no_value_and_no_error(expected: Any, text: str) -> None:
    assert not same_value(expected, text)


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("7\n", "7", True),
        ("7", " 7 \n\n", True),
        ("1 2\n3\n", "1 2 \n3\n\n", True),
        ("1 2\n3\n", "1 2 3\n", False),
        ("0.333333333", "0.3333333", True),
        ("0.5", ".5", True),
        ("0.5", "1/2", False),
        ("3", "3.0", False),
        ("1000000007", "1000000006", False),
        ("1e3", "1000.0", True),
        ("nan", "7", False),
        ("Yes", "YES", False),
        ("", "", True),
        ("", "x", False),
        ("1.0", "9" * 1000, False),
    ],
)
def test_outputs(expected: str, printed: str, same: bool) -> None:
    assert same_output(expected, printed) is same
