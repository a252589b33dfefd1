"""What the replays of RePO share: beside each fresh group of a task, some earlier episodes of that task.

Li et al. 2025, "RePO: Replay-Enhanced Policy Optimization". Each task has a queue of its newest episodes, right and
wrong ones. Once it is full, a strategy picks some of them, which are compared with one another and not with the fresh
ones ("split"). So a task is only replayed when it comes again: their runs go through 1,024 tasks three times.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from toolenvs.schema import at_least
from toolenvs.train.replay import base
from toolenvs.train.replay._memory import Episode, Memory


@dataclass(frozen=True, kw_only=True)
class Options(base.Options):
    """Those of the authors' script, but for `capacity`, which there is none of over all tasks."""

    capacity: int = 4096
    """Groups that are remembered, of all tasks together; the oldest one makes room."""
    cache: int = 16
    """Episodes of a task that are remembered (`MAX_CACHE_SIZE` 16)."""
    min_cached: int = 16
    """Episodes of a task without which it is not replayed (`MIN_CACHE_TO_REPLAY` 16)."""
    replays: int = 8
    """Episodes that are trained on again beside a fresh group (`NUM_REPLAYS` 8)."""

    def __post_init__(self) -> None:
        base.Options.__post_init__(self)
        at_least(2, cache=self.cache, min_cached=self.min_cached, replays=self.replays)
        if self.min_cached > self.cache:
            raise ValueError(
                f"min_cached = {self.min_cached} is out of range: a task has {self.cache} episodes at most (cache)"
            )


class Strategy(base.Strategy):
    """The frame; each strategy has its own `pick`."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def pick(self, cached: Sequence[Episode], count: int, rng: np.random.Generator) -> Sequence[Episode]:
        """`count` episodes out of those of a task, oldest first."""
        raise NotImplementedError

    def choose(self, memory: Memory, fresh: Sequence[str], prompts: int, rng: np.random.Generator) -> list[base.Again]:
        """For every task of a fresh group that has a full queue, once where it has several groups."""
        chosen = []
        for task in dict.fromkeys(fresh):
            cached = memory.episodes(task)[-self._options.cache :]
            if len(cached) >= self._options.min_cached:
                chosen.append(base.Again(episodes=self.pick(cached, min(self._options.replays, len(cached)), rng)))
        return chosen
