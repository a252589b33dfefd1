"""What processes of torchrun do in the tests: `python program.py CASE FOLDER`, with RANK, WORLD_SIZE and so on set.

A case is a function of the folder; what it returns is written there by the first process. The test calls the same
function in its own process, which is alone, and compares.
"""

import copy
import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch.distributed.tensor import DTensor

from toolenvs.train import checkpoint, lora, ranks
from toolenvs.train.batching import TokenSequence, pad
from toolenvs.train.critic import Critic, estimate_values, update_critic
from toolenvs.train.ewma import Ewma
from toolenvs.train.forward import prepare
from toolenvs.train.imitation import train_step
from toolenvs.train.optim import Optimizers
from toolenvs.train.placed import PlacedPolicy
from toolenvs.train.sharding import shard
from toolenvs.train.tiny.model import build_model
from toolenvs.train.tiny.tokenizer import build_tokenizer
from toolenvs.train.update import Updater, UpdateSettings

FORMS = {
    "plain": {},
    "in small pieces": {"micro_batch_tokens": 1, "mini_batches": 1},
    "by sequence": {"aggregation": "seq-mean-token-mean", "micro_batch_tokens": 30, "mini_batches": 3},
    "packed, in parts": {"packing": "packed", "max_logits_mib": 1e-9, "micro_batch_tokens": 40},
    "one long sequence in parts": {"micro_batch_tokens": 1, "mini_batches": 1, "max_logits_mib": 0.03},
    "recomputed": {"gradient_checkpointing": True, "entropy_coef": 0.1, "lm_coef": 0.1, "max_logits_mib": 0.01},
    "divergence": {"kl_coef": 0.3, "recompute_logprobs": True, "correction_reject": "floor"},
    "m2po": {"policy_loss": "m2po", "m2_limit": 0.01, "clip_low": 0.0, "clip_high": 0.0},
    "ewma": {"policy_loss": "ppo_ewma", "mini_batches": 4},
    "adapters": {"kl_coef": 0.1},
}


def network():
    """The tiny policy, narrower, with larger weights, so that its distributions are far from uniform."""
    made = build_model(build_tokenizer(), seed=0, width=24, layers=2, heads=2)
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.ndim == 2:
                parameter.mul_(4)
    return made


def rollout(count=9):
    """A batch in float64 of ragged sequences; the longest is as long as several others, so that shares are unlike."""
    rng = np.random.default_rng(3)
    made = []
    for index in range(count):
        length = 40 if index == 2 else int(rng.integers(6, 15))
        mask = rng.integers(0, 3, length)
        mask[0], mask[3] = 0, 1
        rewards = np.where(mask == 1, rng.normal(size=length), 0)
        ids, logprobs = rng.integers(2, 400, length), -rng.random(length) * 3
        sequence = TokenSequence.of(ids, mask, logprobs, rewards, group=index // 3)
        made.append(replace(sequence, success=float(index % 2), cut_short=index == 4))
    batch = pad(made)
    return made, replace(batch, logprobs=batch.logprobs.double(), rewards=batch.rewards.double())


def whole(tensor):
    return (tensor.full_tensor() if isinstance(tensor, DTensor) else tensor).detach().clone()


class Watched(Optimizers):
    """Keeps each gradient as it was before the step."""

    def __init__(self, model, **options):
        super().__init__(model, **options)
        self._model, self.taken = model, []

    def step(self):
        given = [whole(p.grad).flatten() for p in self._model.parameters() if p.grad is not None]
        self.taken.append(torch.cat(given))
        return super().step()


def weights(model):
    return torch.cat([whole(parameter).flatten() for parameter in model.parameters()])


def trained(name, form, muon_lr):
    """Two updates, in float64."""
    settings = UpdateSettings(**{"dtype": "float64", **form})
    model = network()
    reference = proximal = None
    if settings.needs_reference:
        reference = copy.deepcopy(model).requires_grad_(False)
        with torch.no_grad():
            for parameter in reference.parameters():
                parameter.mul_(1.02)
        prepare(reference, settings, torch.float32)
        reference = shard(reference)
    if name == "adapters":
        torch.manual_seed(0)
        model = lora.attach(model, "lora", rank=3, alpha=6.0)
    if settings.policy_loss == "ppo_ewma":
        proximal = Ewma(model, 0.9)
        prepare(proximal.model, settings, torch.float32)
        proximal.model = shard(proximal.model)
    policy = PlacedPolicy(model, settings, torch.float32, sampled_here=True)
    optimizers = Watched(policy.model, lr=1e-3, muon_lr=muon_lr, weight_decay=0.1, max_grad_norm=0.5)
    updater = Updater(
        settings=settings, model=policy.model, optimizers=optimizers, reference=reference, proximal=proximal
    )
    _, batch = rollout()
    current = updater.rescore(batch)
    noise = 0.4 * torch.arange(current.numel(), dtype=torch.float64).sin().view_as(current)
    batch = replace(batch, logprobs=current + noise)
    old = current if settings.recompute_logprobs else batch.logprobs
    advantages = torch.linspace(-1, 1, old.numel(), dtype=torch.float64).view_as(old)
    lines = [updater.update(batch, old, advantages, step) for step in (1, 2)]
    found = {
        "lines": lines,
        "gradients": optimizers.taken,
        "weights": weights(policy.model),
        "sampled": weights(policy.refresh()),
        "rescored": updater.rescore(batch),
    }
    if proximal is not None:
        found["proximal"] = weights(proximal.model)
    return found


def sharing(folder):
    """Which process did which of some pieces."""

    def work(part):
        return [(piece, ranks.rank()) for piece in part]

    return {"shared": ranks.shared(5, work), "few": ranks.shared(1, work), "by_first": ranks.by_first(3, work)}


def updates(folder):
    return {name: trained(name, form, muon_lr=0.0) for name, form in FORMS.items()}


def muon(folder):
    return trained("plain", {"mini_batches": 1}, muon_lr=0.01)


def critic(folder):
    settings = UpdateSettings(dtype="float64", micro_batch_tokens=30)
    made = Critic(network())
    torch.nn.init.constant_(made.head.weight, 0.1)
    prepare(made, settings, torch.float32)
    shard(made)
    optimizers = Watched(made, lr=1e-3)
    _, batch = rollout()
    values = estimate_values(made, batch, settings)
    line = update_critic(
        made, optimizers, batch, values, batch.rewards, settings, clip=0.5, mini_batches=2, seed=(0, 1), epochs=2
    )
    return {"line": line, "gradients": optimizers.taken, "weights": weights(made), "values": values}


def imitation(folder):
    settings = UpdateSettings(dtype="float64", micro_batch_tokens=20)
    policy = PlacedPolicy(network(), settings, torch.float32, sampled_here=True)
    optimizers = Watched(policy.model, lr=1e-3)
    sequences, _ = rollout()
    losses = []
    for _ in range(2):
        losses.append(train_step(policy.model, sequences[:3], settings, "cpu", entropy_coef=0.1))
        optimizers.step()
    return {"losses": losses, "gradients": optimizers.taken}


def short(folder):
    """bfloat16 over float32 weights."""
    settings = UpdateSettings(dtype="bfloat16", mini_batches=1, max_logits_mib=0.01, gradient_checkpointing=True)
    policy = PlacedPolicy(network(), settings, torch.float32, sampled_here=True)
    optimizers = Watched(policy.model, lr=1e-6)
    _, batch = rollout()
    before = weights(policy.model)
    updater = Updater(settings=settings, model=policy.model, optimizers=optimizers)
    line = updater.update(batch, batch.logprobs.float(), torch.ones_like(batch.logprobs).float(), step=1)
    moved = (weights(policy.model) != before).float().mean()
    types = sorted({str(parameter.dtype) for parameter in policy.model.parameters()})
    return {"gradients": optimizers.taken, "line": line, "moved": moved, "types": types}


def _saving(folder, steps, resume):
    """Train on with everything that a checkpoint holds, and save after the last step."""
    settings = UpdateSettings(dtype="float64", policy_loss="ppo_ewma", mini_batches=1)
    model = network()
    proximal = Ewma(model, 0.9)
    prepare(proximal.model, settings, torch.float32)
    proximal.model = shard(proximal.model)
    policy = PlacedPolicy(model, settings, torch.float32, sampled_here=True)
    optimizers = Optimizers(policy.model, lr=1e-3, muon_lr=0.01, warmup_steps=4)
    value = Critic(network())
    prepare(value, settings, torch.float32)
    shard(value)
    critic_optimizers = Optimizers(value, lr=1e-3)
    parts = {"proximal": proximal, "critic": value, "critic_optimizers": critic_optimizers}
    done = 0
    if resume:
        path = checkpoint.list_checkpoints(folder)[-1]
        done, _ = checkpoint.load(path, model=policy.model, optimizers=optimizers, parts=parts)
    updater = Updater(settings=settings, model=policy.model, optimizers=optimizers, proximal=proximal)
    _, batch = rollout()
    drawn = []
    for step in range(done + 1, steps + 1):
        advantages = torch.linspace(-1, step, batch.ids.numel(), dtype=torch.float64).view_as(batch.logprobs)
        updater.update(batch, batch.logprobs, advantages, step)
        values = estimate_values(value, batch, settings)
        update_critic(
            value, critic_optimizers, batch, values, batch.rewards, settings, clip=None, mini_batches=1, seed=(0, step)
        )
        drawn.append(ranks.gather(float(torch.rand(()))))
    checkpoint.save(folder, step=steps, model=policy.model, optimizers=optimizers, sampler=steps, parts=parts)
    ranks.meet("the checkpoint")
    return {
        "weights": weights(policy.model),
        "critic": weights(value),
        "proximal": weights(proximal.model),
        "drawn": drawn,
    }


def save_after_two(folder):
    return _saving(folder / str(ranks.size()), 2, resume=False)


def save_after_four(folder):
    return _saving(folder / "whole", 4, resume=False)


def go_on_from_two(folder):
    """From the checkpoint of two processes, alone."""
    return _saving(folder / "2", 4, resume=True)


def go_on_from_one(folder):
    return _saving(folder / "1", 4, resume=True)


def killed(folder):
    """One process is killed before its second step; the others must tell so."""
    settings = UpdateSettings(mini_batches=1)
    policy = PlacedPolicy(network(), settings, torch.float32, sampled_here=True)
    updater = Updater(settings=settings, model=policy.model, optimizers=Optimizers(policy.model, lr=1e-3))
    _, batch = rollout()
    batch = replace(batch, logprobs=batch.logprobs.float())
    for step in (1, 2):
        if step == 2 and ranks.rank() == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        updater.update(batch, batch.logprobs, torch.ones_like(batch.logprobs), step)
    return {}


def hanging(folder):
    """It waits for a file that the test writes at the end, and never comes to where the others wait."""
    if ranks.rank() == 1:
        while not (folder / "over").exists():
            time.sleep(0.1)
        os._exit(0)
    ranks.gather("here")
    return {}


def main():
    names, folder = sys.argv[1].split(","), Path(sys.argv[2])
    torch.set_num_threads(1)
    with ranks.joined(float(os.environ.get("RANKS_TIMEOUT_S", "120"))):
        for name in names:
            found = globals()[name](folder)
            if ranks.chief():
                torch.save(found, folder / f"{name}.{ranks.size()}.pt")


if __name__ == "__main__":
    main()
