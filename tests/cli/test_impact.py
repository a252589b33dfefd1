"""`toolenvs tasks score`: a run's history in, a task set out."""

from pathlib import Path

import pytest

from tests.rollout.trajectories import trajectory
from toolenvs import blueprint, tasks
from toolenvs.rollout import Trajectory, TrajectoryWriter

SET = ("--set", "tasks.set=arithmetic", "--set", "tasks.size=4")


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    """A run of two epochs: tasks 0 and 1 rise with the mean, task 2 is always solved, task 3 falls."""
    env = blueprint.load("ReTool-v0", **{"tasks.set": "arithmetic", "tasks.size": 4})
    rates = [(0.25, 0.75), (0.5, 0.75), (1.0, 1.0), (0.75, 0.0)]
    for epoch in range(2):
        with TrajectoryWriter(tmp_path / "run" / "trajectories" / f"step-{epoch + 1:06d}.jsonl") as writer:
            for task, rate in zip(env.tasks, rates, strict=True):
                for member in range(4):
                    writer.write(_episode(task, float(member < 4 * rate[epoch])))
    return tmp_path / "run"


def _episode(task: tasks.Task, success: float) -> Trajectory:
    asked = {"task": task.id, "question": task.question, "golds": task.golds}
    return trajectory(env="toolenvs/ReTool-v0", turn_rewards=(success,), success=success, **asked)


def test_what_is_kept_is_a_task_set_that_a_run_can_train_on(run, trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "limr.jsonl"
    result = run("tasks", "score", "ReTool-v0", trained, out, "--steps-per-epoch", 1, "--threshold", 0.4, *SET)
    assert result.exit_code == 0, result.output
    assert "2 of 4 tasks, from 2 epochs (4 have a score)" in result.output
    kept = list(tasks.load(out))
    env = blueprint.load("ReTool-v0", **{"tasks.set": str(out)})
    assert [task.id for task in env.tasks] == [f"arithmetic/train/0/{index}" for index in (0, 1)]
    assert kept[0].extra["pass_rates"] == [0.25, 0.75]
    assert [task.extra["limr_score"] for task in kept] == pytest.approx([4 / 9, 8 / 9])  # the mean is 0.625, twice
    assert kept[0].golds == env.tasks[0].golds


def test_a_threshold_that_nothing_reaches_is_told_with_the_best_score(run, trained: Path, tmp_path: Path) -> None:
    out = tmp_path / "x.jsonl"
    result = run("tasks", "score", "ReTool-v0", trained, out, "--steps-per-epoch", 1, "--threshold", 1, *SET)
    assert result.exit_code != 0
    assert "no task of 4 scores 1 or more: the best is 0." in result.output
    assert not out.exists()
