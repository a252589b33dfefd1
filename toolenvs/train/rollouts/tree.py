"""Trees of episodes, which share their beginnings: `toolenvs.rollout.tree` grows them.

The defaults are TreeRL's (Hou et al. 2025): 2 points, 2 branches, 1 round, to be used with `samples = 6`, which makes
30 leaves of each prompt; there 16 of them are trained on, here all are. Envs-aware IR branches 4 times at its second
turn: `points = 1, branches = 3`. Advantages that know the tree are the estimators `tree_rl` and `segment`; any other
one compares the leaves as if they were independent.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from toolenvs.agents.prefilled import Prefill, Prefilled
from toolenvs.rollout import Trajectory
from toolenvs.rollout.tree import Shape, grow
from toolenvs.tasks.task import Task
from toolenvs.train.rollouts import base
from toolenvs.transcript import Author


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(Shape):
    """See `toolenvs.rollout.tree.Shape`."""


class Rollout(base.Rollout):
    """See `base.Rollout`; each of the `n` episodes that begin at a prompt is the stem of a tree."""

    def __init__(self, run: base.Host, options: Options) -> None:
        self._run = run
        self._shape = options
        self._read = self._shared = self._leaves = 0

    def collect(
        self, tasks: Sequence[Task], *, n: int, seed: int, progress: float = 0.0, prefill: Prefill | None = None
    ) -> list[Trajectory]:
        """See `base.Rollout.collect`."""
        run = self._run
        agent = run.agent if prefill is None else Prefilled(run.agent, prefill)
        leaves = run.play(
            len(tasks),
            lambda part: grow(run.env, agent, tasks, self._shape, n=n, seed=seed, progress=progress, part=part),
        )
        for leaf in leaves:
            if leaf.tokens is not None and not leaf.failed:
                owners = leaf.sampled_by or (leaf.key,) * len(leaf.turn_rewards)
                for span in leaf.tokens.spans:
                    if span.author is Author.POLICY:
                        self._read += span.end - span.start
                        self._shared += (span.end - span.start) * (owners[span.turn - 1] != leaf.key)
                self._leaves += 1
        return leaves

    def metrics(self) -> dict[str, float]:
        """`leaves`, and `shared_tokens`, the share of the policy's tokens that other leaves had sampled already."""
        told = {"leaves": float(self._leaves), "shared_tokens": self._shared / max(self._read, 1)}
        self._read = self._shared = self._leaves = 0
        return told
