"""DOTS against formulas written out, and on tasks whose difficulty their text tells."""

import math
from collections import Counter

import numpy as np
import pytest

from toolenvs.train.selectors import open_selector
from toolenvs.train.selectors.dots import draw, foretell


def foretold_by_hand(vectors, known, rates, temperature):
    """The formulas of the docstring, a task at a time."""

    def attend(task, keys):
        weights = [math.exp(float(vectors[task] @ vectors[key]) / temperature) for key in keys]
        return sum(w * rates[known.index(key)] for w, key in zip(weights, keys, strict=True)) / sum(weights)

    alone = [attend(task, [key for key in known if key != task]) for task in known]
    mean_x, mean_y = sum(alone) / len(alone), sum(rates) / len(rates)
    over = sum((x - mean_x) * (y - mean_y) for x, y in zip(alone, rates, strict=True))
    slope = max(0.0, over / sum((x - mean_x) ** 2 for x in alone))
    return [slope * (attend(task, known) - mean_x) + mean_y for task in range(len(vectors))]


@pytest.mark.parametrize("seed", range(4))
def test_rates_are_foretold_as_the_formulas_say(seed):
    rng = np.random.default_rng(seed)
    kinds = rng.integers(0, 2, 9)
    vectors = rng.normal(size=(9, 5)) + 3 * np.eye(5)[kinds]
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    known = [0, 2, 3, 5, 7, 8]
    rates = np.clip(kinds[known] * 0.6 + rng.random(6) * 0.4, 0, 1)
    got = foretell(vectors, np.array(known), rates, 0.3)
    assert got == pytest.approx(foretold_by_hand(vectors, known, rates.tolist(), 0.3), abs=1e-5)


def test_where_likeness_says_nothing_all_tasks_are_foretold_alike():
    vectors = np.ones((6, 1), dtype=np.float32)
    got = foretell(vectors, np.array([0, 1, 2]), np.array([0.0, 1.0, 0.2]), 0.1)
    assert got == pytest.approx([0.4] * 6)


def test_tasks_are_drawn_by_the_softmax_without_repetition():
    """Against the chance of each ordered pair: p of the first, times p of the second among the rest."""
    logits = np.log(np.array([0.5, 0.3, 0.15, 0.05]))
    p = np.exp(logits)
    rng = np.random.default_rng(0)
    drawn = Counter(frozenset(draw(logits, 2, rng)) for _ in range(20_000))
    expected = {
        frozenset((a, b)): p[a] * p[b] / (1 - p[a]) + p[b] * p[a] / (1 - p[b]) for a in range(4) for b in range(a)
    }
    assert sum(expected.values()) == pytest.approx(1)
    assert all(drawn[pair] / 20_000 == pytest.approx(chance, abs=0.015) for pair, chance in expected.items())


def test_far_from_the_target_no_chance_is_too_small_to_be_drawn_at_last():
    assert sorted(draw(np.array([0.0, -500.0, -1e6]), 3, np.random.default_rng(0))) == [0, 1, 2]


def test_more_than_there_are_come_again_evenly():
    counts = Counter(draw(np.zeros(3), 7, np.random.default_rng(0)))
    assert sorted(counts.values()) == [2, 2, 3]


def kind(index):
    """Sums of one digit are always solved, of five sometimes, long products never."""
    return index % 3


@pytest.fixture
def sums(make_tasks):
    rng = np.random.default_rng(0)
    questions = [
        [
            f"Add {rng.integers(1, 9)} and {rng.integers(1, 9)}.",
            f"Add {rng.integers(10_000, 99_999)} and {rng.integers(10_000, 99_999)}.",
            f"Multiply {rng.integers(10**8, 10**9)} by {rng.integers(10**8, 10**9)}, then by 7, and again by 19.",
        ][kind(index)]
        for index in range(90)
    ]
    return make_tasks(90, questions)


def test_it_finds_the_tasks_that_are_solved_half_of_the_time(sums, ask):
    selector = open_selector("dots", sums, 0, {"reference": 24, "interval": 2, "tau": 0.01})
    tried, taken = ask(selector, 10, 0.0, lambda index: [1.0, 0.5, 0.0][kind(index)])
    assert len(tried) == 24
    assert Counter(map(kind, taken))[1] >= 9
    assert len(set(taken)) == 10
    nothing, more = ask(selector, 10, 0.0, lambda index: 1.0)
    assert (nothing, len({*taken, *more})) == ([], 20)  # the choice lasts for two batches
    tried_again, _ = ask(selector, 10, 0.0, lambda index: 0.0)
    assert len(tried_again) == 24
    assert tried_again != tried


def test_what_is_trained_on_is_no_reference(sums, ask):
    """Only the reference set decides: another outcome of the chosen tasks changes no later choice."""
    runs = []
    for trained in (0.0, 1.0):
        selector = open_selector("dots", sums, 1, {"reference": 24, "interval": 1, "tau": 0.01})
        chosen = []
        for _ in range(3):
            tried = selector.reference(8)
            selector.observe({f"t{index}": [[1.0, 0.5, 0.0][kind(index)]] for index in tried})
            taken = selector.take(8, 0.0)
            selector.observe({f"t{index}": [trained] for index in taken})
            chosen.append(taken)
        runs.append(chosen)
    assert runs[0] == runs[1]


def test_a_reference_set_that_infrastructure_ended_leaves_every_task_as_likely(sums, ask):
    selector = open_selector("dots", sums, 0, {"reference": 24})
    _, taken = ask(selector, 30, 0.0, lambda index: None)
    assert set(map(kind, taken)) == {0, 1, 2}
