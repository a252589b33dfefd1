"""Supervised steps on transcripts: the gradient of the policy's negative log-likelihood, observations masked."""

from collections.abc import Sequence
from typing import Any

import torch

from toolenvs.train.batching import TokenSequence, micro_batches, pad
from toolenvs.train.losses import Denominator, aggregate
from toolenvs.train.scoring import score


def train_step(
    model: Any,
    sequences: Sequence[TokenSequence],
    micro_batch_tokens: int,
    device: torch.device | str,
    *,
    entropy_coef: float = 0.0,
) -> float:
    """Accumulate the gradient of the mean negative log-likelihood over all policy tokens; returns that mean.

    Args:
        model: the policy.
        sequences: what it learns to write.
        micro_batch_tokens: tokens, padding included, that go through the model at once.
        device: of the model.
        entropy_coef: weight of an entropy bonus, which the returned mean leaves out.
    """
    whole = pad(sequences, device)
    denominator = Denominator.of(whole.mask)
    total = 0.0
    for index in micro_batches(whole.lengths.tolist(), micro_batch_tokens):
        part = whole.rows(torch.tensor(index, device=device))
        scores = score(model, part, entropy_gradient=bool(entropy_coef))
        loss = aggregate(-scores.logprobs, part.mask, "token-mean", denominator)
        total += float(loss.detach())
        if entropy_coef:
            loss = loss - entropy_coef * aggregate(scores.entropy, part.mask, "token-mean", denominator)
        loss.backward()  # type: ignore[no-untyped-call]
    return total
