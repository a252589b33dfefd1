"""ExGRPO: tasks that were half solved come again, each with the right episode that the policy was surest of.

Zhan et al. 2025, "ExGRPO: Learning to Reason from Experience". Right episodes are remembered by task, with the task's
newest success rate. Half of a step's tasks are drawn from there: a rate r first, with p proportional to the normal
density of r around one half, then one of its tasks. Each is rolled out anew, and its remembered episode of lowest
entropy joins the fresh ones in their group. A task that all fresh episodes solved is retired.

What differs: entropy is told by the mean surprisal at sampling time, not measured again under the policy of today; the
remembered episode comes on top of the fresh ones, where theirs takes the place of one; its tokens go through the
`policy_loss` of the run, where theirs are reweighted by f(w) = w / (w + 0.1) in place of the clip.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from toolenvs.train.replay import base
from toolenvs.train.replay._memory import Episode, Group, Memory


@dataclass(frozen=True, kw_only=True)
class Options(base.Options):
    """Numbers as others tell them of the paper; they were not checked against its code."""

    capacity: int = 4096
    """Groups of right episodes that are remembered; the oldest one makes room. The paper names no bound."""
    share: float = 0.5
    """Of a step's tasks, how many are remembered ones."""
    centre: float = 0.5
    """The success rate that is drawn most."""
    deviation: float = 1.0
    """Standard deviation of that draw."""

    def __post_init__(self) -> None:
        base.Options.__post_init__(self)
        if not 0 <= self.share <= 1 or not self.deviation > 0:
            raise ValueError(
                f"share = {self.share:g}, deviation = {self.deviation:g}: a share from 0 to 1 and a deviation above 0 "
                "are needed"
            )


class Strategy(base.Strategy):
    """Right episodes join fresh groups."""

    least = 2

    def __init__(self, options: Options) -> None:
        self._options = options

    def keep(self, group: Group) -> Group | None:
        """Its right episodes; of a group that is all right or all wrong, its rate alone."""
        right = tuple(episode for episode in group.episodes if episode.success >= 1)
        return replace(group, episodes=right if group.rate < 1 else ())

    def tasks(self, memory: Memory, prompts: int, rng: np.random.Generator) -> list[str]:
        """Remembered tasks that are not retired, none twice."""
        rates = _open_rates(memory)
        drawn: list[str] = []
        for _ in range(min(int(self._options.share * prompts), len(rates))):
            buckets: dict[float, list[str]] = {}
            for task in rates:
                if task not in drawn:
                    buckets.setdefault(rates[task], []).append(task)
            odds = np.array([self._density(rate) for rate in buckets])
            bucket = list(buckets.values())[int(rng.choice(len(buckets), p=odds / odds.sum()))]
            drawn.append(bucket[int(rng.integers(len(bucket)))])
        return drawn

    def _density(self, rate: float) -> float:
        return math.exp(-((rate - self._options.centre) ** 2) / (2 * self._options.deviation**2))

    def choose(self, memory: Memory, fresh: Sequence[str], prompts: int, rng: np.random.Generator) -> list[base.Again]:
        """For every remembered task that is not retired and has a fresh group, the first where it has several."""
        rates = _open_rates(memory)
        return [
            base.Again(episodes=[min(memory.episodes(task), key=_surprisal)], joins=fresh.index(task))
            for task in dict.fromkeys(fresh)
            if task in rates
        ]


def _open_rates(memory: Memory) -> dict[str, float]:
    """The newest success rate of each remembered task that is not retired."""
    rates = {group.task: group.rate for group in memory.groups}
    return {task: rate for task, rate in rates.items() if rate < 1}


def _surprisal(episode: Episode) -> float:
    return episode.surprisal
