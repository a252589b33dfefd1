"""Estimates of KL(policy || reference) per token, from samples of the policy.

Shapes: B sequences, T tokens. With d = logprobs - reference: k1 = d, k2 = d^2 / 2, k3 = exp(-d) - 1 + d (Schulman 2020,
"Approximating KL divergence"). k1 and k3 are unbiased in value; as a loss, k2's gradient is the unbiased one, and k1's
expected gradient is zero, so k1 belongs into the reward.
"""

import torch
from torch import Tensor

from toolenvs.errors import ConfigError, did_you_mean
from toolenvs.tokens import Mask
from toolenvs.train.losses import MAX_LOG_RATIO

ESTIMATORS = ("k1", "k2", "k3")


def kl_per_token(logprobs: Tensor, reference_logprobs: Tensor, mask: Tensor, estimator: str) -> Tensor:
    """The estimate at each policy token, 0 where the mask is not 1, [B, T].

    Raises:
        ConfigError: the estimator is unknown.
    """
    difference = torch.where(mask == Mask.POLICY, logprobs - reference_logprobs, torch.zeros_like(logprobs))
    match estimator:
        case "k1":
            return difference
        case "k2":
            return difference.square() / 2
        case "k3":
            backward = (-difference).clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
            return torch.expm1(backward) - backward
    raise ConfigError(f"unknown KL estimator {estimator!r}; {did_you_mean(estimator, ESTIMATORS)}")
