"""What the policy writes becomes much longer or shorter at once, or mostly ends at a budget.

The length of responses is one of RAGEN's signs of a collapse. A steady growth is no fault, so a window is compared with
the one some steps before it; and where success rises with the length, nothing is said.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from toolenvs.train.monitors._series import lately, series


@dataclass(frozen=True, slots=True)
class Options:
    """Thresholds."""

    factor: float = 2.0
    """How many times as long, or as short, within `back` steps."""
    back: int = 10
    """Steps between the two windows that are compared."""
    cut_short: float = 0.5
    """Share of episodes that a budget ended, above which it warns."""
    window: int = 5
    """Steps that are averaged."""


class Monitor:
    """See the module."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def __call__(self, lines: Sequence[Mapping[str, Any]]) -> str | None:
        """As of any monitor."""
        options = self.options
        cut = lately(series(lines, "cut_short"), options.window)
        if cut is not None and cut > options.cut_short:
            return (
                f"A budget ends {cut:.0%} of the episodes before they end by themselves: try a larger max_turn_tokens "
                "or budget, or a fine for length (overlong_cache_tokens)."
            )
        alone = [line for line in lines if not line.get("helped")]  # with a hint there is less to write
        tokens, success = series(alone, "policy_tokens"), series(alone, "success")
        count = options.window + options.back
        if len(tokens) < count or len(success) < count:
            return None
        before, now = fmean(tokens[-count : -options.back]), fmean(tokens[-options.window :])
        rises = fmean(success[-options.window :]) > fmean(success[-count : -options.back])
        if rises or 1 / options.factor <= now / max(before, 1e-9) <= options.factor:
            return None
        way = "grown" if now > before else "shrunk"
        return (
            f"Responses have {way} from {before:.0f} to {now:.0f} tokens within {options.back} steps, and success has "
            "not risen with it: look at the newest trajectories for repetition or for empty answers, and at what the "
            "reward pays for; try a lower lr, or kl_coef = 0.001."
        )
