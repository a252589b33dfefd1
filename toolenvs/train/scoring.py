"""Log-probabilities of a batch's policy tokens under a model.

Shapes: B sequences, T tokens, V vocabulary, M policy tokens of the whole batch.

What stands at position t of a result belongs to the token at position t, given all tokens before it.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from toolenvs.tokens import Mask
from toolenvs.train.batching import Batch, pack


@dataclass(frozen=True, slots=True)
class Scores:
    """What a model says of each policy token; both are 0 where the mask is not 1."""

    logprobs: Tensor
    """Log-probability of the token under the tempered distribution, [B, T]."""
    entropy: Tensor
    """Entropy in nats of the distribution that the token was drawn from; carries a gradient on demand, [B, T]."""


def score(
    model: nn.Module,
    batch: Batch,
    *,
    temperature: float = 1.0,
    pack_tokens: int | None = None,
    entropy_gradient: bool = False,
) -> Scores:
    """Score a batch in one forward pass.

    `temperature` must be the one that the tokens were sampled at, so that like is compared with like. With
    `pack_tokens` the sequences are laid end to end in rows of about that length instead of being padded; the model's
    attention must then tell sequences apart by their position ids, as transformers' does. `entropy_gradient` is for an
    entropy bonus.
    """
    predicts = batch.mask[:, 1:] == Mask.POLICY  # [B, T-1]: the next token is the policy's
    if pack_tokens is None:
        # Nothing before the first policy token is predicted, and logits are the largest tensor there is.
        first = int(torch.nonzero(predicts.any(0))[0]) if predicts.any() else 0
        output = model(input_ids=batch.ids, attention_mask=batch.attention, logits_to_keep=batch.ids.shape[1] - first)
        logits = output.logits[:, :-1][predicts[:, first:]]  # [M, V]
    else:
        logits = _packed_logits(model, batch, predicts, pack_tokens)
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    logprobs = torch.log_softmax(logits / temperature, dim=-1)  # [M, V]
    targets = batch.ids[:, 1:][predicts]  # [M]
    chosen = logprobs.gather(-1, targets[:, None]).squeeze(-1)  # [M]
    with torch.set_grad_enabled(entropy_gradient and torch.is_grad_enabled()):
        entropy = -(logprobs.exp() * logprobs).sum(-1)  # [M]
    return Scores(_scatter(chosen, predicts), _scatter(entropy, predicts))


def _scatter(values: Tensor, predicts: Tensor) -> Tensor:
    """Values of the policy tokens [M] at their places in [B, T]."""
    placed = torch.zeros(predicts.shape, dtype=values.dtype, device=values.device).masked_scatter(predicts, values)
    return nn.functional.pad(placed, (1, 0))


def _packed_logits(model: nn.Module, batch: Batch, predicts: Tensor, pack_tokens: int) -> Tensor:
    """The logits [M, V] that predict policy tokens, from packed rows, in the order of the padded batch."""
    lengths: list[int] = batch.lengths.tolist()
    parts: dict[int, Tensor] = {}
    for members in pack(lengths, pack_tokens):
        ids = torch.cat([batch.ids[row, : lengths[row]] for row in members])[None]
        positions = torch.cat([torch.arange(lengths[row], device=ids.device) for row in members])[None]
        logits = model(input_ids=ids, position_ids=positions, use_cache=False).logits[0]
        for row, part in zip(members, logits.split([lengths[row] for row in members]), strict=True):
            parts[row] = part[:-1][predicts[row, : lengths[row] - 1]]
    return torch.cat([parts[row] for row in range(len(batch))])
