"""LIMR: scores against the formula in a loop, and the history of a run from its trajectories."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.rollout.trajectories import trajectory
from toolenvs.errors import ConfigError
from toolenvs.filtering.impact import history, scores
from toolenvs.rollout import TrajectoryWriter


def by_hand(curves):
    """s_i = 1 - sum_k (r_ik - m_k)^2 / sum_k (1 - m_k)^2, with m_k the mean over tasks."""
    epochs = range(len(next(iter(curves.values()))))
    mean = [sum(curve[k] for curve in curves.values()) / len(curves) for k in epochs]
    room = sum((1 - mean[k]) ** 2 for k in epochs)
    return {task: 1 - sum((curve[k] - mean[k]) ** 2 for k in epochs) / room for task, curve in curves.items()}


@given(st.integers(1, 5).flatmap(lambda k: st.lists(st.lists(st.integers(0, 8), min_size=k, max_size=k), min_size=1)))
def test_scores_are_the_formula_s(made):
    curves = {str(place): [right / 8 for right in curve] for place, curve in enumerate(made)}
    got = scores(curves)
    if all(right == 8 for curve in made for right in curve):
        assert set(got.values()) == {1.0}
    else:
        assert got == pytest.approx(by_hand(curves))
        assert all(value <= 1 for value in got.values())
        always = [task for task, curve in curves.items() if set(curve) == {1.0}]
        assert all(math.isclose(got[task], 0, abs_tol=1e-9) for task in always)


def test_an_epoch_that_is_missing_takes_the_next_one_s_value_and_else_there_is_no_score():
    full = {"a": [0.5, 0.5, 1.0], "b": [0.0, 1.0, 1.0]}
    gaps = {"a": [None, 0.5, 1.0], "b": [0.0, None, 1.0], "c": [None, None, 1.0], "d": [0.0, 0.5, None]}
    assert scores(gaps) == pytest.approx(by_hand(full))
    assert scores({"d": [0.0, None]}) == {}
    assert scores({}) == {}


def episode(task, success, ending="answer"):
    return trajectory(task=task, turn_rewards=(5.0,), ending=ending, success=success)


@pytest.fixture
def run(tmp_path):
    """`run([step 1, step 2, ...])`: a run's folder with these episodes."""

    def make(steps):
        for number, episodes in enumerate(steps, start=1):
            with TrajectoryWriter(tmp_path / "trajectories" / f"step-{number:06d}.jsonl") as writer:
                for made in episodes:
                    writer.write(made)
        return tmp_path

    return make


def test_a_history_is_the_share_of_right_episodes_of_each_epoch(run):
    steps = [
        [episode("a", 1.0), episode("a", 0.0), replace(episode("a", 1.0), guidance="hint")],
        [episode("b", 0.9), episode("b", None, "infrastructure")],
        [episode("b", 1.0), episode("c", 1.0)],
        [episode("a", None, "infrastructure")],
        [episode("a", 1.0)],
    ]
    told = history(run(steps), steps_per_epoch=2)
    assert (told.epochs, told.steps) == (2, 4)  # the fifth step is of an epoch that is not whole
    assert told.rates == {"a": [0.5, None], "b": [0.0, 1.0], "c": [None, 1.0]}
    assert history(run(steps), steps_per_epoch=2, epochs=1).rates == {"a": [0.5], "b": [0.0]}


def test_a_run_whose_history_is_not_whole_is_refused(run, tmp_path):
    with pytest.raises(ConfigError, match="trajectories of 0 steps, and an epoch has 2"):
        history(tmp_path, steps_per_epoch=2)
    folder = run([[episode("a", 1.0)]] * 4)
    (folder / "trajectories/step-000002.jsonl").unlink()
    with pytest.raises(ConfigError, match=r"lacks the trajectories of step 2.*trajectories_every = 1"):
        history(folder, steps_per_epoch=2)
    assert history(folder, steps_per_epoch=1, epochs=1).rates == {"a": [1.0]}
