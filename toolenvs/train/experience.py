"""What a run learns from: the tasks that come next, and what became of those that came before.

experience = Experience(settings, env.tasks, collect)
tasks = experience.tasks(32, step=1)          # a selector's choice
experience.observe(episodes)                  # told of their outcomes
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from toolenvs.errors import ConfigError
from toolenvs.rollout.trajectory import Trajectory
from toolenvs.tasks.task import Task, TaskSet
from toolenvs.train.selectors import open_selector

Collect = Callable[..., list[Trajectory]]
"""Episodes of a sequence of tasks by the policy as it is, with the options of `toolenvs.rollout.collect`."""


@dataclass(frozen=True, kw_only=True)
class ExperienceSettings:
    """Which tasks come next."""

    selector: str = "uniform"
    """Which tasks come next: a file in toolenvs/train/selectors."""
    selector_options: Mapping[str, Any] = field(default_factory=dict)
    """What that selector takes, as in `--selector_options.temperature 0.01`."""


class Experience:
    """The selector of a run, and what else remembers its episodes.

    Args:
        settings: what is chosen.
        tasks: of the training environment.
        collect: rolls out the tasks that a selector must see first.
        seed: of all draws.
        steps: of the run.

    Raises:
        ConfigError: a setting does not fit, or the tasks lack what it needs.
    """

    def __init__(
        self, settings: ExperienceSettings, tasks: TaskSet, collect: Collect, *, seed: int, steps: int
    ) -> None:
        self._settings = settings
        self._tasks = tasks
        self._collect = collect
        self._seed = seed
        self._steps = steps
        self._selector = open_selector(settings.selector, tasks, seed, settings.selector_options)

    def tasks(self, count: int, *, n: int, step: int, batch: int = 0) -> list[Task]:
        """The next tasks to roll out and train on.

        Args:
            count: how many.
            n: episodes of each task that the selector must see first.
            step: of the run, from 1.
            batch: how often this step asked before.
        """
        if reference := self._selector.reference(count):
            seed = int(np.random.SeedSequence([self._seed, step, batch, 1]).generate_state(1)[0])
            tasks = [self._tasks[index] for index in reference]
            self._selector.observe(outcomes(self._collect(tasks, n=n, seed=seed, progress=step / self._steps)))
        return [self._tasks[index] for index in self._selector.take(count, (step - 1) / self._steps)]

    def observe(self, episodes: Sequence[Trajectory]) -> None:
        """Remember what became of tasks that were rolled out; what infrastructure ended is left out."""
        self._selector.observe(outcomes(episodes))

    def state_dict(self) -> dict[str, Any]:
        """Tensors and plain values."""
        return {"selector": [self._settings.selector, self._selector.state_dict()]}

    def load_state_dict(self, state: Any) -> None:
        """Go on from what `state_dict` gave.

        Raises:
            ConfigError: it was another selector's.
        """
        try:
            name, saved = state["selector"]
            if name != self._settings.selector:
                raise ConfigError(
                    f"cannot resume with the selector {self._settings.selector!r}: the checkpoint is of {name!r}; "
                    "set `selector` to that, or start in another folder"
                )
            self._selector.load_state_dict(saved)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            if isinstance(error, ConfigError):
                raise
            raise ConfigError(f"cannot resume: the checkpoint holds no state of a selector ({error!r})") from error


def outcomes(episodes: Sequence[Trajectory]) -> dict[str, list[float]]:
    """Raw correctness of every episode that infrastructure did not end, by the task's id."""
    found: dict[str, list[float]] = {}
    for episode in episodes:
        if not episode.failed:
            found.setdefault(episode.task, []).append(float(episode.success or 0.0))
    return found
