"""Lite PPO: the return against its group's mean, in units of the whole batch's standard deviation.

Liu et al. 2025, "Tricks or traps? A deep dive into RL for LLM reasoning"; to be used with `token-mean`.
"""

from torch import Tensor

from toolenvs.train.advantages._groups import broadcast, group_mean, sequence_returns

EPSILON = 1e-6


def estimate(rewards: Tensor, mask: Tensor, groups: Tensor) -> Tensor:
    """(R - group mean) / (std of R over the batch + 1e-6) on every policy token; a batch of one has spread 1."""
    returns = sequence_returns(rewards, mask)
    spread = returns.std() + EPSILON if len(returns) > 1 else 1.0
    return broadcast((returns - group_mean(returns, groups)) / spread, mask)
