"""Estimates of the divergence between policy and reference per token, from samples.

Shapes: B sequences, T tokens. With d = log p - log p_ref and w = exp(d):

    k1          d                       Schulman 2020, "Approximating KL divergence"; unbiased for KL(p || p_ref)
    abs         |d|                     verl's
    k2          d^2 / 2                 biased in value, but its gradient is the unbiased one
    k3          exp(-d) - 1 + d         unbiased in value, never negative: GRPO's
    k3+         value of k3, gradient of k2, straight through: verl's

k1's expected gradient is zero, so k1 belongs into the reward. And for samples of the reference (or of a policy that is
refreshed into it every step), the losses of Zhang et al. 2025, "On the design of KL-regularized policy gradient
algorithms for LLM reasoning", whose gradient is that of the named divergence:

    rpg-forward                 -log w                      KL(p_ref || p)
    rpg-reverse                 w log w                     KL(p || p_ref)
    rpg-unnormalised-forward    w - log w - 1
    rpg-unnormalised-reverse    w (log w - 1) + 1
    rpg-js                      (w log w - log w) / 2       Jeffreys' divergence, halved; "JS" in RPG's code
"""

from collections.abc import Callable

import torch
from torch import Tensor

from toolenvs.errors import ConfigError, did_you_mean
from toolenvs.tokens import Mask
from toolenvs.train.losses import MAX_LOG_RATIO

MAX_RPG = 10.0
"""Bound of RPG's estimates, as in its code; "rpg-forward" has none there."""


def _k1(d: Tensor) -> Tensor:
    return d


def _k2(d: Tensor) -> Tensor:
    return d.square() / 2


def _k3(d: Tensor) -> Tensor:
    backward = (-d).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    return torch.expm1(backward) - backward


def _k3_straight_through(d: Tensor) -> Tensor:
    return _k3(d.detach()) + _k2(d) - _k2(d.detach())


def _reverse(d: Tensor) -> Tensor:
    return (_ratio(d) * d).clamp(-MAX_RPG, MAX_RPG)


def _unnormalised_forward(d: Tensor) -> Tensor:
    return (_ratio(d) - d - 1).clamp(-MAX_RPG, MAX_RPG)


def _unnormalised_reverse(d: Tensor) -> Tensor:
    return (_ratio(d) * (d - 1) + 1).clamp(-MAX_RPG, MAX_RPG)


def _js(d: Tensor) -> Tensor:
    return ((_ratio(d) * d - d) / 2).clamp(-MAX_RPG, MAX_RPG)


def _ratio(d: Tensor) -> Tensor:
    return d.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO).exp()


FORMS: dict[str, Callable[[Tensor], Tensor]] = {
    "k1": _k1,
    "k2": _k2,
    "k3": _k3,
    "k3+": _k3_straight_through,
    "abs": torch.abs,
    "rpg-forward": torch.neg,
    "rpg-reverse": _reverse,
    "rpg-unnormalised-forward": _unnormalised_forward,
    "rpg-unnormalised-reverse": _unnormalised_reverse,
    "rpg-js": _js,
}


def kl_per_token(logprobs: Tensor, reference_logprobs: Tensor, mask: Tensor, form: str) -> Tensor:
    """The estimate at each policy token, 0 where the mask is not 1, [B, T].

    Raises:
        ConfigError: the form is unknown.
    """
    if form not in FORMS:
        raise ConfigError(f"unknown KL form {form!r}; {did_you_mean(form, FORMS)}")
    difference = torch.where(mask == Mask.POLICY, logprobs - reference_logprobs, torch.zeros_like(logprobs))
    return FORMS[form](difference)
