"""What an evaluation measured, with its uncertainty. Everything but `infrastructure` leaves out failed episodes."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import sqrt

import numpy as np

from toolenvs.rollout import Trajectory

Z_95 = 1.959964
"""Two-sided 95 % quantile of the normal distribution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """Of one evaluation. Means are None where no episode is left to take them over."""

    tasks: int
    """Tasks with at least one episode that infrastructure did not end."""
    episodes: int
    """Episodes that infrastructure did not end."""
    infrastructure: int
    """Episodes that infrastructure ended; they count nowhere else, least of all as wrong."""
    success: float | None
    """Mean over tasks of the mean raw correctness of a task's episodes."""
    success_95: tuple[float, float] | None
    """Interval that holds the true mean about 95 times in 100; see `interval`."""
    pass_at_n: float | None
    """Share of tasks solved at least once, of those with all n episodes."""
    metrics: Mapping[str, float]
    """Mean of what the judge measured beside success, by name, over the episodes in which it did."""
    reward: float | None
    """Mean return."""
    turns: float | None
    """Mean turns of an episode."""
    calls: float | None
    """Mean tool calls of an episode."""
    failed_calls: float | None
    """Share of tool calls whose status is not "ok"; None without calls."""
    seconds: float | None
    """Mean wall-clock seconds of an episode."""
    endings: Mapping[str, int]
    """Episodes by ending, the commonest first."""


def measure(trajectories: Iterable[Trajectory], n: int) -> Measures:
    """The measures of an evaluation with `n` episodes of each task."""
    groups: dict[str, list[Trajectory]] = {}
    failed = 0
    for trajectory in trajectories:
        if trajectory.failed:
            failed += 1
        else:
            groups.setdefault(trajectory.group, []).append(trajectory)
    whole = [trajectory for members in groups.values() for trajectory in members]
    correct = [[member.success or 0.0 for member in members] for members in groups.values()]
    means = [sum(values) / len(values) for values in correct]
    statuses = [call.status == "ok" for trajectory in whole for call in trajectory.calls]
    return Measures(
        tasks=len(groups),
        episodes=len(whole),
        infrastructure=failed,
        success=_mean(means),
        success_95=interval(means, len(whole)) if means else None,
        pass_at_n=_mean([max(values) >= 1 for values in correct if len(values) == n]),
        metrics=_metrics(whole),
        reward=_mean([trajectory.reward for trajectory in whole]),
        turns=_mean([len(trajectory.turn_rewards) for trajectory in whole]),
        calls=_mean([len(trajectory.calls) for trajectory in whole]),
        failed_calls=None if not statuses else 1 - sum(statuses) / len(statuses),
        seconds=_mean([trajectory.seconds for trajectory in whole]),
        endings=dict(Counter(trajectory.ending for trajectory in whole).most_common()),
    )


def _metrics(whole: list[Trajectory]) -> dict[str, float]:
    values: dict[str, list[float]] = {}
    for trajectory in whole:
        for name, value in trajectory.metrics.items():
            values.setdefault(name, []).append(value)
    return {name: sum(found) / len(found) for name, found in sorted(values.items())}


def interval(means: list[float], episodes: int) -> tuple[float, float]:
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
    size = min(p * (1 - p) / variance, episodes) if variance > 0 else k
    z2 = Z_95**2
    centre = (p + z2 / (2 * size)) / (1 + z2 / size)
    half = Z_95 / (1 + z2 / size) * sqrt(p * (1 - p) / size + z2 / (4 * size**2))
    return max(centre - half, 0.0), min(centre + half, 1.0)


def _mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return sum(numbers) / len(numbers) if numbers else None
