"""Importance weights between the trainer's policy and the engine that sampled, so that neither's rounding biases
training.

Three policies: mu, the engine at the version that sampled; p_old, the trainer at the same version; p, the one in
training. The ideal ratio is (p_old / mu) (p / p_old). The second factor is the policy loss's, which clips it; the first
one is cut or masked here, carries no gradient, and multiplies the loss. Decoupled PPO (Hilton et al. 2022; AReaL,
ASearcher) is the same with the proximal policy in place of p_old.

Shapes: B sequences, T tokens. c = p_old / mu per token:

    token-cap           min(c, cap): truncated importance sampling (Yao et al. 2025, "Your efficient RL framework
                        secretly brings you off-policy training")
    token-mask          c where 1 / cap <= c <= cap, else 0: a token out of bounds is not learned from
    sequence-cap        min(product of c over the sequence, cap)
    sequence-mask       that product where it is at most cap, else 0

and whole sequences that may be rejected by `reject`: "floor" where any c is below 1e-4, "geometric" where the geometric
mean of c leaves [1 - window, 1 + window], "product" where the product leaves [1 / (1 + window), 1 + window].
"""

from collections.abc import Callable

import torch
from torch import Tensor

from toolenvs.errors import ConfigError, did_you_mean
from toolenvs.tokens import Mask
from toolenvs.train.losses import MAX_LOG_RATIO

FLOOR = 1e-4
"""A token ratio below this rejects its sequence."""


def _token_cap(log_weights: Tensor, cap: float) -> Tensor:
    return log_weights.exp().clamp(max=cap)


def _token_mask(log_weights: Tensor, cap: float) -> Tensor:
    weights = log_weights.exp()
    return torch.where((weights <= cap) & (weights >= 1 / cap), weights, torch.zeros_like(weights))


def _sequence_cap(log_weights: Tensor, cap: float) -> Tensor:
    return _product(log_weights).clamp(max=cap).expand_as(log_weights)


def _sequence_mask(log_weights: Tensor, cap: float) -> Tensor:
    product = _product(log_weights)
    return torch.where(product <= cap, product, torch.zeros_like(product)).expand_as(log_weights)


def _product(log_weights: Tensor) -> Tensor:
    """[B, 1]."""
    return log_weights.sum(-1, keepdim=True).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp()


FORMS: dict[str, Callable[[Tensor, float], Tensor]] = {
    "token-cap": _token_cap,
    "token-mask": _token_mask,
    "sequence-cap": _sequence_cap,
    "sequence-mask": _sequence_mask,
}
REJECTIONS = ("none", "floor", "geometric", "product")


def sampling_correction(
    old_logprobs: Tensor,
    sampled_logprobs: Tensor,
    mask: Tensor,
    *,
    cap: float,
    form: str = "token-cap",
    reject: str = "none",
    window: float = 0.001,
) -> Tensor:
    """Weights of the loss at each policy token, 1 where the mask is not 1, [B, T]; they carry no gradient.

    Raises:
        ConfigError: the form or the rejection is unknown.
    """
    if form not in FORMS:
        raise ConfigError(f"unknown sampling correction {form!r}; {did_you_mean(form, FORMS)}")
    if reject not in REJECTIONS:
        raise ConfigError(f"unknown rejection {reject!r}; {did_you_mean(reject, REJECTIONS)}")
    policy = mask == Mask.POLICY
    zero = torch.zeros((), dtype=old_logprobs.dtype, device=old_logprobs.device)
    log_weights = torch.where(policy, old_logprobs - sampled_logprobs, zero).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    weights = FORMS[form](log_weights, cap)
    kept = _kept(log_weights, policy, reject, window)[:, None]
    weights = torch.where(kept, weights, torch.zeros_like(weights))
    return torch.where(policy, weights, torch.ones_like(weights)).detach()


def _kept(log_weights: Tensor, policy: Tensor, reject: str, window: float) -> Tensor:
    """Which sequences are not rejected, bool [B]."""
    match reject:
        case "floor":
            return log_weights.exp().amin(-1) >= FLOOR
        case "geometric":
            mean = (log_weights.sum(-1) / policy.sum(-1).clamp(min=1)).exp()
            return (mean >= 1 - window) & (mean <= 1 + window)
        case "product":
            product = _product(log_weights)[:, 0]
            return (product >= 1 / (1 + window)) & (product <= 1 + window)
    return torch.ones(len(log_weights), dtype=torch.bool, device=log_weights.device)
