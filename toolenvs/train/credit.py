"""Which token is credited with what: the estimator of a run, fed with one row an episode."""

from dataclasses import dataclass

from torch import Tensor

from toolenvs.train.advantages import Estimate, estimate
from toolenvs.train.batching import Batch
from toolenvs.train.episodes import EpisodeRows


@dataclass(frozen=True, kw_only=True)
class CreditSettings:
    """How advantages are estimated."""

    estimator: str = "grpo"
    """How advantages are estimated: a file in toolenvs/train/advantages."""
    gamma: float = 1.0
    """Discount from token to token, for estimators that look ahead."""
    lam: float = 1.0
    """Lambda of GAE."""
    critic_lam: float = 1.0
    """Lambda of the critic's targets in decoupled GAE; 1 is the Monte-Carlo return."""
    turn_gamma: float = 1.0
    """Discount from turn to turn, for estimators that know turns."""
    length_alpha: float = 0.05
    """VAPO's alpha: lambda is 1 - 1 / (alpha * policy tokens)."""


def assign_credit(settings: CreditSettings, batch: Batch, values: Tensor | None = None) -> Estimate:
    """Advantages, and the critic's targets where there are `values`; all [B, T].

    Raises:
        ConfigError: there is no such estimator, or it needs a critic and there are no `values`.
    """
    rows = EpisodeRows(batch)
    found = estimate(
        settings.estimator,
        rows.join(batch.rewards),
        rows.join(batch.mask),
        rows.groups,
        turns=rows.join(batch.turns),
        nodes=rows.join(batch.nodes),
        values=None if values is None else rows.join(values),
        gamma=settings.gamma,
        lam=settings.lam,
        critic_lam=settings.critic_lam,
        turn_gamma=settings.turn_gamma,
        length_alpha=settings.length_alpha,
    )
    return Estimate(rows.split(found.advantages), None if found.returns is None else rows.split(found.returns))
