"""The gradient's norm spikes, or is no number.

RAGEN: spikes of the gradient's norm mark the point from which a collapsed policy does not come back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from toolenvs.train.monitors._series import series

_FEWEST = 10


@dataclass(frozen=True, slots=True)
class Options:
    """Thresholds."""

    spike: float = 10.0
    """Multiple of the median of earlier norms above which it warns."""
    window: int = 20
    """Earlier steps that the median is of."""


class Monitor:
    """See the module."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def __call__(self, lines: Sequence[Mapping[str, Any]]) -> str | None:
        """As of any monitor."""
        newest = lines[-1] if lines else {}
        if "gradient_norm" not in newest:
            return None
        if newest["gradient_norm"] is None:
            return (
                "The gradient is no finite number: the update of this step was lost or has damaged the policy; look "
                "for a reward or a log-probability that is none either; go on from the last checkpoint with a lower lr."
            )
        *earlier, now = series(lines, "gradient_norm")
        usual = median(earlier[-self.options.window :]) if len(earlier) >= _FEWEST else None
        if usual is None or now <= self.options.spike * usual:
            return None
        return (
            f"The gradient's norm has jumped to {now:.3g} where {usual:.3g} was usual: if it happens again, try a "
            "lower lr, a smaller max_grad_norm, or filter = 'uncertain'."
        )
