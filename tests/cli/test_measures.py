"""Success, its interval, and what infrastructure failures count as."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.cli.measures import interval, measure
from toolenvs.rollout import Trajectory
from toolenvs.rollout.trajectory import CallRecord
from toolenvs.transcript import Author, Segment, Transcript


def _episode(
    group: int, success: float | None, *, statuses: tuple[str, ...] = (), ending: str = "answer"
) -> Trajectory:
    calls = [CallRecord(turn=1, tool="python", arguments={}, result="", status=s, seconds=0) for s in statuses]
    return Trajectory(
        key=str(group),
        group=str(group),
        env="E-v0",
        task=f"t/{group}",
        question="?",
        golds=("1",),
        seed=0,
        transcript=Transcript((Segment(Author.PROMPT, "?"),)),
        tokens=None,
        turn_rewards=(0.0, success or 0.0),
        reward_terms={},
        ending=ending,
        success=success,
        calls=tuple(calls),
        seconds=2.0,
    )


def test_measures_of_a_small_evaluation() -> None:
    episodes = [
        _episode(0, 1.0, statuses=("ok", "error")),
        _episode(0, 0.0, ending="turns"),
        _episode(1, 0.0),
        _episode(1, 0.0, statuses=("ok", "ok")),
    ]
    result = measure(episodes, n=2)
    assert (result.tasks, result.episodes, result.infrastructure) == (2, 4, 0)
    assert result.success == 0.25
    assert result.pass_at_n == 0.5
    assert result.reward == 0.25
    assert result.turns == 2
    assert result.calls == 1
    assert result.failed_calls == 0.25
    assert result.seconds == 2
    assert list(result.endings.items()) == [("answer", 3), ("turns", 1)]


def test_infrastructure_failures_are_counted_apart_and_change_nothing_else() -> None:
    whole = [_episode(0, 1.0), _episode(1, 0.0)]
    failed = [_episode(0, None, ending="infrastructure"), _episode(2, None, ending="infrastructure")]
    with_failed, without = measure(whole + failed, n=1), measure(whole, n=1)
    assert with_failed.infrastructure == 2
    assert (with_failed.success, with_failed.success_95) == (without.success, without.success_95)
    assert with_failed.endings == without.endings
    assert measure(whole + failed, n=2).pass_at_n is None, "no task has both episodes"


def test_nothing_but_failures_is_no_measure() -> None:
    result = measure([_episode(0, None, ending="infrastructure")], n=1)
    assert result.success is None
    assert result.success_95 is None
    assert result.calls is None


@pytest.mark.parametrize(("solved", "k"), [(0, 10), (3, 10), (10, 10), (81, 263)])
def test_with_one_episode_a_task_it_is_the_interval_of_wilson(solved: int, k: int) -> None:
    low, high = interval([1.0] * solved + [0.0] * (k - solved), k)
    for bound in (low, high):  # Wilson's bounds are where the score test just rejects: (p - b)^2 = z^2 b (1 - b) / k
        variance = bound * (1 - bound) / k
        assert math.isclose((solved / k - bound) ** 2, 1.959964**2 * variance, rel_tol=1e-6, abs_tol=1e-12)
    assert low < high


@pytest.mark.parametrize(("tasks", "n", "a", "b"), [(100, 4, 0.5, 0.5), (50, 1, 2, 2), (100, 8, 50, 50)])
def test_the_interval_holds_the_true_mean_95_times_in_100(tasks: int, n: int, a: float, b: float) -> None:
    """Tasks of unlike difficulty: episodes of one task go together, which an interval over episodes would overlook."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(1000):
        low, high = interval(list(rng.binomial(n, rng.beta(a, b, tasks)) / n), tasks * n)
        held += low <= a / (a + b) <= high
    assert 0.92 <= held / 1000 <= 0.98


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(1, 8))
def test_the_interval_is_about_the_mean_and_within_0_and_1(means: list[float], n: int) -> None:
    low, high = interval(means, len(means) * n)
    assert 0 <= low <= sum(means) / len(means) + 1e-9
    assert sum(means) / len(means) - 1e-9 <= high <= 1
