"""Intervals and tests. Tasks are the unit throughout: episodes of one task are not independent of each other."""

from collections.abc import Sequence
from math import comb, sqrt

import numpy as np
from numpy.typing import NDArray

Z_95 = 1.959964
"""Two-sided 95 % quantile of the normal distribution."""
RESAMPLES = 2_000
_AT_ONCE = 1 << 22
"""Draws that are held in memory."""
_EXACT_TASKS = 14
"""Up to so many tasks that differ, all sign flips are tried; beyond, `_FLIPS` random ones."""
_FLIPS = 20_000
_ROUNDING = 1e-12

Floats = NDArray[np.float64]


def mean(values: Sequence[float]) -> float | None:
    """The mean; None of nothing."""
    return sum(values) / len(values) if values else None


def interval(means: Sequence[float], episodes: int) -> tuple[float, float]:
    """95 % interval of a mean over tasks: Wilson's, at the number of independent trials that the tasks are worth.

    Episodes of one task are not independent, so tasks are the unit: with `k` of them and variance `v` of their means,
    the mean p is as certain as that of `p (1 - p) / (v / k)` independent trials, never more than there are episodes
    (Kish's effective size; Wilson 1927 for the interval). With one episode a task it is Wilson's interval exactly, and
    unlike a bootstrap it has a width where every task was solved.

    Args:
        means: mean correctness of each task, 0 to 1.
        episodes: of all tasks together.
    """
    k, p = len(means), float(np.mean(means))
    variance = float(np.var(means)) / k
    size = min(p * (1 - p) / variance, episodes) if variance > _ROUNDING**2 else k
    z2 = Z_95**2
    centre = (p + z2 / (2 * size)) / (1 + z2 / size)
    half = Z_95 / (1 + z2 / size) * sqrt(p * (1 - p) / size + z2 / (4 * size**2))
    return max(centre - half, 0.0), min(centre + half, 1.0)


def bootstrap(groups: Sequence[Sequence[float]], *, resamples: int = RESAMPLES, seed: int = 0) -> tuple[float, float]:
    """95 % percentile interval of the mean over groups of their means; tasks are drawn again within each group.

    Efron 1979. Where all values of a group are equal it has no width, and says too little: with few tasks prefer
    `interval`.

    Args:
        groups: values of the tasks of each page, none of them empty.
        resamples: how often they are drawn.
        seed: of the draws; equal values and seeds give equal intervals.
    """
    rng = np.random.default_rng(seed)
    total = np.zeros(resamples)
    for group in groups:
        total += _resampled(np.asarray(group, dtype=np.float64), resamples, rng)
    low, high = np.quantile(total / len(groups), [0.025, 0.975])
    return float(low), float(high)


def _resampled(values: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    step = max(_AT_ONCE // len(values), 1)
    parts = [
        values[rng.integers(0, len(values), (min(step, resamples - start), len(values)))].mean(axis=1)
        for start in range(0, resamples, step)
    ]
    return np.concatenate(parts)


def mcnemar(only_a: int, only_b: int) -> float:
    """Two-sided exact p-value of McNemar's test: whether tasks that one agent alone solves are as often the other's.

    The sign test on the discordant tasks (McNemar 1947; exact, by the binomial distribution).

    Args:
        only_a: tasks that only the first agent solved.
        only_b: tasks that only the second one did.
    """
    total, least = only_a + only_b, min(only_a, only_b)
    tail = sum(comb(total, count) for count in range(least + 1))
    return min(1.0, 2 * tail / (1 << total))


def sign_flips(differences: Sequence[float], *, seed: int = 0) -> float:
    """Two-sided p-value that paired differences of mean zero would sum to as much: Fisher's randomisation test.

    Exact for up to 14 differences that are not zero, else by 20,000 random flips, the observed one among them. On
    differences of -1, 0 and 1 it is McNemar's test.

    Args:
        differences: one a task, weighted where tasks of several pages are taken together.
        seed: of the flips.
    """
    values = np.asarray([value for value in differences if value], dtype=np.float64)
    if not len(values):
        return 1.0
    observed = abs(float(values.sum())) - _ROUNDING * float(np.abs(values).sum())
    if len(values) <= _EXACT_TASKS:
        bits = (np.arange(1 << len(values))[:, None] >> np.arange(len(values))) & 1
        return float((np.abs((1 - 2 * bits) @ values) >= observed).mean())
    rng = np.random.default_rng(seed)
    hits = 1
    step = max(_AT_ONCE // len(values), 1)
    for start in range(0, _FLIPS, step):
        signs = 1.0 - 2.0 * rng.integers(0, 2, (min(step, _FLIPS - start), len(values)))
        hits += int((np.abs(signs @ values) >= observed).sum())
    return hits / (_FLIPS + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values of several tests, in their order (Holm 1979): one below 0.05 holds with all others at once."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, most = [1.0] * len(p_values), 0.0
    for rank, index in enumerate(order):
        most = max(most, min(1.0, (len(p_values) - rank) * p_values[index]))
        adjusted[index] = most
    return adjusted


def quantiles(values: Sequence[float]) -> dict[str, float] | None:
    """Median and 95th percentile, as "p50" and "p95"; None of nothing."""
    if not values:
        return None
    p50, p95 = np.quantile(np.asarray(values, dtype=np.float64), [0.5, 0.95])
    return {"p50": float(p50), "p95": float(p95)}


def grouped(values: Sequence[tuple[str, float]]) -> dict[str, list[float]]:
    """Values by name, names sorted."""
    found: dict[str, list[float]] = {}
    for name, value in values:
        found.setdefault(name, []).append(value)
    return dict(sorted(found.items()))
