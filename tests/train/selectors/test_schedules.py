"""Hard focus and the curriculum: what is left, and when."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolenvs.errors import ConfigError
from toolenvs.train.selectors import open_selector


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    size=st.integers(2, 20),
    keep=st.sampled_from([0.25, 0.5, 0.9, 1.0]),
    least=st.integers(1, 6),
    passes=st.integers(1, 2),
    seed=st.integers(0, 99),
)
def test_every_task_comes_before_each_cut_and_the_hardest_are_left(make_tasks, size, keep, least, passes, seed):
    selector = open_selector("hard_focus", make_tasks(size), seed, {"keep": keep, "min_tasks": least, "passes": passes})
    left = set(range(size))
    for _ in range(4):
        came = Counter()
        while sum(came.values()) < passes * len(left):  # until what is left came `passes` times
            taken = selector.take(3, 0.0)
            came.update(taken)
            selector.observe({f"t{index}": [index / size] for index in taken})  # the lower, the harder
        assert set(came) == left
        assert min(came.values()) >= passes
        count = max(-(-len(left) * round(keep * 100) // 100), min(least, len(left)))
        left = set(sorted(left)[:count])


def test_tasks_of_equal_rate_are_left_by_chance_and_unseen_ones_before_solved_ones(make_tasks):
    left = Counter()
    for seed in range(60):
        selector = open_selector("hard_focus", make_tasks(6), seed, {"keep": 0.5, "min_tasks": 1})
        taken = selector.take(6, 0.0)
        selector.observe({f"t{index}": [1.0] for index in taken if index != 3})
        left.update(set(selector.take(3, 0.0)))
    assert left[3] == 60
    assert all(left[index] > 5 for index in (0, 1, 2, 4, 5))


def test_who_is_left_of_equals_has_nothing_to_do_with_who_came_first(make_tasks):
    first = 0
    for seed in range(40):
        selector = open_selector("hard_focus", make_tasks(12), seed, {"keep": 0.5, "min_tasks": 1})
        taken = selector.take(12, 0.0)
        selector.observe({f"t{index}": [0.0] for index in taken})
        first += len(set(taken[:6]) & set(selector.take(6, 0.0)))
    assert 0.35 < first / (6 * 40) < 0.65


def test_the_newest_rate_counts(make_tasks):
    selector = open_selector("hard_focus", make_tasks(4), 0, {"keep": 0.5, "min_tasks": 1, "passes": 2})
    selector.take(4, 0.0)
    selector.observe({"t0": [0.0], "t1": [0.0], "t2": [1.0], "t3": [1.0]})
    selector.take(4, 0.0)
    selector.observe({"t0": [1.0, 1.0], "t1": [1.0], "t2": [0.0, 0.5], "t3": [0.0]})
    assert set(selector.take(2, 0.0)) == {2, 3}


def test_each_part_of_a_run_draws_from_its_part_of_the_tasks(make_tasks):
    selector = open_selector("curriculum", make_tasks(9), 0, {})
    parts = [{index // 3 for index in selector.take(6, step / 12)} for step in range(12)]
    assert parts == [{0}] * 4 + [{1}] * 4 + [{2}] * 4
    down = open_selector("curriculum", make_tasks(9), 0, {"ascending": False, "stages": 9})
    assert [down.take(1, step / 9) for step in range(9)] == [[index] for index in range(8, -1, -1)]


def test_a_part_is_gone_through_evenly(make_tasks):
    selector = open_selector("curriculum", make_tasks(10), 0, {"stages": 2})
    assert sorted(selector.take(3, 0.0) + selector.take(2, 0.4)) == [0, 1, 2, 3, 4]


def test_tasks_without_the_number_are_refused(make_tasks):
    with pytest.raises(ConfigError, match=r"'hops' holds no number for task 't0' \(None\).*numbers: difficulty"):
        open_selector("curriculum", make_tasks(4), 0, {"column": "hops"})
    with pytest.raises(ConfigError, match="holds no number for task 't1' \\('hard'\\)"):
        open_selector("curriculum", make_tasks(2, label=[1, "hard"]), 0, {"column": "label", "stages": 1})
    with pytest.raises(ConfigError, match="3 stages need as many tasks"):
        open_selector("curriculum", make_tasks(2), 0, {})
