"""Our losses and advantages against TRL's own: its trainer's loss function, called on ragged batches with observations
in them. Two codes that share no line agree in value and gradient, in float64."""

from typing import Any

import numpy as np
import pytest
import torch
import trl
from torch import Tensor

from toolenvs.tokens import Mask
from toolenvs.train.advantages import estimate
from toolenvs.train.batching import TokenSequence, pad
from toolenvs.train.kl import kl_per_token
from toolenvs.train.losses import Denominator, aggregate
from toolenvs.train.policy_losses import policy_loss
from toolenvs.train.scoring import score

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning", "ignore::DeprecationWarning"),
]
LENGTH = 16
"""max_completion_length, which Dr. GRPO divides by."""
FORMS = {
    "grpo": ("clip", "seq-mean-token-mean"),
    "bnpo": ("clip", "token-mean"),
    "dapo": ("clip", "token-mean"),
    "dr_grpo": ("clip", "seq-mean-token-sum-norm"),
    "cispo": ("cispo", "token-mean"),
}
"""TRL's loss types, and our policy loss and aggregation for each."""
EXACT = {"rel": 1e-9, "abs": 1e-9}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A trainer, whose loss function is called alone; making one takes a second."""
    from datasets import Dataset

    from toolenvs.train.tiny.model import build_model
    from toolenvs.train.tiny.tokenizer import build_tokenizer

    tokenizer = build_tokenizer()
    config = trl.GRPOConfig(
        output_dir=str(tmp_path_factory.mktemp("trl")),
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        report_to="none",
        per_device_train_batch_size=6,
        num_generations=3,
        max_completion_length=LENGTH,
        temperature=0.8,
        use_bias_correction_kl=False,  # plain k3; theirs is multiplied by the ratio otherwise
    )
    model = build_model(tokenizer, seed=0).double()
    dataset = Dataset.from_list([{"prompt": "1"}] * 6)
    trainer = trl.GRPOTrainer(model, lambda **_: [0.0], config, dataset, processing_class=tokenizer)
    trainer.current_gradient_accumulation_steps = 1
    return trainer


@pytest.fixture
def make_trainer(made: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`make_trainer(loss_type, high, delta, beta)`: the trainer with these settings, where its loss function reads
    them."""

    def make(loss_type: str, *, high: float = 0.28, delta: float | None = None, beta: float = 0.0) -> Any:
        for name, value in {"loss_type": loss_type, "epsilon_low": 0.2, "epsilon_high": high, "beta": beta}.items():
            monkeypatch.setattr(made, name, value)
        monkeypatch.setattr(made.args, "delta", delta)
        made.model.zero_grad()
        return made

    return make


def crafted(seed: int, *, prompt: int = 3) -> list[TokenSequence]:
    """Six sequences behind prompts of one length: ragged, with runs of the environment's tokens between the policy's,
    one of them of a single token, and one that ends with an observation."""
    rng = np.random.default_rng(seed)
    made = []
    for index in range(6):
        length = 1 if index == 4 else int(rng.integers(5, LENGTH - 2))
        turns = rng.integers(0, 2, length)
        turns[0] = 1
        if index == 2:
            turns[-1] = 0
        mask = [0] * prompt + turns.tolist()
        ids = rng.integers(2, 400, prompt + length)
        made.append(TokenSequence.of(ids, mask, -rng.random(prompt + length), group=index // 3))
    return made


def inputs_of(sequences: list[TokenSequence], advantages: Tensor, *, prompt: int = 3, **more: Tensor) -> dict[str, Any]:
    """The same batch in the form that TRL's trainer makes of a rollout."""
    batch = pad(sequences)
    completion_mask = batch.attention[:, prompt:]
    tool_mask = torch.where(completion_mask == 1, batch.mask[:, prompt:].long(), 1)  # it pads this one with 1
    return {
        "prompt_ids": batch.ids[:, :prompt],
        "prompt_mask": torch.ones_like(batch.ids[:, :prompt]),
        "completion_ids": batch.ids[:, prompt:],
        "completion_mask": completion_mask,
        "tool_mask": tool_mask,
        "advantages": advantages,
        "num_items_in_batch": (batch.mask == Mask.POLICY).sum(),
        **{name: value[:, prompt:] for name, value in more.items()},
    }


def ours(loss_type: str, logprobs: Tensor, old: Tensor, advantages: Tensor, mask: Tensor, **settings: Any) -> Tensor:
    """The same loss by our functions."""
    name, aggregation = FORMS[loss_type]
    spread = advantages[:, None].expand(mask.shape)
    low = 1.0 if name == "cispo" else 0.2  # TRL bounds the weight from above only
    settings = {"clip_low": low, "clip_high": 0.28, "dual_clip": None, "kl_coef": 0.0, "kl_form": "k3", **settings}
    anchor, kl_coef = settings.pop("anchor", None), settings["kl_coef"]
    per_token = policy_loss(name, logprobs, old, spread, mask, **settings).loss
    if anchor is not None:
        per_token = per_token + kl_coef * kl_per_token(logprobs, anchor, mask, "k3")
    return aggregate(per_token, mask, aggregation, Denominator.of(mask), LENGTH)


@pytest.mark.parametrize("delta", [None, 1.6])
@pytest.mark.parametrize("beta", [0.0, 0.04])
@pytest.mark.parametrize("loss_type", FORMS)
def test_loss_and_gradient_with_respect_to_the_log_probabilities(
    make_trainer: Any, monkeypatch: pytest.MonkeyPatch, loss_type: str, beta: float, delta: float | None
) -> None:
    high = 1.28 if loss_type == "cispo" else 0.28  # there TRL means the bound itself
    trainer = make_trainer(loss_type, high=high, delta=delta, beta=beta)
    for seed in range(3):
        sequences = crafted(seed)
        batch, prompt = pad(sequences), 3
        generator = torch.Generator().manual_seed(seed)

        def normal(scale: float, batch: Any = batch, generator: Any = generator) -> Tensor:
            return torch.randn(batch.ids.shape, generator=generator, dtype=torch.float64) * scale

        old, anchor = -normal(1).abs(), -normal(1).abs()
        advantages = torch.randn(6, generator=generator, dtype=torch.float64)
        start = old + normal(0.4)  # so that many ratios lie beyond either bound

        theirs = start.clone().requires_grad_()
        scored = theirs[:, prompt:]
        monkeypatch.setattr(
            trainer,
            "_get_per_token_logps_and_entropies",
            lambda *_, scored=scored, **__: (scored, torch.zeros_like(scored), None),
        )
        given = inputs_of(sequences, advantages, old_per_token_logps=old, ref_per_token_logps=anchor)
        expected = trainer._compute_loss(trainer.model, given)
        expected.backward()

        own = start.clone().requires_grad_()
        settings = {"dual_clip": delta, "kl_coef": beta, "anchor": anchor if beta else None}
        found = ours(loss_type, own, old, advantages, batch.mask, **settings)
        found.backward()

        assert float(found.detach()) == pytest.approx(float(expected.detach()), **EXACT)
        assert own.grad is not None
        assert theirs.grad is not None
        assert own.grad.numpy() == pytest.approx(theirs.grad.numpy(), **EXACT)
        assert own.grad[batch.mask == Mask.POLICY].abs().max() > 1e-3
        assert not own.grad[batch.mask != Mask.POLICY].any()


@pytest.mark.parametrize("loss_type", ["grpo", "dapo", "dr_grpo"])
def test_loss_and_gradient_with_respect_to_the_weights(make_trainer: Any, loss_type: str) -> None:
    """Scores included: TRL pads, and projects through a fused head, which computes in float32; hence the tolerance."""
    trainer = make_trainer(loss_type)
    model, sequences = trainer.model, crafted(5)
    batch = pad(sequences)
    generator = torch.Generator().manual_seed(0)
    advantages = torch.randn(6, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        old = score(model, batch, temperature=0.8).logprobs
    old = old + torch.randn(old.shape, generator=generator, dtype=torch.float64) * 0.3

    expected = trainer._compute_loss(model, inputs_of(sequences, advantages, old_per_token_logps=old))
    expected.backward()
    theirs = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    logprobs = score(model, batch, temperature=0.8).logprobs
    found = ours(loss_type, logprobs, old, advantages, batch.mask)
    found.backward()
    assert float(found.detach()) == pytest.approx(float(expected.detach()), rel=1e-6, abs=1e-6)
    for one, other in zip(model.parameters(), theirs, strict=True):
        assert one.grad.numpy() == pytest.approx(other.numpy(), rel=1e-5, abs=1e-6)
    assert max(float(one.abs().max()) for one in theirs) > 1e-3


@pytest.mark.parametrize(("scale", "estimator"), [("group", "grpo"), ("none", "dr_grpo")])
def test_advantages(make_trainer: Any, monkeypatch: pytest.MonkeyPatch, scale: str, estimator: str) -> None:
    """TRL's come out of its whole step; the small constant under its deviation is 1e-4, ours 1e-6."""
    sequences = crafted(2)
    paid = [1.0, -1.0, 0.25, 0.5, -0.75, 0.0]
    prompt = 3

    def rollout(prompts: Any, trainer: Any) -> dict[str, Any]:
        ids = [one.ids.tolist() for one in sequences]
        return {
            "prompt_ids": [one[:prompt] for one in ids],
            "completion_ids": [one[prompt:] for one in ids],
            "logprobs": [one.logprobs[prompt:].tolist() for one in sequences],
            "env_mask": [(one.mask[prompt:] == 1).astype(int).tolist() for one in sequences],
            "paid": paid,
        }

    trainer = make_trainer("grpo")
    monkeypatch.setattr(trainer, "scale_rewards", scale)
    monkeypatch.setattr(trainer, "rollout_func", rollout)
    monkeypatch.setattr(trainer, "reward_funcs", [lambda paid, **_: paid])
    trainer.model.train()
    output = trainer._generate_and_score_completions([{"prompt": "1"} for _ in sequences])
    batch = pad(sequences)
    rewards = torch.zeros(batch.ids.shape, dtype=torch.float64)
    for row, (one, value) in enumerate(zip(sequences, paid, strict=True)):
        rewards[row, int(np.flatnonzero(one.mask == 1)[-1])] = value
    found = estimate(estimator, rewards, batch.mask, batch.groups).advantages.amax(1, keepdim=False)
    lowest = estimate(estimator, rewards, batch.mask, batch.groups).advantages.amin(1)
    found = torch.where(found.abs() > lowest.abs(), found, lowest)
    groups = np.array(paid).reshape(2, 3)
    if scale == "group":
        spread = torch.tensor(groups.std(1, ddof=1)).repeat_interleave(3)
        found = found * (spread + 1e-6) / (spread + 1e-4)
    assert output["advantages"].double().numpy() == pytest.approx(found.numpy(), rel=1e-6, abs=1e-6)
