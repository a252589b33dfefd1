"""Pass@k: only the best of a group is credited, with its lead over the second best.

Walder and Karkhanis 2025, "Pass@K policy optimization", in the form that verl has.
"""

import torch
from torch import Tensor

from toolenvs.train.advantages._groups import broadcast, sequence_returns


def estimate(rewards: Tensor, mask: Tensor, groups: Tensor) -> Tensor:
    """R_max - R_second on the best of each group, the first of equals; 0 on all others and in a group of one."""
    returns = sequence_returns(rewards, mask)
    lead = torch.zeros_like(returns)
    for group in torch.unique(groups):
        members = torch.nonzero(groups == group)[:, 0]
        if len(members) > 1:
            best = returns[members].topk(2).values
            lead[members[returns[members].argmax()]] = best[0] - best[1]
    return broadcast(lead, mask)
