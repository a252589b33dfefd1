"""REINFORCE++: the discounted reward still to come at each token, whitened over the batch; no group, no critic.

Hu et al. 2025, "REINFORCE++: an efficient RLHF algorithm with robustness to both prompt and reward models"; to be used
with the k1 divergence in the reward. verl starts anew behind each observation; here observations are skipped.
"""

from torch import Tensor

from toolenvs.train.advantages._groups import whiten
from toolenvs.train.advantages._tokens import PolicyTokens, discounted_sums


def estimate(rewards: Tensor, mask: Tensor, groups: Tensor, *, gamma: float) -> Tensor:
    """G_t = r_t + gamma G_(t+1) over policy tokens, then mean 0 and variance 1 over all of them."""
    tokens = PolicyTokens(mask)
    return whiten(tokens.scatter(discounted_sums(tokens.gather(rewards), gamma)), mask)
