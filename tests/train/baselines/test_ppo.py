"""baselines/ppo.py: the critic learns, waits for nobody in its warm-up, and is resumed to the same numbers."""

import sys

import pytest
import torch

from toolenvs.errors import ConfigError
from toolenvs.train.metrics import read_metrics, without_times
from toolenvs.train.optim import Optimizers
from toolenvs.train.policy import load_policy

SETTINGS = {
    "steps": 4,
    "prompts": 12,
    "lr": 1e-3,
    "muon_lr": 0.006,
    "critic_lr": 3e-3,
    "checkpoint_every": 2,
    "test_every": 2,
}


@pytest.fixture
def run(training):
    """`run(name, **changes)`: train, and give the folder."""
    return training("ppo", **SETTINGS)


def weights(folder):
    return load_policy(str(folder))[0].state_dict()


def test_policy_and_critic_are_both_trained(run, policy):
    folder = run("whole")
    lines = read_metrics(folder)[1:]
    assert [line["step"] for line in lines] == [1, 2, 3, 4]
    assert all(line["groups"] == 12 for line in lines)  # one episode each, and none is dropped
    assert all(line["gradient_norm"] > 0 and line["value_gradient_norm"] > 0 for line in lines)
    before, after = weights(policy), weights(folder / "model")
    assert any(not torch.equal(value, after[name]) for name, value in before.items())


def test_the_warm_up_trains_the_critic_alone(run, policy):
    folder = run("warm", steps=3, critic_warmup_steps=3)
    lines = read_metrics(folder)[1:]
    assert all(line["value_gradient_norm"] > 0 and "gradient_norm" not in line for line in lines)
    before, after = weights(policy), weights(folder / "model")
    assert all(torch.equal(value, after[name]) for name, value in before.items())


def test_the_critic_learns_until_the_last_of_its_own_updates(run, monkeypatch):
    rates = {}
    step = Optimizers.step

    def watched(self):
        norm = step(self)
        rates.setdefault(id(self), []).append(self._optimizers[0].param_groups[0]["lr"])
        return norm

    monkeypatch.setattr(Optimizers, "step", watched)
    run("decayed", steps=2, decay=True, mini_batches=1, critic_epochs=2, critic_mini_batches=2)
    policy, critic = sorted(rates.values(), key=len)
    assert policy == pytest.approx([1e-3, 1e-3 / 2])
    assert critic == pytest.approx([3e-3 * (1 - update / 8) for update in range(8)])


def test_a_resumed_run_gives_the_same_numbers(run, resumed):
    settings = {"policy_loss": "ppo_ewma", "critic_warmup_steps": 1}
    resumed(run, **settings)
    with pytest.raises(ConfigError, match="run and checkpoint differ in proximal"):
        run("cut", resume=True, **{**settings, "policy_loss": "clip"})


@pytest.mark.parametrize(
    "form",
    [
        {"estimator": "vapo", "length_alpha": 0.5, "lm_coef": 0.1},
        {"estimator": "bi_level_gae", "turn_gamma": 0.95, "filter": "uncertain", "filter_share": 0.5, "samples": 4},
        {"kl_coef": 0.1, "kl_form": "k1", "kl_place": "reward", "entropy_coef": 0.01, "value_clip": 0.0},
        {"adapter": "lora", "adapter_rank": 4, "muon_lr": 0.0, "critic_epochs": 2, "critic_mini_batches": 1},
    ],
    ids=lambda form: "-".join(map(str, form.values())),
)
def test_every_form_trains(run, form):
    line = read_metrics(run("form", steps=1, **form))[1]
    assert line["gradient_norm"] > 0
    assert line["value_gradient_norm"] > 0


def test_adapters_are_saved_merged_and_apart_and_resumed(run, policy):
    settings = {"adapter": "dora", "adapter_rank": 4, "muon_lr": 0.0, "lr": 1e-2, "adapter_dropout": 0.1}
    whole = run("whole", **settings)
    half = run("half", **{**settings, "steps": 2})
    again = run("half", resume=True, **settings)
    assert (whole / "adapter/adapter_model.safetensors").exists()
    # Dropout draws from a random state that checkpoints hold.
    assert list(map(without_times, read_metrics(whole)))[3:] == list(map(without_times, read_metrics(again)))[3:]
    assert (half / "model/model.safetensors").read_bytes() == (whole / "model/model.safetensors").read_bytes()
    before, after = weights(policy), weights(whole / "model")
    assert before.keys() == after.keys()
    assert any(not torch.equal(value, after[name]) for name, value in before.items())
    assert torch.equal(before["model.embed_tokens.weight"], after["model.embed_tokens.weight"])


def test_an_estimator_without_a_critic_is_sent_to_grpo(run):
    with pytest.raises(ConfigError, match=r"'rloo' makes no use of a critic; baselines/grpo\.py"):
        run("wrong", steps=1, estimator="rloo")
    assert "grpo" in sys.modules
