"""What group-wise estimators share: the return of each sequence, and statistics over its group.

Shapes: B sequences, T tokens.
"""

import torch
from torch import Tensor

from toolenvs.tokens import Mask


def sequence_returns(rewards: Tensor, mask: Tensor) -> Tensor:
    """Sum of each sequence's rewards over its policy tokens, [B]."""
    return torch.where(mask == Mask.POLICY, rewards, torch.zeros_like(rewards)).sum(-1)


def group_sizes(groups: Tensor) -> Tensor:
    """How many sequences share each sequence's group, [B]."""
    return _same_group(groups).sum(-1)


def group_mean(values: Tensor, groups: Tensor) -> Tensor:
    """The mean of `values` [B] over each sequence's group, [B]; 0 in a group of one, which has no baseline."""
    size = group_sizes(groups)
    return torch.where(size > 1, _group_sum(values, groups) / size, torch.zeros_like(values))


def group_std(values: Tensor, groups: Tensor) -> Tensor:
    """The unbiased standard deviation of `values` [B] over each sequence's group, [B]; 1 in a group of one."""
    size = group_sizes(groups)
    squares = _group_sum((values - group_mean(values, groups)).square(), groups)
    return torch.where(size > 1, (squares / (size - 1).clamp(min=1)).sqrt(), torch.ones_like(values))


def _same_group(groups: Tensor) -> Tensor:
    """Which sequences share a group, bool [B, B]."""
    return groups[:, None] == groups[None, :]


def _group_sum(values: Tensor, groups: Tensor) -> Tensor:
    """The sum of `values` [B] over each sequence's group, [B]."""
    return torch.where(_same_group(groups), values, torch.zeros_like(values)).sum(-1)


def broadcast(per_sequence: Tensor, mask: Tensor) -> Tensor:
    """Each sequence's value [B] on all of its policy tokens, 0 elsewhere, [B, T]."""
    return per_sequence[:, None] * (mask == Mask.POLICY).to(per_sequence.dtype)


def whiten(values: Tensor, mask: Tensor, epsilon: float = 1e-8) -> Tensor:
    """Values [B, T] with mean 0 and unbiased variance 1 over all policy tokens, 0 elsewhere."""
    policy = mask == Mask.POLICY
    chosen = values[policy]
    variance = chosen.var() if len(chosen) > 1 else torch.zeros((), dtype=values.dtype, device=values.device)
    whitened = (values - chosen.mean()) * torch.rsqrt(variance + epsilon)
    return torch.where(policy, whitened, torch.zeros_like(whitened))
