"""TOPR: what was good is imitated as it is, what was bad is unlearned only as far as the policy would still do it.

Roux et al. 2025, "Tapered off-policy REINFORCE". The sign is the advantage's.
"""

import torch
from torch import Tensor

from toolenvs.train.policy_losses._surrogate import PolicyLoss, at_policy, log_ratio_of, result


def loss(logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, mask: Tensor) -> PolicyLoss:
    """-A log p where A > 0, -sg(min(r, 1)) A log p elsewhere."""
    ratio = log_ratio_of(logprobs, old_logprobs, mask).exp().detach()
    advantages = at_policy(mask, advantages)
    weight = torch.where(advantages > 0, torch.ones_like(ratio), ratio.clamp(max=1))
    return result(-weight * advantages * at_policy(mask, logprobs), ratio, weight != ratio, mask)
