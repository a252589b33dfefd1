"""REINFORCE with a truncated importance weight.

Ionides 2008, "Truncated importance sampling"; as a policy loss in Roux et al. 2025, "Tapered off-policy REINFORCE".
"""

from torch import Tensor

from toolenvs.train.policy_losses._surrogate import PolicyLoss, at_policy, log_ratio_of, result


def loss(logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, mask: Tensor) -> PolicyLoss:
    """-sg(min(r, 1)) A log p."""
    ratio = log_ratio_of(logprobs, old_logprobs, mask).exp().detach()
    weight = ratio.clamp(max=1)
    return result(-weight * at_policy(mask, advantages) * at_policy(mask, logprobs), ratio, ratio > 1, mask)
