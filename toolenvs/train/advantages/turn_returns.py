"""Turn-level credit: each turn is a sample of its own, worth its reward and the discounted rewards of later turns.

Kevin-32B (Baronio et al. 2025, "Kevin: multi-turn RL for generating CUDA kernels"), where turn_gamma is 0.4, and one
task's 16 episodes of 4 turns are normalised together. To be used with `seq-mean-token-sum-norm`.
"""

import torch
from torch import Tensor

from toolenvs.train.advantages._tokens import PolicyTokens

EPSILON = 1e-6


def estimate(rewards: Tensor, mask: Tensor, groups: Tensor, *, turns: Tensor, turn_gamma: float) -> Tensor:
    """R_k = sum_(i >= k) turn_gamma^(i - k) s_i on every token of turn k, where s_i is what turn i earned.

    Then (R - mean) / (std + 1e-6) over all turns of the group, each counted once; the deviation is the unbiased one.
    Turns in which the policy wrote no scored token earn nothing, and a turn alone in its group keeps its return.
    """
    tokens = PolicyTokens(mask)
    own, turn = tokens.gather(rewards), tokens.gather(turns).long()  # [B, P]
    count = int(turn.max()) + 1 if turn.numel() else 1
    scores = own.new_zeros(len(own), count).scatter_add(-1, turn, own)  # [B, K]: what each turn earned
    there = torch.zeros_like(scores, dtype=torch.bool).scatter_(-1, turn, tokens.real)
    # Padding was gathered as turn 0, which is the prompt's and has no policy token.
    there[:, 0] = False
    returns = torch.zeros_like(scores)
    running = scores.new_zeros(len(scores))
    for k in range(count - 1, -1, -1):
        running = scores[:, k] + turn_gamma * running
        returns[:, k] = running
    for group in torch.unique(groups):
        members = there & (groups == group)[:, None]
        chosen = returns[members]
        if len(chosen) > 1:
            returns[members] = (chosen - chosen.mean()) / (chosen.std() + EPSILON)
    return tokens.scatter(returns.gather(-1, turn))
