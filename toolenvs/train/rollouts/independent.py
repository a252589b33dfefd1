"""Independent episodes: n of each task, from its prompt to its end."""

from collections.abc import Sequence
from dataclasses import dataclass

from toolenvs.agents.prefilled import Prefill, Prefilled
from toolenvs.rollout import Trajectory, collect
from toolenvs.tasks.task import Task
from toolenvs.train.rollouts import base


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """It takes none."""


class Rollout(base.Rollout):
    """See `base.Rollout`."""

    def __init__(self, run: base.Host, options: Options) -> None:
        self._run = run

    def collect(
        self, tasks: Sequence[Task], *, n: int, seed: int, progress: float = 0.0, prefill: Prefill | None = None
    ) -> list[Trajectory]:
        """See `base.Rollout.collect`."""
        if prefill is None:
            return self._run.collect(tasks, n=n, seed=seed, progress=progress)
        run, agent = self._run, Prefilled(self._run.agent, prefill)
        return run.play(
            len(tasks), lambda part: collect(run.env, agent, tasks, n=n, seed=seed, progress=progress, part=part)
        )
