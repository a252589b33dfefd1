import pytest

from tests.train.baselines.conftest import same_run
from toolenvs import blueprint, coldstart
from toolenvs.errors import ConfigError
from toolenvs.rollout import read_trajectories
from toolenvs.train.metrics import read_metrics
from toolenvs.train.policy import load_policy

SETTINGS = {"size": 40, "steps": 6, "batch": 16, "lr": 6e-3, "muon_lr": 0.01, "checkpoint_every": 2}


@pytest.fixture
def run(training):
    """`run(name, **changes)`: train, and give the folder."""
    return training("sft", **SETTINGS)


def test_the_cold_start_learns_and_leaves_a_model_that_loads(run):
    folder = run("whole")
    losses = [line["loss"] for line in read_metrics(folder)]
    assert losses[-1] < losses[0] - 0.5
    assert (folder / "curve.png").exists()
    model, _ = load_policy(str(folder / "model"))
    assert model.config.model_type == "qwen3"


def test_demonstrations_are_trajectories_whose_observations_are_masked(run, tokenizer):
    folder = run("whole", steps=1)
    shown = list(read_trajectories(folder / "demonstrations.jsonl"))
    calling = [trajectory for trajectory in shown if trajectory.calls]
    assert len(shown) == 40
    assert 0 < len(calling) < 40
    for trajectory in calling:
        written = tokenizer.decode(trajectory.tokens.ids[trajectory.tokens.mask == 1])
        assert "<code>" in written
        assert "<interpreter>" not in written
        assert written.endswith(tokenizer.eos_token)


def test_a_resumed_run_gives_the_same_numbers(run, monkeypatch):
    whole = run("whole")
    step = run.module.train_step
    calls = []

    def interrupted(*args):
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return step(*args)

    monkeypatch.setattr(run.module, "train_step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run("cut")
    monkeypatch.setattr(run.module, "train_step", step)
    cut = run("cut", resume=True)
    same_run(whole, cut)


def test_recorded_trajectories_can_be_learned_from(run):
    recorded = run("whole", steps=1) / "demonstrations.jsonl"
    again = run("again", steps=1, demonstrations=str(recorded))
    first, second = (read_metrics(folder)[0]["loss"] for folder in (recorded.parent, again))
    assert first == second
    with pytest.raises(ConfigError, match="no trajectories at"):
        run("missing", demonstrations=str(recorded) + "x")


def test_it_learns_from_verified_cold_start_rows(run, tmp_path):
    env = blueprint.load("ReTool-v0", set="arithmetic", template="plain", user="{question}\n")
    report = coldstart.build(env, coldstart.from_tasks([env.tasks[index] for index in range(12)]), coldstart.Rules())
    coldstart.write_rows(tmp_path / "rows.jsonl", report.rows)
    folder = run("rows", rows=str(tmp_path / "rows.jsonl"), batch=4)
    losses = [line["loss"] for line in read_metrics(folder)]
    assert losses[-1] < losses[0] - 0.5
    assert not (folder / "demonstrations.jsonl").exists()
