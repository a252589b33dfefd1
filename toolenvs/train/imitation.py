"""Supervised steps on transcripts: the gradient of the policy's negative log-likelihood, observations masked."""

from collections.abc import Sequence
from typing import Any

import torch

from toolenvs.train import ranks
from toolenvs.train.batching import TokenSequence, pad
from toolenvs.train.forward import ForwardSettings, micro_batches
from toolenvs.train.losses import Denominator, aggregate
from toolenvs.train.scoring import score


def train_step(
    model: Any,
    sequences: Sequence[TokenSequence],
    settings: ForwardSettings,
    device: torch.device | str,
    *,
    entropy_coef: float = 0.0,
) -> float:
    """Accumulate the gradient of the mean negative log-likelihood over all policy tokens; returns that mean.

    Args:
        model: the policy.
        sequences: what it learns to write.
        settings: how the model is run.
        device: of the model.
        entropy_coef: weight of an entropy bonus, which the returned mean leaves out.
    """
    whole = pad(sequences, device)
    denominator = Denominator.of(whole.mask)
    total = torch.zeros((), dtype=torch.float64, device=whole.ids.device)
    for part in micro_batches(model, whole, settings):
        scores = score(model, part.batch, settings, entropy_gradient=bool(entropy_coef))
        loss = aggregate(-scores.logprobs, part.batch.mask, "token-mean", denominator)
        total += loss.detach()
        if entropy_coef:
            loss = loss - entropy_coef * aggregate(scores.entropy, part.batch.mask, "token-mean", denominator)
        loss.backward()  # type: ignore[no-untyped-call]
    return float(ranks.total(total))
