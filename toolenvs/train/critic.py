"""The critic of PPO: a network of the policy's own architecture with a value head, and its update.

Shapes: B sequences, T tokens, H hidden width. What stands at position t of a result belongs to the token at position t,
given all tokens before it: the value of the state in which the policy wrote that token.
"""

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from toolenvs.tokens import Mask
from toolenvs.train import ranks
from toolenvs.train.batching import Batch
from toolenvs.train.forward import ForwardSettings, computing, layout_of, micro_batches
from toolenvs.train.losses import Denominator, token_mean
from toolenvs.train.optim import Optimizers
from toolenvs.train.rows import lay_out
from toolenvs.train.streams import generator


class Critic(nn.Module):
    """The policy's decoder, copied, with a linear head in place of the output layer.

    Args:
        policy: a causal language model of transformers, without adapters.
    """

    def __init__(self, policy: Any) -> None:
        super().__init__()
        self.decoder = copy.deepcopy(policy.get_decoder()).requires_grad_(True)
        # Zeros: an untrained critic says 0, and so neither favours nor blames a token.
        self.head = nn.Linear(policy.config.get_text_config().hidden_size, 1)
        nn.init.zeros_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def get_input_embeddings(self) -> nn.Module:
        """The embedding, which Muon leaves alone."""
        embedding: nn.Module = self.decoder.get_input_embeddings()
        return embedding

    def get_output_embeddings(self) -> nn.Module:
        """The head, which Muon leaves alone."""
        return self.head

    def forward(self, batch: Batch, settings: ForwardSettings | None = None) -> Tensor:
        """The value before each policy token, 0 elsewhere, at least float32, [B, T]."""
        policy = batch.mask == Mask.POLICY
        layout = layout_of(self.decoder, settings or ForwardSettings())
        rows = lay_out(batch, layout)
        with computing(self):
            hidden = self.decoder(**rows.inputs).last_hidden_state  # [R, P, H]
            if layout == "padded":
                found = self.head(hidden[:, :-1]).squeeze(-1)  # [B, T - 1]
            else:
                said = self.head(hidden.flatten(0, 1)[rows.places]).squeeze(-1)  # [M]
                found = said.new_zeros(len(batch), batch.ids.shape[1] - 1).masked_scatter(policy[:, 1:], said)
        values = nn.functional.pad(found.to(torch.promote_types(found.dtype, torch.float32)), (1, 0))  # [B, T]
        return torch.where(policy, values, torch.zeros_like(values))


@torch.no_grad()
def estimate_values(critic: Critic, batch: Batch, settings: ForwardSettings) -> Tensor:
    """The critic's values of a whole batch, [B, T]."""
    values = torch.zeros_like(batch.logprobs)
    for part in micro_batches(critic.decoder, batch, settings):
        found = critic(part.batch, settings)
        if not part.idle:
            values[part.index, : found.shape[1]] = found.to(values.dtype)
    return ranks.total(values)


@dataclass(frozen=True, slots=True)
class ValueLoss:
    """The critic's loss per token, [B, T], 0 where the mask is not 1."""

    loss: Tensor
    """To be minimised."""
    clipped: Tensor
    """1 where the clip cut the gradient."""


def value_loss(values: Tensor, old_values: Tensor, returns: Tensor, mask: Tensor, clip: float | None) -> ValueLoss:
    """max((V - R)^2, (V_old + clamp(V - V_old, -clip, clip) - R)^2) / 2; without a clip (V - R)^2 / 2.

    Args:
        values: with gradient, [B, T].
        old_values: before the update, [B, T].
        returns: what they should have been, [B, T].
        mask: [B, T].
        clip: how far a value may be moved by one batch; None leaves it out.
    """
    policy = mask == Mask.POLICY
    zero = torch.zeros((), dtype=values.dtype, device=values.device)
    values, old_values, returns = (torch.where(policy, tensor, zero) for tensor in (values, old_values, returns))
    free = (values - returns).square()
    if clip is None:
        return ValueLoss(free / 2, torch.zeros_like(free))
    held = (old_values + (values - old_values).clamp(-clip, clip) - returns).square()
    return ValueLoss(torch.maximum(free, held) / 2, (held > free).to(free.dtype))


def update_critic(
    critic: Critic,
    optimizers: Optimizers,
    batch: Batch,
    old_values: Tensor,
    returns: Tensor,
    settings: ForwardSettings,
    *,
    clip: float | None,
    mini_batches: int,
    seed: tuple[int, ...],
    epochs: int = 1,
) -> dict[str, float]:
    """Fit the critic to `returns`, every policy token weighing the same; returns what the update looked like.

    Returns:
        value_loss, value_clipped, value_gradient_norm: means over the update.
        value_explained: share of the targets' variance that the values before the update explained; 1 is all.
    """
    rng = generator("critic", *seed)
    sums = dict.fromkeys(("value_loss", "value_clipped"), 0.0)
    norm = 0.0
    steps = 0
    for _ in range(epochs):
        order = torch.from_numpy(rng.permutation(len(batch))).to(batch.ids.device)
        for mini_batch in order.chunk(min(mini_batches, len(batch))):
            denominator = Denominator.of(batch.mask[mini_batch])
            for micro_batch in micro_batches(critic.decoder, batch, settings, mini_batch):
                index, part = micro_batch.index, micro_batch.batch
                width = part.ids.shape[1]
                values = critic(part, settings)
                found = value_loss(values, old_values[index, :width], returns[index, :width], part.mask, clip)
                loss = token_mean(found.loss, part.mask, denominator)
                loss.backward()  # type: ignore[no-untyped-call]
                sums["value_loss"] += float(loss.detach())
                sums["value_clipped"] += float(found.clipped.sum()) / denominator.tokens
            norm += optimizers.step()
            steps += 1
    together = ranks.total(torch.tensor(list(sums.values()), dtype=torch.float64, device=batch.ids.device)).tolist()
    means = {name: value / steps for name, value in zip(sums, together, strict=True)}
    policy = batch.mask == Mask.POLICY
    spread = float(returns[policy].var(correction=0))
    left = float((returns - old_values)[policy].var(correction=0))
    explained = 1 - left / spread if spread else float("nan")
    return {**means, "value_gradient_norm": norm / steps, "value_explained": explained}
