"""VAPO: GAE with one lambda for the critic and another, which grows with the response, for the policy.

Yue et al. 2025, "VAPO: efficient and reliable RL for advanced reasoning tasks". The critic learns from Monte-Carlo
returns (critic_lam 1), so that a reward at the end reaches a first token undiminished; the policy's lambda keeps
variance low in short responses and bias low in long ones.
"""

import torch
from torch import Tensor

from toolenvs.train.advantages._groups import whiten
from toolenvs.train.advantages._tokens import PolicyTokens, advantages_and_returns


def length_adaptive_lambda(lengths: Tensor, length_alpha: float) -> Tensor:
    """1 - 1 / (alpha l), held within [0, 1]: with alpha 0.05 it is 0 up to 20 tokens; lengths in policy tokens, [B]."""
    return (1 - 1 / (length_alpha * lengths.clamp(min=1).to(torch.float64))).clamp(0, 1)


def estimate(
    rewards: Tensor,
    mask: Tensor,
    groups: Tensor,
    *,
    values: Tensor,
    gamma: float,
    critic_lam: float,
    length_alpha: float,
) -> tuple[Tensor, Tensor]:
    """GAE at lambda 1 - 1 / (alpha l), whitened over policy tokens; targets by GAE at `critic_lam`."""
    tokens = PolicyTokens(mask)
    lam = length_adaptive_lambda(tokens.lengths, length_alpha).to(rewards.dtype)
    advantages, _ = advantages_and_returns(rewards, values, tokens, gamma=gamma, lam=lam)
    _, returns = advantages_and_returns(rewards, values, tokens, gamma=gamma, lam=critic_lam)
    return whiten(advantages, mask), returns
