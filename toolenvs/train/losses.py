"""Policy-gradient losses per token, and the ways to sum them up.

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
class PolicyLoss:
    """The clipped surrogate, per token, and what the clip did; all [B, T], all 0 where the mask is not 1."""

    loss: Tensor
    """To be minimised."""
    ratio: Tensor
    """Current over old probability; carries no gradient."""
    clipped: Tensor
    """1 where a clip cut the gradient."""


def policy_loss(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    dual_clip: float | None = None,
) -> PolicyLoss:
    """PPO's clipped surrogate: -min(r A, clip(r, 1 - clip_low, 1 + clip_high) A), r = exp(logprobs - old_logprobs).

    Args:
        logprobs: under the current policy, with gradient, [B, T].
        old_logprobs: under the policy that the update began from, [B, T].
        advantages: [B, T].
        mask: [B, T].
        clip_low: how far below 1 the ratio may still be pushed.
        clip_high: how far above 1; larger than `clip_low` in DAPO, so that rare tokens can become likely.
        dual_clip: where the advantage is negative, the loss is at most -dual_clip * A (Ye et al. 2020, "Mastering
            complex control in MOBA games"), so that a token that has become likely since cannot dominate a batch;
            must be above 1. None leaves it out.

    Raises:
        ConfigError: `dual_clip` is not above 1.
    """
    if dual_clip is not None and dual_clip <= 1:
        raise ConfigError(f"dual_clip must be above 1, where the ratio starts from; got {dual_clip}")
    policy = mask == Mask.POLICY
    log_ratio = _where(policy, logprobs - old_logprobs).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    advantages = _where(policy, advantages)
    ratio = log_ratio.exp()
    free = -advantages * ratio
    held = -advantages * ratio.clamp(1 - clip_low, 1 + clip_high)
    loss = torch.maximum(free, held)
    clipped = held > free
    if dual_clip is not None:
        ceiling = torch.where(advantages < 0, -advantages * dual_clip, torch.inf)
        clipped |= loss > ceiling
        loss = torch.minimum(loss, ceiling)
    return PolicyLoss(loss, _where(policy, ratio.detach()), clipped.to(loss.dtype))


def sampling_correction(old_logprobs: Tensor, sampled_logprobs: Tensor, mask: Tensor, *, cap: float) -> Tensor:
    """Truncated importance weights min(p_old / p_sampled, cap) per token, [B, T]; 1 where the mask is not 1.

    An inference engine computes slightly other probabilities than the trainer does; multiplied into the per-token loss,
    these weights correct it (Yao et al. 2025, "Your efficient RL framework secretly brings you off-policy training").
    """
    log_weight = _where(mask == Mask.POLICY, old_logprobs - sampled_logprobs).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    return log_weight.exp().clamp(max=cap).detach()


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
