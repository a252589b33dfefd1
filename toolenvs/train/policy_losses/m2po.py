"""M2PO: the clip is as tight as it takes to bound the second moment of the log-ratio, and no tighter.

Zheng et al. 2025, "Prosperity before collapse: how far can off-policy RL reach with stale data on LLMs?". A fixed clip
cuts many harmless tokens of stale samples; this one cuts the few that carry the moment.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from toolenvs.tokens import Mask
from toolenvs.train.policy_losses import clip
from toolenvs.train.policy_losses._surrogate import PolicyLoss, at_policy, log_ratio_of


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of the ratio, over a mini-batch."""

    low: float
    high: float


def prepare(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    m2_limit: float,
    clip_low: float,
    clip_high: float,
) -> Bounds:
    """The bounds exp(-tau) and exp(tau) of a whole mini-batch, never tighter than 1 - clip_low and 1 + clip_high.

    D = l - l_old. Only tokens that a clip could hold back count: A > 0 with r > 1, or A < 0 with r < 1. If their mean
    of D^2 is above `m2_limit`, tau is the largest bound with mean(min(D^2, tau^2)) <= m2_limit; else nothing is cut.
    """
    log_ratio = log_ratio_of(logprobs, old_logprobs, mask).detach()
    pushing = (at_policy(mask, advantages) * log_ratio > 0) & (mask == Mask.POLICY)
    squares = log_ratio[pushing].double().square().sort().values
    if not len(squares) or float(squares.mean()) <= m2_limit:
        return Bounds(0.0, math.inf)
    # With the k smallest left as they are, all others cut to tau^2: sum_k + (n - k) tau^2 = n m2_limit. The right k is
    # the first whose tau^2 does not reach the next square.
    kept = torch.nn.functional.pad(squares.cumsum(0), (1, 0))[:-1]
    tau_squared = (len(squares) * m2_limit - kept) / torch.arange(len(squares), 0, -1, device=squares.device)
    tau = float(tau_squared[torch.nonzero(tau_squared <= squares)[0, 0]].sqrt())
    return Bounds(min(math.exp(-tau), 1 - clip_low), max(math.exp(tau), 1 + clip_high))


def loss(logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, mask: Tensor, *, statistics: Bounds) -> PolicyLoss:
    """PPO's clipped surrogate within the mini-batch's bounds."""
    low, high = 1 - statistics.low, statistics.high - 1
    return clip.loss(logprobs, old_logprobs, advantages, mask, clip_low=low, clip_high=high)
