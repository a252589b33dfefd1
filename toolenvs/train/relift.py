"""ReLIFT: what no episode of a group solves is learned from a demonstration, between the steps of RL.

Ma et al. 2025, "Learning What Reinforcement Learning Can't: Interleaved Online Fine-Tuning for Hardest Questions". A
task whose whole group failed is put aside, together with a demonstration of it. Once there are `size` of them, the
newest `size` are imitated in one supervised pass with an optimizer of its own, right behind the step's RL update.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch

from toolenvs import schema
from toolenvs.attended import Attended
from toolenvs.blueprint import Blueprint
from toolenvs.errors import ConfigError, PageError
from toolenvs.rollout.trajectory import Trajectory
from toolenvs.schema import at_least
from toolenvs.tasks.task import Task, TaskSet
from toolenvs.train import filters
from toolenvs.train.batching import TokenSequence
from toolenvs.train.demonstrations import SCRIPTED, Demonstrations, open_demonstrations
from toolenvs.train.forward import ForwardSettings
from toolenvs.train.imitation import train_step
from toolenvs.train.optim import Optimizers


@dataclass(frozen=True, kw_only=True)
class ReliftSettings:
    """Whether the hardest tasks are imitated."""

    relift: bool = False
    """Whether tasks that no episode of a group solves are learned from demonstrations (ReLIFT)."""
    relift_options: Mapping[str, Any] = field(default_factory=dict)
    """How, as in `--relift_options.size 64`: see relift.Options."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Those of the authors' configuration; their script for 7 B differs where it is said."""

    size: int = 128
    """Demonstrations of a supervised pass (script: 64)."""
    demonstrations: str = SCRIPTED
    """Where they come from: "scripted", or a .jsonl file of trajectories or of cold-start rows. The paper's are by a
    stronger model."""
    lr: float = 1e-6
    """Learning rate of the pass, of AdamW."""
    muon_lr: float = 0.0
    """Of Muon for hidden matrices; with 0 AdamW takes them too. For the tiny policies."""
    entropy_coef: float = 0.001
    """Weight of an entropy bonus (script: 0)."""
    max_grad_norm: float = 0.5
    """Its gradients are scaled down to this norm (script: `grad_clip` 0.5)."""
    mini_batches: int = 1
    """Updates of a pass."""

    def __post_init__(self) -> None:
        at_least(1, size=self.size, mini_batches=self.mini_batches)
        at_least(0, lr=self.lr, muon_lr=self.muon_lr, entropy_coef=self.entropy_coef)


class Relift:
    """The hardest tasks of a run, and the passes that learn from them.

    Args:
        options: of the passes.
        model: the policy.
        tasks: of the training environment.
        source: of demonstrations.
        forward: how the model is run.
        device: of the model.
    """

    def __init__(
        self,
        options: Options,
        model: Any,
        tasks: TaskSet,
        source: Demonstrations,
        *,
        forward: ForwardSettings,
        device: torch.device | str,
    ) -> None:
        self._options = options
        self._model = model
        self._tasks = tasks
        self._source = source
        self._forward = forward
        self._device = device
        self._optimizers = Optimizers(
            model, lr=options.lr, muon_lr=options.muon_lr, max_grad_norm=options.max_grad_norm
        )
        self._hard: list[tuple[str, list[TokenSequence]]] = []

    def observe(self, episodes: Sequence[Trajectory]) -> None:
        """Put aside the tasks of which no episode is right, where there is a demonstration; the newest come first."""
        groups = filters.select("every", episodes)
        failed = [group[0].task for group in groups if not any(member.success for member in group)]
        self._hard = [*self._demonstrated(failed), *self._hard]

    def step(self) -> dict[str, float]:
        """One pass, where enough is put aside.

        Returns:
            `imitation_loss`, the mean negative log-likelihood of the demonstrations' tokens, and
            `imitation_gradient_norm`; nothing where no pass was due.
        """
        size = self._options.size
        if len(self._hard) < size:
            return {}
        chosen, self._hard = self._hard[:size], self._hard[size:]
        parts = [chosen[part :: self._options.mini_batches] for part in range(self._options.mini_batches)]
        told = {"imitation_loss": 0.0, "imitation_gradient_norm": 0.0}
        training = self._model.training
        for part in filter(None, parts):
            sequences = [sequence for _, held in part for sequence in held]
            loss = train_step(
                self._model,
                sequences,
                self._forward,
                self._device,
                entropy_coef=self._options.entropy_coef,
            )
            told["imitation_loss"] += loss * len(part) / size
            told["imitation_gradient_norm"] += self._optimizers.step() * len(part) / size
        self._model.train(training)
        return told

    def _demonstrated(self, ids: Sequence[str]) -> list[tuple[str, list[TokenSequence]]]:
        tasks: list[Task] = [self._tasks.find(task) for task in ids]
        return [(task.id, held) for task, held in zip(tasks, self._source.of(tasks), strict=True) if held]

    def state_dict(self) -> dict[str, Any]:
        """The tasks that are put aside, whose demonstrations are asked for anew, and the optimizer's state."""
        return {"hard": [task for task, _ in self._hard], "optimizers": self._optimizers.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` gave."""
        self._hard = self._demonstrated(state["hard"])
        self._optimizers.load_state_dict(state["optimizers"])


class Host(Protocol):
    """What ReLIFT uses of a run, `toolenvs.train.run.Run`."""

    @property
    def settings(self) -> Any:
        """Of the run."""

    @property
    def model(self) -> Any:
        """The policy in training."""

    @property
    def env(self) -> Blueprint:
        """The environment that is trained in."""

    @property
    def runner(self) -> Attended:
        """Where episodes run."""

    @property
    def device(self) -> str:
        """Where the policy is."""


def open_relift(settings: ReliftSettings, run: Host) -> Relift | None:
    """That of a run; None where it has none.

    Raises:
        ConfigError: an option is wrong, or there are no demonstrations.
    """
    if not settings.relift:
        return None
    try:
        options = schema.read(Options, settings.relift_options, "relift_options")
    except PageError as error:
        raise ConfigError(str(error)) from None
    source = open_demonstrations(options.demonstrations, run.env, run.runner.run, seed=run.settings.seed)
    return Relift(
        options,
        run.model,
        run.env.tasks,
        source,
        forward=run.settings,
        device=run.device,
    )
