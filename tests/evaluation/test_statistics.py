"""Tests and intervals, against each other, by hand and by their own promises."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from toolenvs.evaluation.statistics import bootstrap, holm, interval, mcnemar, quantiles, sign_flips


@pytest.mark.parametrize(("a", "b"), [(0, 0), (0, 5), (1, 9), (3, 3), (20, 40), (700, 800)])
def test_mcnemar_is_the_binomial_test_of_the_discordant_tasks(a: int, b: int) -> None:
    expected = stats.binomtest(a, a + b).pvalue if a + b else 1.0
    assert mcnemar(a, b) == pytest.approx(expected, rel=1e-9)
    assert mcnemar(a, b) == mcnemar(b, a)


@given(st.integers(0, 7), st.integers(0, 7), st.integers(0, 5))
def test_sign_flips_of_solved_and_unsolved_tasks_are_mcnemars_test(better: int, worse: int, ties: int) -> None:
    differences = [1.0] * better + [-1.0] * worse + [0.0] * ties
    assert sign_flips(differences) == pytest.approx(mcnemar(worse, better))


def test_sign_flips_by_hand_and_by_draws() -> None:
    values = [0.5, 0.25, -0.125, 1.0]
    sums = [
        abs(sum(s * v for s, v in zip(signs, values, strict=True))) for signs in itertools.product((1, -1), repeat=4)
    ]
    assert sign_flips(values) == sum(each >= sum(values) for each in sums) / 16
    many = [1.0] * 20 + [-1.0] * 8
    assert sign_flips(many) == pytest.approx(mcnemar(8, 20), abs=0.005)
    assert sign_flips(many, seed=1) != sign_flips(many, seed=2)
    assert sign_flips([1.0] * 60) == 1 / 20_001, "never 0: the flips that were drawn are not all there are"


def test_agents_alike_seldom_differ() -> None:
    """Under the hypothesis a p-value below 0.05 comes at most about 5 times in 100."""
    rng = np.random.default_rng(0)
    small = sum(sign_flips(list(rng.normal(size=12))) <= 0.05 for _ in range(400))
    assert 8 <= small <= 34


@pytest.mark.parametrize(("values", "adjusted"), [
    ([0.01, 0.04, 0.03], [0.03, 0.06, 0.06]),
    ([0.5], [0.5]),
    ([0.6, 0.7], [1.0, 1.0]),
    ([], []),
])  # fmt: skip
def test_holm_by_hand(values: list[float], adjusted: list[float]) -> None:
    assert holm(values) == pytest.approx(adjusted)


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_keeps_the_order_and_lowers_none(values: list[float]) -> None:
    adjusted = holm(values)
    assert all(p <= q <= 1 for p, q in zip(values, adjusted, strict=True))
    assert [q for _, q in sorted(zip(values, adjusted, strict=True))] == sorted(adjusted)


def test_the_bootstrap_is_as_wide_as_the_mean_is_uncertain() -> None:
    values = list(np.random.default_rng(1).normal(size=400))
    low, high = bootstrap([values])
    error = np.std(values) / math.sqrt(400)
    assert high - low == pytest.approx(2 * 1.96 * error, rel=0.1)
    assert low < np.mean(values) < high
    assert bootstrap([values]) == (low, high)
    two = bootstrap([values, [5.0] * 10])
    assert two == pytest.approx(((low + 5) / 2, (high + 5) / 2), abs=0.01), "pages count the same, whatever their size"


@pytest.mark.parametrize("count", range(2, 40))
def test_tasks_that_are_all_as_hard_count_as_tasks_whatever_rounds(count: int) -> None:
    """Of 10 tasks that are solved in 1 of 10 tries, rounding had made as many independent trials as there are tries."""
    low, high = interval([1 / count] * count, count * count)
    wilson = interval([1.0] + [0.0] * (count - 1), count)  # of so many trials, one try a task
    assert (low, high) == pytest.approx(wilson)


def test_quantiles() -> None:
    assert quantiles([]) is None
    assert quantiles([3.0]) == {"p50": 3, "p95": 3}
    assert quantiles([float(i) for i in range(101)]) == {"p50": 50, "p95": 95}
