"""The policy's entropy collapses while tasks are unsolved, or it explodes.

The fall is DAPO's reason for clip-higher (Yu et al. 2025, section 3.1) and one of RAGEN's signs of a collapse; the rise
to noise is seen where off-policy or faulty updates break a policy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolenvs.train.monitors._series import beginning, lately, series, solved


@dataclass(frozen=True, slots=True)
class Options:
    """Thresholds."""

    fall: float = 0.1
    """Share of the first steps' entropy below which it warns."""
    rise: float = 3.0
    """Multiple of the first steps' entropy above which it warns."""
    noise: float = 0.5
    """Nats a token below which a rise is none."""
    solved: float = 0.8
    """Success from which on a low entropy is what one wants."""
    window: int = 5
    """Steps that are averaged."""


class Monitor:
    """See the module."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def __call__(self, lines: Sequence[Mapping[str, Any]]) -> str | None:
        """As of any monitor."""
        options = self.options
        values = series(lines, "entropy")
        first, now = beginning(values, options.window), lately(values, options.window)
        if first is None or now is None:
            return None
        told = f"{now:.3g} nats a token, {first:.3g} at the beginning"
        if now < options.fall * first and not solved(lines, options.window, options.solved):
            return (
                f"The policy's entropy has collapsed ({told}), though the tasks are not solved: it hardly tries "
                "anything else; try a higher clip_high (0.28), an entropy_coef of 0.001, or kl_coef = 0.001."
            )
        if now > max(options.rise * first, options.noise):
            return (
                f"The policy's entropy has risen to noise ({told}): try a lower lr, fewer updates of one rollout "
                "(mini_batches, epochs), or recompute_logprobs = true."
            )
        return None
