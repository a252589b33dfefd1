"""Success, its interval, and what infrastructure failures count as."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rollout.trajectories import trajectory
from toolenvs.budget import Limits
from toolenvs.evaluation.measures import Prices, measure
from toolenvs.evaluation.overall import overall
from toolenvs.evaluation.statistics import interval
from toolenvs.rollout import Trajectory
from toolenvs.rollout.trajectory import CallRecord
from toolenvs.transcript import Author, Segment, Transcript


def _episode(
    group: int, success: float | None, *, statuses: tuple[str, ...] = (), ending: str = "answer", **more: Any
) -> Trajectory:
    calls = [
        CallRecord(turn=1, tool="python", arguments={}, result="", status=s, seconds=place)
        for place, s in enumerate(statuses)
    ]
    return trajectory(
        key=str(group),
        group=str(group),
        task=f"t/{group}",
        question="?",
        golds=("1",),
        transcript=Transcript((Segment(Author.PROMPT, "?"),)),
        turn_rewards=(0.0, success or 0.0),
        ending=ending,
        success=success,
        calls=tuple(calls),
        seconds=2.0,
        **more,
    )


def test_calls_that_no_budget_was_left_for_took_no_time_on_all_pages_together_either() -> None:
    episodes = [_episode(0, 1.0, statuses=("spent", "ok", "ok")), _episode(1, 0.0, statuses=("spent",))]
    page = measure(episodes, n=1)
    together = overall({"one": page, "two": page}, episodes)
    assert together["tool_seconds"] == page.tool_seconds == {"p50": 1.5, "p95": 1.95}


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
    assert {k: rate[0] for k, rate in result.pass_at_k.items()} == {"1": 0.25, "2": 0.5}
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
    assert set(measure(whole + failed, n=2).pass_at_k) == {"1"}, "no task has both episodes"


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


def test_pass_at_k_is_unbiased_and_its_interval_is_drawn_over_tasks() -> None:
    """With c of n tries solved, 1 - C(n-c, k) / C(n, k): here tasks of 0, 1 and 4 solved tries of 4."""
    episodes = [
        _episode(group, float(number < solved)) for group, solved in enumerate((0, 1, 4)) for number in range(4)
    ]
    rates = measure(episodes, n=4).pass_at_k
    assert [rates[str(k)][0] for k in (1, 2, 3, 4)] == pytest.approx([5 / 12, (0.5 + 1) / 3, (0.75 + 1) / 3, 2 / 3])
    for rate, low, high in rates.values():
        assert 0 <= low <= rate <= high <= 1
    assert rates["2"][1:] == (0, 1), "with three tasks the draws reach none and all"


def test_tools_by_status_with_calls_past_the_budget_apart() -> None:
    result = measure([_episode(0, 1.0, statuses=("ok", "error", "spent")), _episode(1, 0.0)], n=1)
    use = result.tools["python"]
    assert (use.calls, dict(use.statuses)) == (2, {"ok": 1, "error": 1, "spent": 1})
    assert use.seconds == {"p50": 0.5, "p95": pytest.approx(0.95)}
    assert result.called == 0.5
    assert result.tool_seconds == use.seconds


def test_budgets_are_shares_of_what_the_page_allows() -> None:
    limits = Limits(max_turns=4, max_calls=0, max_response_tokens=100, deadline_s=10)
    used = [
        {"turns": 1.0, "response_tokens": 0.0, "seconds": 5.0},
        {"turns": 4.0, "response_tokens": 0.0, "seconds": 12.0},
    ]
    result = measure([_episode(place, 1.0, usage=usage) for place, usage in enumerate(used)], n=1, limits=limits)
    assert set(result.budgets) == {"turns", "seconds"}, "no tokens are known, and of no calls there is no share"
    turns, seconds = result.budgets["turns"], result.budgets["seconds"]
    assert (turns.limit, turns.mean_share, turns.spent) == (4, 0.625, 0.5)
    assert (seconds.mean_share, seconds.spent) == (0.75, 0.5), "what ran over is all of it, and no more"


def test_tokens_cost_and_are_paid_for_where_infrastructure_wasted_them_too() -> None:
    def episode(group: int, success: float | None, tokens: tuple[int, int], **more: Any) -> Trajectory:
        read, written = tokens
        return _episode(group, success, agent_seconds=(1.0,), prompt_tokens=read, completion_tokens=written, **more)

    prices = Prices(prompt=2, completion=10)
    whole = [episode(0, 1.0, (1000, 100)), episode(1, None, (500, 50), ending="infrastructure")]
    result = measure(whole, n=1, retried=[episode(0, None, (500, 50), ending="infrastructure")], prices=prices)
    assert (result.prompt_tokens, result.completion_tokens, result.retried) == (2000, 200, 1)
    assert result.cost_usd == pytest.approx((2000 * 2 + 200 * 10) / 1e6)
    assert measure(whole, n=1).cost_usd is None, "no prices"
    unknown = measure([*whole, _episode(2, 1.0, agent_seconds=(1.0,))], n=1, prices=prices)
    assert (unknown.prompt_tokens, unknown.cost_usd) == (None, None), "one of them did not count"


def test_the_agents_failures_are_wrong_and_are_counted() -> None:
    result = measure([_episode(0, 1.0), _episode(1, 0.0, ending="agent")], n=1)
    assert (result.success, result.agent_failures, result.infrastructure) == (0.5, 1, 0)
