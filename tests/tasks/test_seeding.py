"""Draws and orders are fixed by their key: these values must never change."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs import tasks
from toolenvs.tasks.seeding import Draws, stable_seed


def test_known_values_stay():
    draws = Draws("arithmetic", 7, "train", 12)
    assert stable_seed("epoch_order", 0, 1) == 5738312820455723266
    assert [draws.below(1000) for _ in range(5)] == [863, 56, 656, 963, 510]
    assert tasks.epoch_order(10, seed=0, epoch=0) == [8, 5, 6, 9, 1, 3, 7, 0, 2, 4]


@given(st.integers(1, 2**300))
def test_draws_lie_in_range(n):
    draws = Draws("range", n)
    assert all(0 <= draws.below(n) < n for _ in range(20))
    assert all(-n <= draws.between(-n, n) <= n for _ in range(20))


def test_draws_are_even():
    draws = Draws("even")
    counts = Counter(draws.choice("abcdef") for _ in range(6000))
    assert all(count == pytest.approx(1000, abs=150) for count in counts.values())
    assert len(counts) == 6


def test_samples_repeat_no_position():
    assert sorted(Draws("sample").sample(range(50), 50)) == list(range(50))


def test_keys_with_the_same_letters_differ():
    keys = [("a", "bc"), ("ab", "c"), ("abc",), ("a", 1), ("a", "1")]
    assert len({stable_seed(*key) for key in keys}) == len({Draws(*key).below(2**64) for key in keys}) == len(keys)


@given(st.integers(0, 300), st.integers(), st.integers(0, 1000))
def test_an_epoch_visits_each_task_once_in_an_order_of_its_own(n, seed, epoch):
    order = tasks.epoch_order(n, seed, epoch)
    assert sorted(order) == list(range(n))
    assert order == tasks.epoch_order(n, seed, epoch)
    if n > 50:
        assert order != tasks.epoch_order(n, seed, epoch + 1)
        assert order != tasks.epoch_order(n, seed + 1, epoch)


def test_a_negative_number_of_tasks_is_refused():
    with pytest.raises(ValueError, match="n is -1"):
        tasks.epoch_order(-1, 0, 0)
