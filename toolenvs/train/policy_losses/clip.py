"""PPO's clipped surrogate, with DAPO's two bounds and the dual clip.

Schulman et al. 2017, "Proximal policy optimization algorithms"; Yu et al. 2025, "DAPO" (clip-higher: a larger upper
bound, so that rare tokens can become likely); Ye et al. 2020, "Mastering complex control in MOBA games" (dual clip: a
token that has become likely since, and is blamed, cannot dominate a batch).
"""

import torch
from torch import Tensor

from toolenvs.errors import ConfigError
from toolenvs.train.policy_losses._surrogate import PolicyLoss, at_policy, log_ratio_of, result


def loss(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    clip_low: float = 0.2,
    clip_high: float = 0.2,
    dual_clip: float | None = None,
) -> PolicyLoss:
    """-min(r A, clip(r, 1 - clip_low, 1 + clip_high) A), r = p / p_old; where A < 0 at most -dual_clip A.

    Raises:
        ConfigError: `dual_clip` is not above 1.
    """
    if dual_clip is not None and dual_clip <= 1:
        raise ConfigError(f"dual_clip must be above 1, where the ratio starts from; got {dual_clip}")
    ratio = log_ratio_of(logprobs, old_logprobs, mask).exp()
    advantages = at_policy(mask, advantages)
    free = -advantages * ratio
    held = -advantages * ratio.clamp(1 - clip_low, 1 + clip_high)
    bounded = torch.maximum(free, held)
    clipped = held > free
    if dual_clip is not None:
        ceiling = torch.where(advantages < 0, -advantages * dual_clip, torch.inf)
        clipped |= bounded > ceiling
        bounded = torch.minimum(bounded, ceiling)
    return result(bounded, ratio, clipped, mask)
