"""The policy writes the same for unlike tasks, word for word, as if it did not read them.

RAGEN-2 (2026, arXiv 2604.06268) calls it template collapse, which entropy does not show, and measures it by mutual
information of tasks and responses; equal responses to unlike tasks are its plainest case, and cost nothing to see.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolenvs.train.monitors._series import beginning, lately, series, solved


@dataclass(frozen=True, slots=True)
class Options:
    """Thresholds."""

    most: float = 0.5
    """Share of episodes whose text was also written for another task, above which it warns."""
    rise: float = 2.0
    """Multiple of the first steps' share that it must have become: tasks of few answers share texts from the start."""
    solved: float = 0.8
    """Success from which on it is no fault."""
    window: int = 5
    """Steps that are averaged."""


class Monitor:
    """See the module."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def __call__(self, lines: Sequence[Mapping[str, Any]]) -> str | None:
        """As of any monitor."""
        options = self.options
        shares = series(lines, "shared_text")
        first, now = beginning(shares, options.window), lately(shares, options.window)
        if first is None or now is None or solved(lines, options.window, options.solved):
            return None
        if now <= options.most or now <= options.rise * first:
            return None
        return (
            f"In {now:.0%} of the episodes the policy writes word for word what it writes for other tasks ({first:.0%} "
            "at the beginning), as if it did not read them: try filter = 'uncertain' with filter_share = 0.25, more "
            "varied tasks, and look at what the reward pays for such answers."
        )
