"""The ways to sum up losses per token. What stands at each token, policy_losses/ tells.

Shapes: B sequences, T tokens. Every function takes the mask of the batch; only tokens whose mask is 1 count, and what
stands at the others, NaN included, changes neither a value nor a gradient.

A mini-batch that is cut into micro-batches must give the gradient of the whole. So every mean divides by a
`Denominator` that was counted over the whole mini-batch (over all workers too), and the parts are added up.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from toolenvs.errors import ConfigError, did_you_mean
from toolenvs.tokens import Mask

MAX_LOG_RATIO = 20.0
"""Log-ratios are held within this bound before exponentiation, so that one token cannot overflow float32."""


@dataclass(frozen=True, slots=True)
class Denominator:
    """What the means of a mini-batch divide by, counted over all of its micro-batches."""

    tokens: int
    """Policy tokens."""
    sequences: int
    """Sequences with at least one policy token."""

    @classmethod
    def of(cls, mask: Tensor) -> "Denominator":
        """Count over the mask [B, T] of the whole mini-batch.

        Raises:
            ValueError: there is no policy token, so that no mean exists.
        """
        per_sequence = (mask == Mask.POLICY).sum(-1)
        if not per_sequence.any():
            raise ValueError("the batch has no policy token (mask 1), so there is nothing to take a mean of")
        return cls(tokens=int(per_sequence.sum()), sequences=int((per_sequence > 0).sum()))


def token_mean(values: Tensor, mask: Tensor, denominator: Denominator, constant_tokens: int = 0) -> Tensor:
    """Each token weighs the same (DAPO, Yu et al. 2025)."""
    return _where(mask == Mask.POLICY, values).sum() / denominator.tokens


def seq_mean_token_sum(values: Tensor, mask: Tensor, denominator: Denominator, constant_tokens: int = 0) -> Tensor:
    """Sum over tokens, mean over sequences."""
    return _where(mask == Mask.POLICY, values).sum() / denominator.sequences


def seq_mean_token_mean(values: Tensor, mask: Tensor, denominator: Denominator, constant_tokens: int = 0) -> Tensor:
    """Each sequence weighs the same, however long it is (GRPO, Shao et al. 2024)."""
    policy = mask == Mask.POLICY
    per_sequence = _where(policy, values).sum(-1) / policy.sum(-1).clamp(min=1)  # [B]
    return per_sequence.sum() / denominator.sequences


def seq_mean_token_sum_norm(values: Tensor, mask: Tensor, denominator: Denominator, constant_tokens: int) -> Tensor:
    """Sum over tokens, over a length that is the same for all, mean over sequences (Dr. GRPO, Liu et al. 2025)."""
    return _where(mask == Mask.POLICY, values).sum() / (denominator.sequences * constant_tokens)


AGGREGATIONS: dict[str, Callable[[Tensor, Tensor, Denominator, int], Tensor]] = {
    "token-mean": token_mean,
    "seq-mean-token-sum": seq_mean_token_sum,
    "seq-mean-token-mean": seq_mean_token_mean,
    "seq-mean-token-sum-norm": seq_mean_token_sum_norm,
}


def aggregate(
    values: Tensor, mask: Tensor, form: str, denominator: Denominator, constant_tokens: int | None = None
) -> Tensor:
    """A micro-batch's share of the mini-batch's mean; the shares of all micro-batches add up to it.

    Args:
        values: per-token loss, [B, T].
        mask: [B, T].
        form: a key of AGGREGATIONS.
        denominator: of the whole mini-batch.
        constant_tokens: the length that `seq-mean-token-sum-norm` divides by; the other forms do not read it.

    Raises:
        ConfigError: the form is unknown, or needs `constant_tokens` and has none.
    """
    if form not in AGGREGATIONS:
        raise ConfigError(f"unknown loss aggregation {form!r}; {did_you_mean(form, AGGREGATIONS)}")
    if form == "seq-mean-token-sum-norm" and not constant_tokens:
        raise ConfigError("loss aggregation 'seq-mean-token-sum-norm' needs constant_tokens: the generation limit")
    return AGGREGATIONS[form](values, mask, denominator, constant_tokens or 0)


def _where(policy: Tensor, values: Tensor) -> Tensor:
    """The values at policy tokens and 0 elsewhere; a NaN elsewhere leaves no trace, in the gradient neither."""
    return torch.where(policy, values, torch.zeros((), dtype=values.dtype, device=values.device))
