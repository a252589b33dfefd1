"""Runs side by side; the figures against a count by hand."""

import json
import math
from pathlib import Path

import pytest

from toolenvs.errors import ConfigError
from toolenvs.train.comparison import arms, differing, figures, paired, read_runs, shared_steps
from toolenvs.train.metrics import MetricsWriter
from toolenvs.train.plots import learning_curve, mean_of


def make(folder: Path, values, *, metric="test_success", every=10, script="GRPO", **settings):
    with MetricsWriter(folder) as writer:
        for number, value in enumerate(values):
            writer.write(number * every, {metric: value})
    if settings:
        told = {"script": script, "settings": {"output": str(folder), **settings}}
        (folder / "settings.json").write_text(json.dumps(told))
    return folder


@pytest.fixture
def two_arms(tmp_path):
    """Two seeds of two arms, whose cold starts lie in folders by seed."""
    for name, lr, shift in (("plain", 1e-6, 0.0), ("faster", 1e-5, 0.1)):
        for seed in (0, 1):
            values = [0.2 + shift, 0.5 + shift + seed / 10, 0.4 + shift]
            settings = {"seed": seed, "model": f"runs/sft-{seed}/model", "lr": lr, "env": {"budget.max_turns": 3}}
            make(tmp_path / f"{name}-{seed}", values, **settings)
    return tmp_path


def test_figures_are_those_counted_by_hand(tmp_path):
    (run,) = read_runs([make(tmp_path / "a", [0.0, 0.8, 0.4, 0.6])])
    told = figures(run, "test_success", threshold=0.6)
    assert told is not None
    assert (told.last, told.best, told.best_step, told.reached) == (0.6, 0.8, 10, 10)
    assert told.area == pytest.approx((0.4 + 0.6 + 0.5) / 3)
    until = figures(run, "test_success", until=10)
    assert until is not None
    assert until.area == pytest.approx(0.4)
    between = figures(run, "test_success", until=15)
    assert between is not None
    assert between.area == pytest.approx((10 * 0.4 + 5 * 0.7) / 15)
    assert until.reached is None
    never = figures(run, "test_success", threshold=0.9)
    assert never is not None
    assert never.reached is None
    assert figures(run, "entropy") is None


def test_steps_without_the_metric_or_with_none_are_left_out(tmp_path):
    with MetricsWriter(tmp_path / "a") as writer:
        writer.write(1, {"success": float("nan")})
        writer.write(2, {"success": 0.5})
        writer.write(3, {})
    (run,) = read_runs([tmp_path / "a"])
    told = figures(run, "success")
    assert told is not None
    assert (told.last, told.best_step, told.area) == (0.5, 2, 0.5)


def test_runs_that_differ_by_their_seed_alone_are_one_arm(two_arms):
    named = arms(read_runs([two_arms]))
    assert {name: [run.seed for run in own] for name, own in named.items()} == {"faster": [0, 1], "plain": [0, 1]}
    assert differing(named) == {"lr": {"faster": 1e-5, "plain": 1e-6}}


def test_settings_in_tables_are_compared_key_by_key(tmp_path):
    for name, turns in (("a", 2), ("b", 3)):
        make(tmp_path / name, [0.5], seed=0, env={"budget.max_turns": turns, "judge.name": "qa"})
    assert differing(arms(read_runs([tmp_path]))) == {"env.budget.max_turns": {"a": 2, "b": 3}}


def test_runs_without_settings_go_by_the_names_of_their_folders(tmp_path):
    for name in ("old-0", "old-1", "new-0", "seedless"):
        make(tmp_path / name, [0.5])
    named = arms(read_runs([tmp_path]))
    assert {name: [run.seed for run in own] for name, own in named.items()} == {
        "new": [0],
        "old": [0, 1],
        "seedless": [None],
    }
    assert differing(named) == {}


def test_arms_of_one_name_are_told_apart(tmp_path):
    for parent, lr in (("first", 1), ("second", 2)):
        make(tmp_path / parent / "grpo-0", [0.5], seed=0, lr=lr)
    assert list(arms(read_runs([tmp_path]))) == ["grpo", "second/grpo"]


def test_differences_are_paired_by_seed():
    told = paired({0: 0.5, 1: 0.7, 2: 0.1}, {0: 0.6, 1: 1.0, 5: 9.0})
    assert told is not None
    assert told.by_seed == pytest.approx({0: 0.1, 1: 0.3})
    assert told.mean == pytest.approx(0.2)
    assert told.error == pytest.approx(0.1)
    alone = paired({0: 0.5}, {0: 0.5})
    assert alone is not None
    assert math.isnan(alone.error)
    assert paired({0: 1.0}, {1: 1.0}) is None


def test_the_area_goes_to_the_last_step_that_all_reached(tmp_path):
    make(tmp_path / "short", [0.1, 0.2])
    make(tmp_path / "long", [0.1, 0.2, 0.9])
    make(tmp_path / "other", [0.1], metric="loss")
    assert shared_steps(read_runs([tmp_path]), "test_success") == 10
    assert shared_steps(read_runs([tmp_path]), "nothing") is None


def test_folders_stand_for_the_runs_in_them_each_once(two_arms):
    assert len(read_runs([two_arms, two_arms / "plain-0"])) == 4
    with pytest.raises(ConfigError, match="there is no run in"):
        read_runs([two_arms / "nowhere"])


def test_runs_of_an_arm_are_drawn_with_their_mean(two_arms, tmp_path):
    named = arms(read_runs([two_arms]))
    folders = {name: [run.folder for run in own] for name, own in named.items()}
    path = learning_curve(folders, ["test_success", "entropy"], tmp_path / "deep" / "curve.svg")
    told = path.read_text()
    assert "test_success" in told.replace("<!--", "")
    assert "entropy" not in told
    assert mean_of([[(0, 1.0), (1, 3.0), (2, 9.0)], [(0, 2.0), (1, 5.0)], []]) == [(0, 1.5), (1, 4.0)]
    with pytest.raises(ConfigError, match="cannot be written"):
        learning_curve(folders, ["test_success"], tmp_path / "curve.nothing")
