"""What token-wise estimators share: a view of each sequence in which only the policy's tokens exist.

Shapes: B sequences, T tokens, P policy tokens of the sequence that has most.

Observations between two policy tokens are thereby skipped: they are no actions, so nothing is discounted over them, and
the token after one follows directly on the token before it.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from toolenvs.tokens import Mask


class PolicyTokens:
    """Gathers the policy's tokens to the left, and puts what was found for them back.

    Args:
        mask: of the batch, [B, T].
    """

    def __init__(self, mask: Tensor) -> None:
        policy = mask == Mask.POLICY
        self.lengths = policy.sum(-1)
        """Policy tokens of each sequence, [B]."""
        width = int(self.lengths.max()) if len(mask) else 0
        order = torch.argsort((~policy).to(torch.int8), dim=-1, stable=True)
        self._columns = order[:, :width]  # [B, P]: where each policy token stood
        self.real = torch.arange(width, device=mask.device) < self.lengths[:, None]
        """Whether there is a token, bool [B, P]."""
        self._shape = mask.shape

    def gather(self, values: Tensor) -> Tensor:
        """Values [B, T] of the policy's tokens, 0 behind the last, [B, P]."""
        found = values.gather(-1, self._columns)
        return torch.where(self.real, found, torch.zeros_like(found))

    def scatter(self, values: Tensor) -> Tensor:
        """Values [B, P] where their tokens stand, 0 elsewhere, [B, T]."""
        placed = torch.zeros(self._shape, dtype=values.dtype, device=values.device)
        return placed.scatter(-1, self._columns, torch.where(self.real, values, torch.zeros_like(values)))


def discounted_sums(values: Tensor, discount: Tensor | float, gate: Callable[[int], Tensor] | None = None) -> Tensor:
    """S_t = values_t + discount * S_(t+1) along the last dimension, [B, P].

    Args:
        values: [B, P].
        discount: one for all, or one for each sequence, [B].
        gate: of a column, whether the sum behind it still counts, bool [B]; by default it always does.
    """
    sums = torch.zeros_like(values)
    running = torch.zeros_like(values[:, 0]) if values.shape[1] else values.new_zeros(len(values))
    for column in range(values.shape[1] - 1, -1, -1):
        if gate is not None:
            running = torch.where(gate(column), running, torch.zeros_like(running))
        running = values[:, column] + discount * running
        sums[:, column] = running
    return sums


def advantages_and_returns(
    rewards: Tensor, values: Tensor, tokens: PolicyTokens, *, gamma: float, lam: Tensor | float
) -> tuple[Tensor, Tensor]:
    """Generalised advantage estimation over the policy's tokens (Schulman et al. 2016), and advantage + value.

    delta_t = r_t + gamma V_(t+1) - V_t,  A_t = delta_t + gamma lam A_(t+1),  V = 0 behind the last policy token.

    Args:
        rewards: [B, T].
        values: [B, T].
        tokens: of the batch.
        gamma: discount.
        lam: lambda, one for all or one for each sequence, [B].

    Returns:
        Both [B, T], 0 where the mask is not 1.
    """
    own, value = tokens.gather(rewards), tokens.gather(values)  # [B, P]
    following = torch.nn.functional.pad(value[:, 1:], (0, 1))
    advantages = discounted_sums(own + gamma * following - value, gamma * lam)
    return tokens.scatter(advantages), tokens.scatter(advantages + value)
