"""OPO: the return against its group's mean weighted by length, which is the baseline of least variance.

Hao et al. 2025, "On-policy RL with optimal reward baseline".
"""

from torch import Tensor

from toolenvs.tokens import Mask
from toolenvs.train.advantages._groups import broadcast, group_mean, sequence_returns


def estimate(rewards: Tensor, mask: Tensor, groups: Tensor) -> Tensor:
    """R - sum(length * R) / sum(length) on every policy token; length in policy tokens; a group of one keeps its R."""
    returns = sequence_returns(rewards, mask)
    length = (mask == Mask.POLICY).sum(-1).to(returns.dtype)
    baseline = group_mean(length * returns, groups) / group_mean(length, groups).clamp(min=1)
    return broadcast(returns - baseline, mask)
