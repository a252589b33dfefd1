"""RLOO: the return against the mean of the others in its group.

Ahmadian et al. 2024, "Back to basics".
"""

from torch import Tensor

from toolenvs.train.advantages._groups import broadcast, group_mean, group_sizes, sequence_returns


def estimate(rewards: Tensor, mask: Tensor, groups: Tensor) -> Tensor:
    """G / (G - 1) * (R - mean) on every policy token, which is R - mean of the others; a group of one keeps its R."""
    returns = sequence_returns(rewards, mask)
    size = group_sizes(groups).to(returns.dtype)
    scale = size / (size - 1).clamp(min=1)
    return broadcast(scale * (returns - group_mean(returns, groups)), mask)
