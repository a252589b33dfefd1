"""Infrastructure ends many episodes, or most tool calls fail.

In ToRL's public code 61.7 % of all calls once failed because of a placeholder address, and training went on (their
issue 27). Episodes that infrastructure ended are dropped, but a run without them is another run than was meant.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from toolenvs.train.monitors._series import lately, series


@dataclass(frozen=True, slots=True)
class Options:
    """Thresholds."""

    ended: float = 0.05
    """Share of all episodes that infrastructure ended, above which it warns."""
    failed_calls: float = 0.6
    """Share of tool calls that failed, above which it warns."""
    window: int = 5
    """Steps that are averaged."""


class Monitor:
    """See the module."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def __call__(self, lines: Sequence[Mapping[str, Any]]) -> str | None:
        """As of any monitor."""
        options = self.options
        ended = lately(series(lines, "infrastructure"), min(options.window, max(len(lines), 1)))
        if ended is not None and ended > options.ended:
            return (
                f"Infrastructure ended {ended:.0%} of the episodes, which are dropped: look at `fault` in the newest "
                "trajectories, and run toolenvs doctor."
            )
        failed, used = (lately(series(lines, name), options.window) for name in ("failed_calls", "tool_use"))
        if failed is not None and used and failed > options.failed_calls:
            return (
                f"{failed:.0%} of the tool calls fail: look at the results of some in the newest trajectories; where "
                "it is the policy's own fault, try a cold start (baselines/sft.py) or a hint in the prompt."
            )
        return None
