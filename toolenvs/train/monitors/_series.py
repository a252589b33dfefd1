"""One metric over the steps of a run."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any


def series(lines: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    """The values of a metric, where a line has one that is finite."""
    return [line[name] for line in lines if line.get(name) is not None]


def beginning(values: Sequence[float], window: int) -> float | None:
    """Mean of the first `window` values; None until there are three times as many, so that there is something since."""
    return fmean(values[:window]) if len(values) >= 3 * window else None


def lately(values: Sequence[float], window: int) -> float | None:
    """Mean of the last `window` values; None where there are fewer."""
    return fmean(values[-window:]) if len(values) >= window else None


def solved(lines: Sequence[Mapping[str, Any]], window: int, enough: float) -> bool:
    """Whether success lately is such that a policy may well be sure of itself.

    Help says nothing of it: where every episode was helped, the newest success on held-out tasks is what there is.
    """
    success = series(lines[-window:], "success") or series(lines, "test_success")[-1:]
    return bool(success) and fmean(success) >= enough
