"""GRPO: the return against its group's mean, in units of its group's standard deviation.

Shao et al. 2024, "DeepSeekMath". The deviation is the unbiased one, as in verl.
"""

from torch import Tensor

from toolenvs.train.advantages._groups import broadcast, group_mean, group_std, sequence_returns

EPSILON = 1e-6


def estimate(rewards: Tensor, mask: Tensor, groups: Tensor) -> Tensor:
    """(R - mean) / (std + 1e-6) on every policy token; a group of one keeps its return."""
    returns = sequence_returns(rewards, mask)
    spread = group_std(returns, groups)
    return broadcast((returns - group_mean(returns, groups)) / (spread + EPSILON), mask)
