"""What a run learns from: the tasks that come next, and what became of those that came before.

prompts = experience.begin(step=1, prompts=32)        # fewer, where earlier groups fill up the rest
tasks = experience.tasks(prompts, n=8)                # a selector's choice
experience.observe(episodes)                          # told of their outcomes
sequences = experience.replayed(groups)               # what is trained on beside these groups
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from toolenvs.errors import ConfigError
from toolenvs.rollout.trajectory import Trajectory
from toolenvs.tasks.task import Task, TaskSet
from toolenvs.train import filters
from toolenvs.train.batching import TokenSequence
from toolenvs.train.relift import ReliftSettings
from toolenvs.train.replay import Replay
from toolenvs.train.selectors import open_selector
from toolenvs.train.streams import seed_of

Collect = Callable[..., list[Trajectory]]
"""Episodes of a sequence of tasks by the policy as it is, with the options of `toolenvs.rollout.collect`."""


@dataclass(frozen=True, kw_only=True)
class ExperienceSettings(ReliftSettings):
    """Which tasks come next, which episodes come back, and whether the hardest tasks are imitated."""

    selector: str = "uniform"
    """Which tasks come next: a file in toolenvs/train/selectors."""
    selector_options: Mapping[str, Any] = field(default_factory=dict)
    """What that selector takes, as in `--selector_options.tau 0.01`."""
    replay: str = ""
    """Which earlier episodes are trained on again: a file in toolenvs/train/replay; "" for none."""
    replay_options: Mapping[str, Any] = field(default_factory=dict)
    """What that takes, as in `--replay_options.share 0.25`."""


class Experience:
    """The selector and the replay of a run.

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
        self._names = (settings.selector, settings.replay)
        self._tasks = tasks
        self._collect = collect
        self._seed = seed
        self._steps = steps
        self._selector = open_selector(settings.selector, tasks, seed, settings.selector_options)
        self._replay = Replay(settings.replay, settings.replay_options, seed) if settings.replay else None
        _check_group(settings, 1 if self._replay is None else self._replay.least)
        self.version = 0
        """Of the policy's weights: the step that changed them last."""
        self._step = 0
        self._batch = 0
        self._told: dict[str, float] = {}
        self.observers: list[Callable[[Sequence[Trajectory]], None]] = []
        """Who else is told of the episodes that were rolled out without help."""

    def begin(self, step: int, prompts: int) -> int:
        """How many groups of this step are rolled out anew.

        Args:
            step: of the run, from 1.
            prompts: groups that it wants in all.
        """
        self._step, self._batch = step, 0
        return prompts if self._replay is None else self._replay.begin(step, prompts)

    def renew(self, version: int) -> None:
        """The policy's weights are those of that version from now on."""
        self.version = version
        if self._replay is not None:
            self._replay.renew(version)

    def tasks(self, count: int, *, n: int) -> list[Task]:
        """The next tasks to roll out.

        Args:
            count: how many.
            n: episodes of each task that the selector must see first.
        """
        again = [] if self._replay is None else self._replay.tasks(count, self._batch)
        wanted = count - len(again)
        if reference := self._selector.reference(wanted):
            seed = seed_of("reference rollout", self._seed, self._step, self._batch)
            tasks = [self._tasks[index] for index in reference]
            self._selector.observe(outcomes(self._collect(tasks, n=n, seed=seed, progress=self._step / self._steps)))
        self._batch += 1
        chosen = self._selector.take(wanted, (self._step - 1) / self._steps)
        return [*map(self._tasks.find, again), *(self._tasks[index] for index in chosen)]

    def observe(self, episodes: Sequence[Trajectory]) -> None:
        """Remember what became of the tasks that were rolled out, but for episodes that were helped (`guidance`).

        Help says nothing of what the policy can do alone, and a memory would mix prompts with and without it.
        """
        episodes = [episode for episode in episodes if not episode.guidance]
        self._selector.observe(outcomes(episodes))
        if self._replay is not None:
            self._replay.observe(episodes)
        for observer in self.observers:
            observer(episodes)

    def replayed(self, groups: filters.Groups) -> list[TokenSequence]:
        """Earlier episodes that are trained on beside these groups, numbered as `sequences_of_groups` goes on."""
        if self._replay is None:
            return []
        sequences, self._told = self._replay.sequences(groups)
        return sequences

    def metrics(self) -> dict[str, float]:
        """What there is to report of this step."""
        told, self._told = self._told, {}
        return told

    def state_dict(self) -> dict[str, Any]:
        """Tensors and plain values."""
        replay = {} if self._replay is None else self._replay.state_dict()
        selector = self._selector.state_dict()
        return {"names": list(self._names), "selector": selector, "replay": replay, "version": self.version}

    def load_state_dict(self, state: Any) -> None:
        """Go on from what `state_dict` gave.

        Raises:
            ConfigError: it was another selector's or another replay's.
        """
        names = state.get("names") if isinstance(state, dict) else None
        if names != list(self._names):
            raise ConfigError(
                f"cannot resume: the checkpoint's selector and replay are {names}, the run's {list(self._names)}; "
                "set `selector` and `replay` to those, or start in another folder"
            )
        self.version = state.get("version", self.version)
        try:
            self._selector.load_state_dict(state["selector"])
            if self._replay is not None:
                self._replay.load_state_dict(state["replay"])
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"cannot resume: the state of selector or replay cannot be read ({error!r})") from error


def _check_group(settings: Any, least: int) -> None:
    """Refuse a script's `samples` that leave a replay nothing to remember; a tree has more leaves than it has stems."""
    samples = getattr(settings, "samples", least)
    if samples < least and getattr(settings, "rollout", "") != "tree":
        raise ConfigError(
            f"samples = {samples}: replay {settings.replay!r} compares the episodes of a group and would remember "
            f"nothing; set samples to at least {least}, or take another replay"
        )


def outcomes(episodes: Sequence[Trajectory]) -> dict[str, list[float]]:
    """Raw correctness of every episode that infrastructure did not end, by the task's id."""
    found: dict[str, list[float]] = {}
    for episode in episodes:
        if not episode.failed:
            found.setdefault(episode.task, []).append(float(episode.success or 0.0))
    return found
