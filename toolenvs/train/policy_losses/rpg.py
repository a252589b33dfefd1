"""RPG's REINFORCE form: policy gradient regularised by a divergence from the policy that sampled, weights included.

Zhang et al. 2025, "On the design of KL-regularized policy gradient algorithms for LLM reasoning". GRPO's k3 penalty
lacks the importance weight once updates are off-policy; here the weight of each divergence's gradient stands in the
coefficient. The reference is the policy at the beginning of the update. To be used with `dr_grpo`'s advantages.
"""

import torch
from torch import Tensor

from toolenvs.errors import ConfigError, did_you_mean
from toolenvs.train.policy_losses._surrogate import PolicyLoss, at_policy, log_ratio_of, result

FORMS = ("rpg-forward", "rpg-reverse", "rpg-unnormalised-forward", "rpg-unnormalised-reverse")


def loss(
    logprobs: Tensor,
    old_logprobs: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    clip_low: float,
    clip_high: float,
    kl_coef: float,
    kl_form: str,
) -> PolicyLoss:
    """-sg(A r + term) log p, with r cut to [1 - clip_low, 1 + clip_high] in both.

    term = b                     forward
           -b r (log r + 1)      reverse
           b (1 - r)             unnormalised forward
           -b r log r            unnormalised reverse,       b = kl_coef

    Raises:
        ConfigError: `kl_form` is none of these.
    """
    free = log_ratio_of(logprobs, old_logprobs, mask).exp().detach()
    ratio = free.clamp(1 - clip_low, 1 + clip_high)
    match kl_form:
        case "rpg-forward":
            term = torch.ones_like(ratio)
        case "rpg-reverse":
            term = -ratio * (ratio.log() + 1)
        case "rpg-unnormalised-forward":
            term = 1 - ratio
        case "rpg-unnormalised-reverse":
            term = -ratio * ratio.log()
        case _:
            raise ConfigError(f"policy loss 'rpg' knows no KL form {kl_form!r}; {did_you_mean(kl_form, FORMS)}")
    coefficient = at_policy(mask, advantages) * ratio + kl_coef * term
    return result(-coefficient * at_policy(mask, logprobs), free, ratio != free, mask)
