"""The careful comparison: what may differ between two results, and what may not."""

import datetime
import math
import random
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.rewards.sql import Table, Tolerance, compare, ties


def table(*rows: tuple[Any, ...], columns: str = "") -> Table:
    width = len(rows[0]) if rows else 1
    return Table(tuple(columns.split() or (f"c{n}" for n in range(width))), rows)


SAME = [
    (table((1,), (2,)), table((2,), (1,))),
    (table((1, "a")), table((1.0, "a"))),
    (table((True,)), table((1,))),
    (table((0.1 + 0.2,)), table((0.3,))),
    (table((Decimal("0.30"),)), table((0.3,))),
    (table((Decimal("7"),)), table((7,))),
    (table((None,)), table((None,))),
    (table((math.nan,)), table((math.nan,))),
    (table((-0.0,)), table((0,))),
    (table((1e300,)), table((1e300 * (1 + 1e-12),))),
    (table((b"x",)), table((memoryview(b"x"),))),
    (table((datetime.date(2020, 1, 2),)), table((datetime.date(2020, 1, 2),))),
    (table(([1, 2.0],)), table(([1, 2],))),
    (table((1,), columns="total"), table((1,), columns="COUNT(*)")),
    (table((1, 2), columns="a b"), table((2, 1), columns="B A")),
    (table(("x", 2)), table((2, "x"), columns="p q")),
    (table((0.1 + 0.2, 1.0), (0.3, 2.0)), table((0.3, 2.0), (0.3, 1.0))),
    (table(), table()),
]
DIFFERENT = [
    (table((1,), (1,)), table((1,)), "1 rows for 2"),
    (table((1,), (1,), (2,)), table((1,), (2,), (2,)), "rows"),
    (table((1,)), table(("1",)), "rows"),
    (table((0,)), table((None,)), "rows"),
    (table(("",)), table((None,)), "rows"),
    (table(("NULL",)), table((None,)), "rows"),
    (table(("a",)), table(("A",)), "rows"),
    (table(("a",)), table(("a ",)), "rows"),
    (table(("x",)), table((b"x",)), "rows"),
    (table((10**15,)), table((10**15 + 1,)), "rows"),
    (table((10**400,)), table((1.0,)), "rows"),
    (table((0.001,)), table((0.009,)), "rows"),
    (table((math.inf,)), table((1e308,)), "rows"),
    (table((1, 2)), table((1, 2, 3)), "3 columns for 2"),
    (table((1, 2)), table((2, 1), columns="p q"), "rows"),
    (table(("x", "y"), columns="a b"), table(("y", "x"), columns="p q"), "rows"),
    (table(("x", 1), ("y", 2)), table(("x", 2), ("y", 1)), "rows"),
    (table((1,)), Table((), (), "ok"), "no query"),
    (table(), Table((), (), "ok"), "no query"),
    (table(), Table((), (), "error"), "error"),
    (table(), Table(("c0",), (), "timeout"), "timeout"),
    (table((1,)), Table(("c0",), ((1,),), "refused"), "refused"),
]


@pytest.mark.parametrize(("gold", "said"), SAME)
def test_the_same(gold: Table, said: Table) -> None:
    assert compare(gold, said).reason == "match"
    assert compare(said, gold)


@pytest.mark.parametrize(("gold", "said", "reason"), DIFFERENT)
def test_different(gold: Table, said: Table, reason: str) -> None:
    found = compare(gold, said)
    assert not found
    assert found.reason == reason


def test_order_counts_only_where_it_is_asked_for_and_ties_may_swap() -> None:
    gold = table(("a", 1), ("b", 2), ("c", 2), ("d", 3))
    by_number = ties(gold, [1])
    swapped, wrong = table(("a", 1), ("c", 2), ("b", 2), ("d", 3)), table(("b", 2), ("a", 1), ("c", 2), ("d", 3))
    assert compare(gold, swapped, order=by_number)
    assert compare(gold, wrong).equal
    assert compare(gold, wrong, order=by_number).reason == "order"
    assert compare(gold, swapped, order=range(4)).reason == "order"


def test_order_of_numbers_a_little_apart() -> None:
    gold, said = table((0.1 + 0.2,), (0.5,)), table((0.3,), (0.5,))
    assert compare(gold, said, order=ties(gold, [0]))
    assert not compare(gold, table((0.5,), (0.3,)), order=ties(gold, [0]))


def test_extra_columns_are_wrong_unless_allowed() -> None:
    gold, said = table(("a", 1), columns="name n"), table((9, 1, "a"), columns="id n name")
    assert not compare(gold, said)
    assert compare(gold, said, extra_columns=True)
    assert not compare(said, gold, extra_columns=True)


def test_decimals_that_the_question_asks_for() -> None:
    gold = table((3.14,))
    assert not compare(gold, table((math.pi,)))
    assert compare(gold, table((math.pi,)), tolerance=Tolerance(decimals=2))
    assert not compare(gold, table((3.15,)), tolerance=Tolerance(decimals=2))


def test_a_gold_must_have_run() -> None:
    with pytest.raises(ValueError, match="status 'error'"):
        compare(Table((), (), "error"), table((1,)))
    with pytest.raises(ValueError, match="2 labels for 1 rows"):
        compare(table((1,)), table((1,)), order=[0, 1])


def test_rows_are_paired_though_the_last_digits_change_their_order() -> None:
    tiny = 1e-12
    gold = table(*((1.0 + (n % 2) * tiny, float(n)) for n in range(300)))
    said = table(*((1.0 + (n % 3) * tiny, float(n)) for n in range(300)))
    assert compare(gold, said)
    worse = table(*(said.rows[:-1]), (1.0, 298.0))
    assert not compare(gold, worse)


def test_a_chain_of_near_rows_needs_an_augmenting_path() -> None:
    near = Tolerance(relative=0, absolute=1)
    gold = table((0.0, 0.0), (1.0, 0.5))
    said = table((1.0, 0.5), (-0.9, -0.1))  # the first of gold is near both, the second near one
    assert compare(gold, said, tolerance=near)
    assert not compare(gold, table((1.0, 0.5), (2.5, 0.5)), tolerance=near)


def test_nine_columns_take_no_search() -> None:
    rows = [tuple((n * 7 + c) % 5 for c in range(9)) for n in range(40)]
    other = [tuple(reversed(row)) for row in rows]
    assert not compare(table(*rows), table(*other, columns="i h g f e d c b a"))


CELLS = st.none() | st.integers(-3, 3) | st.floats(-3, 3) | st.text("ab", max_size=2)
ROWS = st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[CELLS] * width), min_size=1, max_size=8))


@given(ROWS, st.randoms(use_true_random=False))
def test_a_result_equals_its_shuffle_with_noise(rows: list[tuple[Any, ...]], rng: random.Random) -> None:
    noisy = [
        tuple(cell * (1 + 1e-13) if isinstance(cell, float) else cell for cell in row)
        for row in rng.sample(rows, len(rows))
    ]
    assert compare(table(*rows), table(*noisy))


@given(ROWS, st.data())
def test_one_row_more_or_less_is_another_result(rows: list[tuple[Any, ...]], data: st.DataObject) -> None:
    repeated = data.draw(st.sampled_from(rows))
    assert not compare(table(*rows), table(*rows, repeated))
    assert not compare(table(*rows, repeated), table(*rows))
