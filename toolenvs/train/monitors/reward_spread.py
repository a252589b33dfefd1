"""The rewards of a group hardly differ, though the tasks are not solved: nothing is left to compare.

RAGEN (Wang et al. 2025, section on the echo trap) names a falling spread of rewards within groups as the earliest sign
of a collapse, before the reward itself falls. At first it is measured over some steps of the same run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolenvs.train.monitors._series import beginning, lately, series, solved


@dataclass(frozen=True, slots=True)
class Options:
    """Thresholds."""

    fall: float = 0.25
    """Share of the first steps' spread below which it warns."""
    solved: float = 0.8
    """Success from which on a small spread is what one wants."""
    window: int = 5
    """Steps that are averaged."""


class Monitor:
    """See the module."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def __call__(self, lines: Sequence[Mapping[str, Any]]) -> str | None:
        """As of any monitor."""
        options = self.options
        spreads = series(lines, "reward_spread")
        first, now = beginning(spreads, options.window), lately(spreads, options.window)
        if first is None or now is None or now >= options.fall * first or solved(lines, options.window, options.solved):
            return None
        return (
            f"The rewards of a group hardly differ any more (a spread of {now:.3g}, {first:.3g} at the beginning), "
            "though the tasks are not solved, so there is little to learn from: try filter = 'uncertain' with "
            "filter_share = 0.25 (StarPO-S), more samples of a prompt, other tasks, or a higher temperature."
        )
