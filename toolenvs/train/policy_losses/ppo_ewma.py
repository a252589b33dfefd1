"""PPO-EWMA: the clip is held against a slow average of past policies, the importance weight against what sampled.

Hilton et al. 2022, "Batch size-invariance for policy optimization": with the proximal policy apart from the behaviour
policy, how far a step may go no longer depends on how old the samples are.
"""

import math

import torch
from torch import Tensor

from toolenvs.train.policy_losses._surrogate import PolicyLoss, at_policy, log_ratio_of, result

MAX_RATIO = 100.0
"""Bound of both importance weights."""


def loss(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    prox_logprobs: Tensor,
    clip_low: float,
    clip_high: float,
) -> PolicyLoss:
    """max(-A exp(l - l_old), -A exp(clip(l - l_prox, log(1 - clip_low), log(1 + clip_high)) + l_prox - l_old)).

    Both weights are cut at 100.
    """
    ratio = log_ratio_of(logprobs, old_logprobs, mask).exp()
    advantages = at_policy(mask, advantages)
    moved = log_ratio_of(logprobs, prox_logprobs, mask).clamp(math.log(1 - clip_low), math.log(1 + clip_high))
    held_ratio = (moved + log_ratio_of(prox_logprobs, old_logprobs, mask)).exp()
    free = -advantages * ratio.clamp(max=MAX_RATIO)
    held = -advantages * held_ratio.clamp(max=MAX_RATIO)
    return result(torch.maximum(free, held), ratio, held > free, mask)
