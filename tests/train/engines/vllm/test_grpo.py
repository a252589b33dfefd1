"""Training by vLLM's rollouts: the recipe's key, agreement step by step, and what a resumed run has in common."""

import numpy as np
import pytest
import torch

from toolenvs.rollout import read_trajectories
from toolenvs.tokens import Mask
from toolenvs.train.engines.process import TOKEN
from toolenvs.train.metrics import read_metrics
from toolenvs.train.policy import load_policy

SETTINGS = {
    "page": "toolenvs/ReTool-v0",
    "env": {
        "prompt.template": "plain",
        "prompt.user": "{question}\n",
        "budget.max_turns": 3,
        "tasks.set": "arithmetic",
        "tasks.size": 50,
    },
    "prompts": 6,
    "samples": 4,
    "filter": "every",
    "lr": 1e-3,
    "muon_lr": 0.006,
    "test_tasks": 4,
    "test_every": 100,
    "checkpoint_every": 2,
    "trajectories_every": 1,
    "max_turn_tokens": 12,
    "threads": 1,
}


@pytest.fixture
def run(load_script, folder, apart, tmp_path, monkeypatch):
    monkeypatch.setenv(TOKEN, apart._secret)
    grpo = load_script("grpo")

    def train(name, **changes):
        given = {"engine": "vllm", "engine_url": apart._url, "model": folder, **SETTINGS, **changes}
        grpo.main(grpo.Args(output=str(tmp_path / name), **given))
        return tmp_path / name

    train.module, train.token = grpo, apart._secret
    return train


def test_three_steps_agree_with_the_trainer_and_begin_where_transformers_begins(run, folder):
    ours = run("vllm", steps=3)
    theirs = run("transformers", steps=1, engine="transformers", engine_url="")
    lines = read_metrics(ours)
    assert [line["step"] for line in lines] == [0, 1, 2, 3]
    for line in lines[1:]:
        assert line["infrastructure"] == 0
        assert line["engine_mismatch"] < 1e-3
        assert line["push_s"] > 0
    # Both first rollouts are of one policy: each engine's numbers are the policy's own, token by token.
    model, _ = load_policy(folder)
    sampled = {}
    for name, output in (("vllm", ours), ("transformers", theirs)):
        first = list(read_trajectories(output / "trajectories/step-000001.jsonl"))
        assert {int(v) for episode in first for v in episode.tokens.versions} == {-1, 0}
        sampled[name] = np.concatenate([compared(model, episode) for episode in first])
        assert np.abs(sampled[name][:, 0] - sampled[name][:, 1]).mean() < 1e-3
    # And they sample alike: mean log-probabilities lie within what so many tokens scatter.
    means = {name: values[:, 0].mean() for name, values in sampled.items()}
    scatter = sum(values[:, 0].var() / len(values) for values in sampled.values()) ** 0.5
    assert abs(means["vllm"] - means["transformers"]) < 5 * scatter


@torch.no_grad()
def compared(model, episode):
    """[policy tokens, 2]: the engine's and the model's log-probabilities."""
    ids = torch.tensor(episode.tokens.ids)
    logprobs = torch.log_softmax(model(input_ids=ids[None]).logits[0, :-1].float(), -1)
    own = episode.tokens.mask[1:] == Mask.POLICY
    expected = logprobs.gather(-1, ids[1:, None])[:, 0].numpy()
    return np.stack([episode.tokens.logprobs[1:][own], expected[own]], axis=1)


def test_a_resumed_run_rolls_out_what_the_whole_one_did(run, monkeypatch):
    """Weights, tasks and seeds are the same; log-probabilities only up to what a batch of another make rounds."""
    whole = run("whole", steps=3)
    write = run.module.Run.report

    def interrupted(self, step, line, trajectories):
        write(self, step, line, trajectories)
        if step == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(run.module.Run, "report", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run("cut", steps=3)
    monkeypatch.undo()
    monkeypatch.setenv(TOKEN, run.token)
    cut = run("cut", steps=3, resume=True)
    for step in (1, 2, 3):
        name = f"trajectories/step-{step:06d}.jsonl"
        pairs = list(zip(read_trajectories(whole / name), read_trajectories(cut / name), strict=True))
        assert [one.task for one, _ in pairs] == [other.task for _, other in pairs]
        same = [np.array_equal(one.tokens.ids, other.tokens.ids) for one, other in pairs]
        assert np.mean(same) > 0.9
        for (one, other), equal in zip(pairs, same, strict=True):
            if equal:
                assert np.abs(one.tokens.logprobs - other.tokens.logprobs).max() < 1e-2
