"""What the losses share: the log-ratio at policy tokens, and the result."""

from dataclasses import dataclass

import torch
from torch import Tensor

from toolenvs.tokens import Mask
from toolenvs.train.losses import MAX_LOG_RATIO


@dataclass(frozen=True, slots=True)
class PolicyLoss:
    """A loss per token, and what its clip did; all [B, T], all 0 where the mask is not 1."""

    loss: Tensor
    """To be minimised."""
    ratio: Tensor
    """Current over old probability; carries no gradient."""
    clipped: Tensor
    """1 where a clip cut the gradient or an importance weight."""


def at_policy(mask: Tensor, values: Tensor) -> Tensor:
    """The values at policy tokens and 0 elsewhere; a NaN elsewhere leaves no trace, in the gradient neither."""
    return torch.where(mask == Mask.POLICY, values, torch.zeros((), dtype=values.dtype, device=values.device))


def log_ratio_of(logprobs: Tensor, old_logprobs: Tensor, mask: Tensor) -> Tensor:
    """log(p / p_old) within a bound that `exp` survives, 0 where the mask is not 1, [B, T]."""
    return at_policy(mask, logprobs - old_logprobs).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)


def result(loss: Tensor, ratio: Tensor, clipped: Tensor, mask: Tensor) -> PolicyLoss:
    """Everything at policy tokens alone."""
    return PolicyLoss(at_policy(mask, loss), at_policy(mask, ratio.detach()), at_policy(mask, clipped.to(loss.dtype)))
