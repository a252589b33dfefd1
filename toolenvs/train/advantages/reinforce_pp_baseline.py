"""REINFORCE++ with baseline: the return against its group's mean, whitened over the batch.

Hu et al. 2025, "REINFORCE++", the variant for groups. Whitening is over policy tokens, so long sequences weigh more.
"""

from torch import Tensor

from toolenvs.train.advantages._groups import broadcast, group_mean, sequence_returns, whiten


def estimate(rewards: Tensor, mask: Tensor, groups: Tensor) -> Tensor:
    """R - mean on every policy token, then mean 0 and variance 1 over all policy tokens of the batch."""
    returns = sequence_returns(rewards, mask)
    return whiten(broadcast(returns - group_mean(returns, groups), mask), mask)
