"""What an evaluation measured of all its pages together."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from toolenvs.episode import SPENT
from toolenvs.evaluation.measures import Measures
from toolenvs.evaluation.statistics import bootstrap, grouped, quantiles
from toolenvs.rollout import Trajectory

_SUMS = ("tasks", "episodes", "infrastructure", "retried", "agent_failures")
_KNOWN_SUMS = ("prompt_tokens", "completion_tokens", "cost_usd")


def overall(pages: Mapping[str, Measures], trajectories: Sequence[Trajectory]) -> dict[str, Any]:
    """Of one page, its measures. Of several: `success` is the mean of theirs, each page counting the same; `success_95`
    its bootstrap interval, tasks drawn again within each page; the counts, tokens and cost are sums."""
    if len(pages) == 1:
        return asdict(next(iter(pages.values())))
    whole = [trajectory for trajectory in trajectories if not trajectory.failed]
    known = [measures.success for measures in pages.values() if measures.success is not None]
    told: dict[str, Any] = {"pages": len(pages)}
    told["success"] = sum(known) / len(known) if known else None
    told["success_95"] = bootstrap(list(task_means(whole).values())) if known else None
    told |= {name: sum(getattr(measures, name) for measures in pages.values()) for name in _SUMS}
    for name in _KNOWN_SUMS:
        values = [getattr(measures, name) for measures in pages.values() if measures.episodes]
        told[name] = sum(values) if values and None not in values else None
    told["agent_seconds"] = quantiles([seconds for trajectory in whole for seconds in trajectory.agent_seconds])
    told["tool_seconds"] = quantiles([call.seconds for each in whole for call in each.calls if call.status != SPENT])
    return told


def task_means(whole: Sequence[Trajectory]) -> dict[str, list[float]]:
    """Mean correctness of each task, by the page's name."""
    tasks: dict[str, list[float]] = {}
    for trajectory in whole:
        tasks.setdefault(trajectory.group, []).append(trajectory.success or 0.0)
    means = [(group.rpartition("/")[0], sum(values) / len(values)) for group, values in tasks.items()]
    return grouped(means)
