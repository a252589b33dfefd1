"""Published scores by hand, and the fault of each beside what the careful comparison says."""

import itertools
import math
import random
import sqlite3
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.rewards.sql import (
    METRICS,
    Table,
    bird_ex,
    compare,
    deepretrieval,
    intercode,
    skyrl_set,
    spider_rewrite,
    spider_test_suite,
)

Rows = list[tuple[Any, ...]]


def table(*rows: tuple[Any, ...]) -> Table:
    return Table(tuple(f"c{n}" for n in range(len(rows[0]) if rows else 1)), rows)


FAILED, SLOW, EMPTY, NO_QUERY = Table(status="error"), Table(status="timeout"), table(), Table()
ABC = table(("a",), ("b",), ("c",))


@pytest.mark.parametrize(
    ("gold", "said", "bird", "skyrl", "deep", "deep_bird", "inter"),
    [
        (ABC, ABC, 1, 1, 1, 1, 1.0),
        (ABC, table(("a",), ("b",)), 0, 0, 0, 0.3, 0.67),  # 2 of 3, in order
        (ABC, table(("a",), ("b",), ("d",)), 0, 0, 0, 0.3, 0.5),  # 2 of 4
        (ABC, table(("c",), ("b",), ("a",)), 1, 1, 1, 1, -1.0),  # every pair reversed
        (ABC, table(("b",), ("a",), ("c",)), 1, 1, 1, 1, 0.33),  # one pair of three reversed: (2 - 1) / 3
        (ABC, FAILED, 0, 0, 0, 0, 0),
        (ABC, SLOW, 0, 0, 0, 0.3, 0),
        (table(("a",), ("b",)), table(("b", 1), ("a", 2)), 0, 0, 0, 0.3, 0),
        (table((1,)), table((1,)), 1, 1, 1, 1, 1.0),  # tau is undefined for one row
        (table((1,)), table((1.0,)), 1, 1, 1, 1, 0.0),  # as text they differ
    ],
)
def test_by_hand(
    gold: Table, said: Table, bird: float, skyrl: float, deep: float, deep_bird: float, inter: float
) -> None:
    assert bird_ex(gold, said) == bird
    assert skyrl_set(gold, said) == skyrl
    assert deepretrieval(gold, said) == deep
    assert METRICS["deepretrieval_bird"](gold, said) == deep_bird
    assert intercode(gold, said) == pytest.approx(inter)


def test_the_sets_lose_duplicates_and_order() -> None:
    gold = table((7,), (7,), (8,))
    for said in (table((7,), (8,)), table((8,), (7,), (7,), (7,))):
        assert bird_ex(gold, said) == skyrl_set(gold, said) == deepretrieval(gold, said) == 1
        assert not compare(gold, said)
    reversed_ = table((8,), (7,), (7,))
    assert bird_ex(gold, reversed_) == 1
    assert not compare(gold, reversed_, order=[0, 0, 1])


def test_the_sets_take_floats_exactly_and_columns_in_one_order() -> None:
    assert bird_ex(table((0.1 + 0.2,)), table((0.3,))) == skyrl_set(table((0.1 + 0.2,)), table((0.3,))) == 0
    assert compare(table((0.1 + 0.2,)), table((0.3,)))
    gold, said = table(("a", 1), ("b", 2)), Table(("n", "name"), ((1, "a"), (2, "b")))
    assert bird_ex(gold, said) == 0
    assert compare(gold, said)


def test_nothing_equals_nothing() -> None:
    for said in (EMPTY, NO_QUERY):  # a statement that is no query gives no rows
        assert bird_ex(EMPTY, said) == skyrl_set(EMPTY, said) == deepretrieval(EMPTY, said) == 1
        assert spider_test_suite("SELECT a FROM t", [EMPTY], [said]) == 1
    assert intercode(EMPTY, EMPTY) == 1
    assert intercode(EMPTY, NO_QUERY) == 0  # its observation is no list
    assert not compare(EMPTY, NO_QUERY)


def test_failures_that_score() -> None:
    for gold, said in itertools.product((FAILED, SLOW, EMPTY, table(("error",)), table(("timeout",))), (FAILED, SLOW)):
        assert bird_ex(gold, said) == bird_ex(said, gold) == 0  # both run in one call, which fails as a whole
    assert skyrl_set(FAILED, FAILED) == skyrl_set(FAILED, EMPTY) == 0  # the gold's fault is the policy's
    assert deepretrieval(EMPTY, SLOW) == deepretrieval(SLOW, SLOW) == 1
    assert deepretrieval(EMPTY, FAILED) == deepretrieval(FAILED, FAILED) == 0
    for said in (FAILED, SLOW):
        assert not compare(EMPTY, said)


def test_a_deletion_scores_where_the_prediction_runs_first_on_one_connection() -> None:
    base = sqlite3.connect(":memory:")
    base.execute("CREATE TABLE Genre (Name TEXT)")
    base.execute("INSERT INTO Genre VALUES ('Rock'), ('Jazz')")
    base.commit()
    gold_sql, said_sql = "SELECT Name FROM Genre", "DELETE FROM Genre"
    before = table(*base.execute(gold_sql).fetchall())
    said = Table((), tuple(base.execute(said_sql).fetchall()))
    after = table(*base.execute(gold_sql).fetchall())
    base.close()
    assert bird_ex(after, said) == skyrl_set(after, said) == deepretrieval(after, said) == 1
    assert bird_ex(before, said) == 0
    assert not compare(after, said)
    assert not compare(before, said)


def test_spider_takes_any_order_of_columns() -> None:
    gold = table((1, 2, "x"), (3, 4, "y"))
    assert spider_test_suite("SELECT", [gold], [table(("y", 4, 3), ("x", 2, 1))]) == 1
    assert spider_test_suite("SELECT", [gold], [table(("y", 2, 3), ("x", 4, 1))]) == 0  # rows stay whole
    assert spider_test_suite("SELECT", [gold], [table((1, 2), (3, 4))]) == 0
    assert spider_test_suite("SELECT", [gold], [FAILED]) == 0
    assert spider_test_suite("SELECT", [table((1,), (1,))], [table((1,))]) == 0  # duplicates count
    assert not compare(table((1, 2), (3, 4)), Table(("p", "q"), ((2, 1), (4, 3))))  # two numbers: no one choice


def test_spider_reads_order_off_a_substring() -> None:
    said = table(("c",), ("b",), ("a",))
    assert spider_test_suite("SELECT n FROM t ORDER BY n", [ABC], [said]) == 0
    inner = "SELECT n FROM t WHERE n IN (SELECT n FROM u ORDER BY k LIMIT 3)"
    assert spider_test_suite(inner, [ABC], [said]) == 0  # nothing orders the rows, and yet
    assert spider_test_suite("SELECT n FROM t", [ABC], [said]) == 1


def test_spider_looks_at_every_database_of_the_suite() -> None:
    other = table(("d",))
    assert spider_test_suite("SELECT", [ABC, other], [ABC, other]) == 1
    assert spider_test_suite("SELECT", [ABC, other], [ABC, ABC]) == 0
    with pytest.raises(ValueError, match="gold query fails"):
        spider_test_suite("SELECT", [ABC, FAILED], [ABC, ABC])
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        spider_test_suite("SELECT", [ABC, other], [ABC])


def test_spider_edits_the_text_of_a_query() -> None:
    assert spider_rewrite("SELECT count(DISTINCT a) FROM t") == "SELECT count( a) FROM t"
    assert spider_rewrite("SELECT DISTINCT a", keep_distinct=True) == "SELECT DISTINCT a"
    assert (
        spider_rewrite("SELECT 'distinct', \"distinct\" -- distinct") == "SELECT 'distinct', \"distinct\" -- distinct"
    )
    assert spider_rewrite("SELECT '> =' FROM t WHERE a ! = 1") == "SELECT '>=' FROM t WHERE a != 1"  # the literal too
    assert spider_rewrite("WHERE y < year( CURDATE() ) - 1") == "WHERE y < 2020- 1"


CELLS = st.integers(0, 2) | st.sampled_from(["a", "b"])
PAIRS = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.tuples(*[CELLS] * width), min_size=1, max_size=5).flatmap(
        lambda rows: st.tuples(st.just(rows), st.lists(st.tuples(*[CELLS] * width), min_size=1, max_size=5))
    )
)


@given(PAIRS, st.booleans(), st.booleans(), st.randoms(use_true_random=False))
def test_spider_agrees_with_trying_every_order(
    pair: tuple[Rows, Rows], derived: bool, ordered: bool, rng: random.Random
) -> None:
    gold, said = pair
    if derived:  # else two random results are hardly ever equal
        places = rng.sample(range(len(gold[0])), len(gold[0]))
        said = [tuple(row[place] for place in places) for row in (gold if ordered else rng.sample(gold, len(gold)))]
    permuted = (
        [tuple(row[place] for place in places) for row in said]
        for places in itertools.permutations(range(len(gold[0])))
    )
    equal = any(gold == rows if ordered else Counter(gold) == Counter(rows) for rows in permuted)
    sql = "SELECT ORDER BY" if ordered else "SELECT"
    assert spider_test_suite(sql, [table(*gold)], [table(*said)]) == equal


def test_spider_on_nine_columns_answers_at_once() -> None:
    rows = [tuple((n * (c + 2) + c) % 4 for c in range(9)) for n in range(40)]
    said = [tuple(row[place] for place in (3, 1, 4, 0, 5, 8, 2, 6, 7)) for row in rows]
    assert spider_test_suite("SELECT", [table(*rows)], [table(*said)]) == 1
    said[0] = (*said[0][:-1], 9)
    assert spider_test_suite("SELECT", [table(*rows)], [table(*said)]) == 0


def test_intercode_scores_a_reversed_order_below_nothing() -> None:
    assert intercode(ABC, table(("c",), ("b",), ("a",))) == -1
    assert intercode(ABC, table(("z",))) == 0
    assert intercode(table((1,), (1,)), table((1,), (1,), (2,))) == pytest.approx(2 / 3)  # rows all alike: no tau
    assert intercode(FAILED, EMPTY) == 1  # a gold that fails counts as one without rows
    assert intercode(FAILED, ABC) == 0


@given(st.lists(st.sampled_from("abcd"), min_size=2, max_size=9), st.randoms(use_true_random=False))
def test_intercode_counts_pairs(texts: list[str], rng: random.Random) -> None:
    other = rng.sample(texts, len(texts))
    x, y = ([str((text,)) for text in values] for values in (other, texts))
    signs = [
        ((x[i] > x[j]) - (x[i] < x[j]), (y[i] > y[j]) - (y[i] < y[j]))
        for i, j in itertools.combinations(range(len(x)), 2)
    ]
    scale = math.sqrt(sum(a != 0 for a, _ in signs) * sum(b != 0 for _, b in signs))
    expected = round(sum(a * b for a, b in signs) / scale, 2) if scale else 1.0
    said, gold = (table(*((text,) for text in values)) for values in (other, texts))
    assert intercode(gold, said) == pytest.approx(expected)
