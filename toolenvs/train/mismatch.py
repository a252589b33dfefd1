"""How far the engine's log-probabilities of a rollout lie from the trainer's, at the same weights.

Shapes: B sequences, T tokens.
"""

from torch import Tensor

from toolenvs.tokens import Mask
from toolenvs.train.losses import MAX_LOG_RATIO


def mismatch(trainer: Tensor, engine: Tensor, mask: Tensor) -> dict[str, float]:
    """The differences over all policy tokens, for the metrics; empty where there is none.

    Args:
        trainer: log-probabilities by the policy before the update, [B, T].
        engine: of the same tokens, as they were sampled, [B, T].
        mask: [B, T]; without the sequences that an earlier policy sampled, or behind another prompt.

    Returns:
        rollout_mismatch: mean absolute difference, in nats a token.
        rollout_mismatch_max: the largest one.
        rollout_kl: divergence of the trainer's policy from the engine's, estimated by k3 (Schulman): the mean of
            r - 1 - ln r with r = trainer over engine.
    """
    policy = mask == Mask.POLICY
    if not policy.any():
        return {}
    differences = (trainer - engine)[policy].double()
    logs = differences.clamp(-MAX_LOG_RATIO, MAX_LOG_RATIO)
    return {
        "rollout_mismatch": float(differences.abs().mean()),
        "rollout_mismatch_max": float(differences.abs().max()),
        "rollout_kl": float((logs.exp() - 1 - logs).mean()),
    }
