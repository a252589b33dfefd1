"""GAE: PPO's estimate with a critic, over the policy's tokens alone.

Schulman et al. 2016, "High-dimensional continuous control using generalized advantage estimation"; an observation is
skipped as in verl, which carries advantage and value over it unchanged.
"""

from torch import Tensor

from toolenvs.train.advantages._groups import whiten
from toolenvs.train.advantages._tokens import PolicyTokens, advantages_and_returns


def estimate(
    rewards: Tensor, mask: Tensor, groups: Tensor, *, values: Tensor, gamma: float, lam: float
) -> tuple[Tensor, Tensor]:
    """A_t = sum_i (gamma lam)^i delta_(t+i), whitened over the batch's policy tokens; targets A_t + V_t, unwhitened."""
    advantages, returns = advantages_and_returns(rewards, values, PolicyTokens(mask), gamma=gamma, lam=lam)
    return whiten(advantages, mask), returns
