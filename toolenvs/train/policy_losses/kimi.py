"""Kimi k1.5's loss: the advantage's gradient, and a quadratic pull towards the policy that sampled.

Kimi Team 2025, "Kimi k1.5: scaling reinforcement learning with LLMs"; tau is 0.1 in ROLL.
"""

from torch import Tensor

from toolenvs.train.policy_losses._surrogate import PolicyLoss, at_policy, log_ratio_of, result

TAU = 0.1


def loss(logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, mask: Tensor) -> PolicyLoss:
    """-A log p + tau / 2 (log p - log p_old)^2."""
    log_ratio = log_ratio_of(logprobs, old_logprobs, mask)
    values = -at_policy(mask, advantages) * at_policy(mask, logprobs) + TAU / 2 * log_ratio.square()
    return result(values, log_ratio.exp(), log_ratio.new_zeros(log_ratio.shape), mask)
