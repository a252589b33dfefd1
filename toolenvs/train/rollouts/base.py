"""What a rollout is, and what of a run it works with."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol

from torch import Tensor

from toolenvs.agents.engine import EngineAgent
from toolenvs.agents.prefilled import Prefill
from toolenvs.attended import Attended
from toolenvs.blueprint import Blueprint
from toolenvs.rollout.trajectory import Trajectory
from toolenvs.tasks.task import Task
from toolenvs.train.batching import Batch


class Scorer(Protocol):
    """Scores tokens by the policy as it is."""

    def rescore(self, batch: Batch) -> Tensor:
        """Log-probabilities [B, T] at the temperature of sampling."""
        ...


class Host(Protocol):
    """What a rollout uses of a run, `toolenvs.train.run.Run`."""

    @property
    def settings(self) -> Any:
        """Of the run."""

    @property
    def env(self) -> Blueprint:
        """The environment that is trained in."""

    @property
    def agent(self) -> EngineAgent:
        """The policy as it is."""

    @property
    def runner(self) -> Attended:
        """Where episodes run that are not the policy's."""

    @property
    def updater(self) -> Scorer:
        """What knows the policy's weights."""

    @property
    def device(self) -> str:
        """Where they are."""

    def collect(self, tasks: Sequence[Task], **options: Any) -> list[Trajectory]:
        """Independent episodes, with the options of `toolenvs.rollout.collect`."""
        ...

    def play(self, count: int, act: Callable[[range], Coroutine[Any, Any, list[Trajectory]]]) -> list[Trajectory]:
        """Episodes of `count` tasks that `act` plays with `agent`, each process its part of them; all get all."""
        ...


class Rollout(ABC):
    """Turns the tasks of a step into episodes."""

    takes_prefill: bool = True
    """Whether turns may begin with what somebody else chose."""

    @abstractmethod
    def collect(
        self, tasks: Sequence[Task], *, n: int, seed: int, progress: float = 0.0, prefill: Prefill | None = None
    ) -> list[Trajectory]:
        """Episodes of each task, in the order of the tasks; those of one task have its place as their group.

        Args:
            tasks: of the training environment.
            n: episodes of each task that begin at its prompt.
            seed: of all draws.
            progress: share of the run that is over.
            prefill: what turns begin with, where not all of them is for the policy to write.
        """

    def metrics(self) -> dict[str, float]:
        """What there is to report of the calls of `collect` since this was asked last."""
        return {}

    def parts(self) -> Mapping[str, Any]:
        """What of it must be in a checkpoint, by name; each has `state_dict` and `load_state_dict`."""
        return {}
