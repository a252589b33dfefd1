"""DOTS' rollout replay: half of each step's groups are rolled out anew, the others drawn from the newest that were.

Sun et al. 2025, "Improving Data Efficiency for LLM Reinforcement Fine-tuning Through Difficulty-targeted Online Data
Selection and Rollout Replay": a queue, first in, first out, of groups in which some episodes are right and some wrong;
the ratio of an old token is to the policy that sampled it. As long as the queue is short, more is rolled out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from toolenvs.train.replay import base
from toolenvs.train.replay._memory import Group, Memory


@dataclass(frozen=True, kw_only=True)
class Options(base.Options):
    """Those of the authors' script; `capacity` is its `buffer_size`, 512 with 512 prompts a step."""

    share: float = 0.5
    """Of a step's groups, how many are old ones (`sigma` 0.5)."""

    def __post_init__(self) -> None:
        base.Options.__post_init__(self)
        if not 0 <= self.share < 1:
            raise ValueError(f"share = {self.share:g} is out of range: 0 to below 1 is needed")


class Strategy(base.Strategy):
    """Whole groups, uniformly at random (`replay_strategy` random)."""

    least = 2

    def __init__(self, options: Options) -> None:
        self._share = options.share

    def keep(self, group: Group) -> Group | None:
        """Groups of unlike correctness."""
        return group if len({episode.success for episode in group.episodes}) > 1 else None

    def fresh(self, memory: Memory, prompts: int) -> int:
        """All but the share, or but what there is."""
        return prompts - min(len(memory), int(self._share * prompts))

    def choose(self, memory: Memory, fresh: Sequence[str], prompts: int, rng: np.random.Generator) -> list[base.Again]:
        """As many as were not rolled out."""
        count = prompts - self.fresh(memory, prompts)
        groups = list(memory.groups)
        return [base.Again(episodes=groups[place].episodes) for place in rng.permutation(len(groups))[:count]]
