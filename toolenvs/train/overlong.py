"""DAPO's two ways with responses that are too long: a fine that grows with the length, and to leave them out.

Shapes: B sequences, T tokens.
"""

import torch
from torch import Tensor

from toolenvs.errors import ConfigError
from toolenvs.tokens import Mask


def overlong_penalty(mask: Tensor, *, max_tokens: int, cache_tokens: int, factor: float = 1.0) -> Tensor:
    """What a long response is fined, on its last policy token, [B, T].

    With |y| policy tokens and L = max_tokens - cache_tokens: 0 up to L, then falling by `factor` over the cache,
    (L - |y|) / cache_tokens, and -factor from max_tokens on (Yu et al. 2025, "DAPO", soft overlong punishment).

    Raises:
        ConfigError: the cache is empty or larger than the limit.
    """
    if not 0 < cache_tokens <= max_tokens:
        raise ConfigError(f"overlong_cache_tokens must be in [1, {max_tokens}], the limit itself; got {cache_tokens}")
    policy = mask == Mask.POLICY
    lengths = policy.sum(-1)  # [B]
    fine = factor * ((max_tokens - cache_tokens - lengths) / cache_tokens).clamp(-1, 0)  # [B]
    counted = policy.cumsum(-1)
    last = policy & (counted == lengths[:, None])
    return torch.where(last, fine[:, None], torch.zeros((), dtype=fine.dtype, device=fine.device))


def without_overlong(mask: Tensor, cut_short: Tensor) -> Tensor:
    """The mask with nothing to learn in sequences that a length limit cut, [B, T] (DAPO's overlong filtering).

    Their returns still count in their groups' statistics: apply this behind the estimator.
    """
    silenced = cut_short[:, None] & (mask == Mask.POLICY)
    return mask.masked_fill(silenced, Mask.UNSCORED)
