"""CISPO: REINFORCE with the importance weight cut, not the gradient.

MiniMax 2025, "MiniMax-M1"; RAPID has the same form with PPO's bounds. A token outside the bounds is still learned from.
"""

from torch import Tensor

from toolenvs.train.policy_losses._surrogate import PolicyLoss, at_policy, log_ratio_of, result


def loss(
    logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, mask: Tensor, *, clip_low: float, clip_high: float
) -> PolicyLoss:
    """-sg(clip(r, 1 - clip_low, 1 + clip_high)) A log p; the weight carries no gradient."""
    ratio = log_ratio_of(logprobs, old_logprobs, mask).exp().detach()
    weight = ratio.clamp(1 - clip_low, 1 + clip_high)
    return result(-weight * at_policy(mask, advantages) * at_policy(mask, logprobs), ratio, weight != ratio, mask)
