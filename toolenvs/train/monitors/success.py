"""Success has fallen far below what it once was, or below what the policy could before it was trained.

So ended many GRPO runs of Search-R1's public code, around step 60 to 600 (their issues 88, 89 and 92); their paper
scores the last checkpoint before it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from toolenvs.train.monitors._series import series


@dataclass(frozen=True, slots=True)
class Options:
    """Thresholds."""

    fall: float = 0.5
    """Share of the best mean so far below which it warns."""
    start: float = 0.25
    """Share of the held-out success before the first step below which it warns; the tasks of both may be unlike."""
    least: float = 0.1
    """Best mean below which a fall is none."""
    window: int = 5
    """Steps that are averaged."""


class Monitor:
    """See the module."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def __call__(self, lines: Sequence[Mapping[str, Any]]) -> str | None:
        """As of any monitor."""
        options = self.options
        told = [line for line in lines if line.get("success") is not None]
        values = series(told, "success")
        means = [fmean(values[end - options.window : end]) for end in range(options.window, len(values) + 1)]
        if not means:
            return None
        tested = series(lines, "test_success")
        if tested and tested[0] >= options.least and means[-1] < options.start * tested[0]:
            return (
                f"Success is {means[-1]:.2f}, and was {tested[0]:.2f} on held-out tasks before the first step: "
                "training has broken the policy, or asks for something else than the evaluation; try a lower lr."
            )
        if max(means) < options.least or means[-1] >= options.fall * max(means):
            return None
        step = told[means.index(max(means)) + options.window - 1]["step"]
        return (
            f"Success has fallen to {means[-1]:.2f} from {max(means):.2f} around step {step}: go on from a checkpoint "
            "of that time with a lower lr, kl_coef = 0.001 or filter = 'uncertain', or train with a critic "
            "(baselines/ppo.py), which collapses later."
        )
