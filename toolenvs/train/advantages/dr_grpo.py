"""Dr. GRPO: the return against its group's mean, without the division that favours prompts of small spread.

Liu et al. 2025, "Understanding R1-Zero-like training"; to be used with the aggregation `seq-mean-token-sum-norm`.
"""

from torch import Tensor

from toolenvs.train.advantages._groups import broadcast, group_mean, sequence_returns


def estimate(rewards: Tensor, mask: Tensor, groups: Tensor) -> Tensor:
    """R - mean on every policy token; a group of one keeps its return."""
    returns = sequence_returns(rewards, mask)
    return broadcast(returns - group_mean(returns, groups), mask)
