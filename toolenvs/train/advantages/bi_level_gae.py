"""Bi-level GAE: credit first from turn to turn, then from token to token within each turn.

RAGEN / StarPO-S (Wang et al. 2025, "RAGEN: understanding self-evolution in LLM agents via multi-turn RL"). The episode
is a decision process of turns, each worth its critic value at its last token; within a turn the tokens are one of their
own, paid at its end with what the turn was found to be worth. RAGEN takes the tokens with a reward for the ends of
turns, so that a turn that earned exactly 0 runs into the next; here the transcript says where turns end.
"""

import torch
from torch import Tensor

from toolenvs.train.advantages._groups import whiten
from toolenvs.train.advantages._tokens import PolicyTokens, discounted_sums


def estimate(
    rewards: Tensor,
    mask: Tensor,
    groups: Tensor,
    *,
    turns: Tensor,
    values: Tensor,
    gamma: float,
    lam: float,
    turn_gamma: float,
) -> tuple[Tensor, Tensor]:
    """Two sweeps; advantages whitened over policy tokens, targets advantage + value before that.

    Turn k, with reward R_k and value V_k at its last policy token:

        D_k = R_k + turn_gamma V_(k+1) - V_k,   A_k = D_k + turn_gamma lam A_(k+1)

    Within the turn, its last token is paid A_k + V_k, every other one what it earned itself:

        d_t = r_t + gamma V_(t+1) - V_t,        A_t = d_t + gamma lam A_(t+1)

    and nothing is carried beyond the turn's last token.
    """
    tokens = PolicyTokens(mask)
    own, value, turn = tokens.gather(rewards), tokens.gather(values), tokens.gather(turns)  # [B, P]
    beyond = torch.nn.functional.pad(turn[:, 1:], (0, 1), value=-1)
    last = tokens.real & ((turn != beyond) | ~torch.nn.functional.pad(tokens.real[:, 1:], (0, 1)))  # [B, P]

    # The turn's sweep stands on the turns' last tokens; all others let what comes from behind through.
    paid = torch.zeros_like(own)
    next_value, next_advantage = value.new_zeros(len(value)), value.new_zeros(len(value))
    for column in range(value.shape[1] - 1, -1, -1):
        here = last[:, column]
        found = own[:, column] + turn_gamma * (next_value + lam * next_advantage) - value[:, column]
        paid[:, column] = torch.where(here, found + value[:, column], own[:, column])
        next_advantage = torch.where(here, found, next_advantage)
        next_value = torch.where(here, value[:, column], next_value)

    following = torch.where(last, torch.zeros_like(value), torch.nn.functional.pad(value[:, 1:], (0, 1)))
    advantages = discounted_sums(paid + gamma * following - value, gamma * lam, lambda column: ~last[:, column])
    return whiten(tokens.scatter(advantages), mask), tokens.scatter(advantages + value)
