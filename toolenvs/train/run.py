"""What is around the algorithm of every policy-gradient script: policy, engine, tests, reports, checkpoints.

with Run(args, "GRPO") as run:
    for step in run.steps():
        ...                     # roll out, estimate, update run.model
        run.report(step, line, trajectories)
print(run.tested)
"""

import asyncio
import contextlib
import copy
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from tqdm import tqdm

from toolenvs import blueprint
from toolenvs.agents.engine import Engine, EngineAgent, Sampling
from toolenvs.rollout import Trajectory, TrajectoryWriter, collect
from toolenvs.tasks.task import Task
from toolenvs.train import checkpoint, lora
from toolenvs.train.engines.opening import TRANSFORMERS, open_for
from toolenvs.train.engines.sync import push
from toolenvs.train.engines.transformers import TransformersEngine
from toolenvs.train.evaluate import SEED, evaluate, tested
from toolenvs.train.ewma import Ewma
from toolenvs.train.experience import Experience, ExperienceSettings
from toolenvs.train.metrics import MetricsWriter
from toolenvs.train.optim import Optimizers
from toolenvs.train.plots import learning_curve
from toolenvs.train.policy import MADE_HERE, load_policy, save_policy
from toolenvs.train.policy_losses import needs
from toolenvs.train.relift import open_relift
from toolenvs.train.update import Updater, UpdateSettings
from toolenvs.train.workers.opening import open_workers
from toolenvs.train.workers.pool import Workers
from toolenvs.train.workers.settings import WorkerSettings


@dataclass(frozen=True, kw_only=True)
class RunSettings(UpdateSettings, ExperienceSettings, WorkerSettings):
    """A run apart from its algorithm."""

    output: str
    """Folder of the run: metrics, checkpoints, trajectories, the learning curve and the trained model."""
    page: str = "toolenvs/ReTool-v0"
    """The environment."""
    env: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the page to override, as in `--env.budget.max_calls 2`."""
    test_env: Mapping[str, Any] = field(default_factory=dict)
    """Further overrides for the evaluation, such as another split."""
    model: str = "tiny"
    """A model folder, a name on the hub, "tiny" or "tiny-reader"."""
    threads: int = 0
    """CPU threads of torch; 0 for its own choice."""

    engine: str = "transformers"
    """What samples: transformers (the very model that is trained), or vllm."""
    engine_python: str = ""
    """The interpreter that the engine runs in, where its packages do not fit the trainer's; "" for this one."""
    engine_url: str = ""
    """Where an engine is served; "" for none."""
    engine_options: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the engine's class, as in `--engine_options.max_context 2048`."""

    steps: int = 120
    """Rollouts, each followed by its updates."""
    top_p: float = 1.0
    """Nucleus of sampling."""
    max_turn_tokens: int = 1024
    """Tokens that the policy may sample in one turn."""

    lr: float = 1e-6
    """Learning rate of AdamW."""
    muon_lr: float = 0.0
    """Learning rate of Muon for hidden matrices; with 0 AdamW takes them too."""
    weight_decay: float = 0.0
    """Decoupled weight decay."""
    betas: tuple[float, ...] = (0.9, 0.999)
    """Of AdamW."""
    warmup_steps: int = 0
    """Updates over which the learning rates rise."""
    decay: bool = False
    """Whether the learning rates then fall to 0 at the last step."""
    max_grad_norm: float = 1.0
    """Gradients are scaled down to this norm."""

    adapter: str = "none"
    """Low-rank adapters that are trained in place of the weights: none, lora or dora."""
    adapter_rank: int = 16
    """Rank of their update of each matrix."""
    adapter_alpha: float = 32.0
    """Their update is scaled by alpha / rank."""
    adapter_dropout: float = 0.0
    """Dropout of their input in updates."""
    adapter_targets: tuple[str, ...] = ()
    """Names of the layers that get one; none for every linear layer but the output's."""

    test_tasks: int = 256
    """Held-out tasks."""
    test_every: int = 20
    """Steps between evaluations; there is one before the first step and one after the last in any case."""
    test_temperature: float = 1.0
    """Of sampling in evaluations; 0 takes the most likely token."""
    test_top_p: float = 1.0
    """Nucleus of sampling in evaluations."""
    checkpoint_every: int = 20
    """Steps between checkpoints."""
    trajectories_every: int = 10
    """Steps between rollouts whose trajectories are written to the run's folder; 0 for none."""
    resume: bool = False
    """Go on from the newest checkpoint in `output`."""


class Run(contextlib.AbstractContextManager["Run"]):
    """A run of a script.

    Args:
        settings: of the run.
        title: of its progress bar and its curve.

    Raises:
        ConfigError: no policy can be loaded, or a setting does not fit.
    """

    tested: dict[str, float]
    """Metrics of the last evaluation."""

    def __init__(self, settings: RunSettings, title: str) -> None:
        if settings.threads:
            torch.set_num_threads(settings.threads)
        self.settings = settings
        self.output = Path(settings.output)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self._title = title
        with tqdm(desc="base phase", unit="step", leave=False, disable=settings.model not in MADE_HERE) as bar:
            model, self.tokenizer = load_policy(settings.model, progress=lambda step, loss: bar.update())
        model.to(self.device)
        self.initial: Any = model if settings.adapter == "none" else copy.deepcopy(model)
        """The policy without adapters, as it was loaded where it has some: what a critic is made from."""
        reference = copy.deepcopy(model).requires_grad_(False) if settings.needs_reference else None
        if settings.adapter != "none":
            torch.manual_seed(settings.seed)  # adapters begin at random, and dropout goes on from there
        self.model: Any = lora.attach(
            model,
            settings.adapter,
            rank=settings.adapter_rank,
            alpha=settings.adapter_alpha,
            dropout=settings.adapter_dropout,
            targets=settings.adapter_targets or "all-linear",
        )
        """The policy in training."""
        self.model.train(settings.adapter != "none" and settings.adapter_dropout > 0)
        self.env = blueprint.load(settings.page, tokenizer=self.tokenizer, **settings.env)
        self._test_env = blueprint.load(
            settings.page, tokenizer=self.tokenizer, **{**settings.env, **settings.test_env}
        )
        tasks = self._test_env.tasks
        self.test_tasks = [tasks[index] for index in range(min(settings.test_tasks, len(tasks)))]
        self._sampling = Sampling(
            temperature=settings.temperature, top_p=settings.top_p, max_turn_tokens=settings.max_turn_tokens
        )
        self.workers: Workers | None = None
        """Who rolls out, where it is not this process."""
        self.engine: Engine = self._open_engine()
        self.agent = EngineAgent(self.engine, self._sampling)
        self.optimizers = self.optimizers_for(self.model, lr=settings.lr, muon_lr=settings.muon_lr)
        self.experience = Experience(settings, self.env.tasks, self.collect, seed=settings.seed, steps=settings.steps)
        """Which tasks come next, and what became of earlier ones."""
        self.parts: dict[str, checkpoint.Stateful] = {}
        """What else a checkpoint holds; filled before `steps`."""
        proximal = None
        if "prox_logprobs" in needs(settings.policy_loss):
            proximal = self.parts["proximal"] = Ewma(self.model, settings.ewma_decay)
        self.updater = Updater(
            settings=settings,
            model=self.model,
            optimizers=self.optimizers,
            reference=reference,
            proximal=proximal,
        )
        """The policy's update."""
        self.runner = asyncio.Runner()
        self.relift = open_relift(settings, self)
        if self.relift is not None:
            self.experience.observers.append(self.relift.observe)
            self.parts["relift"] = self.relift
        self._metrics: MetricsWriter | None = None
        self._bar: Any = None
        self._pushed: dict[str, float] = {}

    def optimizers_for(self, model: Any, *, lr: float, muon_lr: float, warmup_steps: int | None = None) -> Optimizers:
        """Optimizers of a network by the run's settings."""
        settings = self.settings
        return Optimizers(
            model,
            lr=lr,
            muon_lr=muon_lr,
            weight_decay=settings.weight_decay,
            betas=(settings.betas[0], settings.betas[1]),
            warmup_steps=settings.warmup_steps if warmup_steps is None else warmup_steps,
            decay_steps=settings.steps * settings.mini_batches * settings.epochs if settings.decay else None,
            max_grad_norm=settings.max_grad_norm,
        )

    def steps(self) -> Iterator[int]:
        """The steps that are left, from 1; a resumed run goes on behind its newest checkpoint."""
        settings = self.settings
        done = 0
        saved = checkpoint.list_checkpoints(self.output / "checkpoints")
        if settings.resume and saved:
            done, experienced = checkpoint.load(
                saved[-1], model=self.model, optimizers=self.optimizers, parts=self.parts
            )
            self.experience.load_state_dict(experienced)
        self.push(done)
        self._metrics = MetricsWriter(self.output, done if settings.resume else None)
        self._test()
        if done == 0:
            self._metrics.write(0, self.tested)
        self._bar = tqdm(range(done + 1, settings.steps + 1), desc=self._title, initial=done, total=settings.steps)
        for step in self._bar:
            self._started_s = time.perf_counter()
            if not self.engine.alive():
                self.push(step - 1)
            yield step
        self._finish()

    def collect(self, tasks: Sequence[Task], **options: Any) -> list[Trajectory]:
        """Episodes of these tasks, acted by the policy as it is.

        Args:
            tasks: of the training environment.
            options: of `toolenvs.rollout.collect`, such as `n`, `seed` and `progress`.
        """
        if self.workers is not None:
            return self.workers.collect(tasks, **options)
        return self.runner.run(collect(self.env, self.agent, tasks, **options))

    def interleave(self, step: int) -> dict[str, float]:
        """ReLIFT's supervised pass, where one is due; returns what there is to report of it and of the replay."""
        passed = {} if self.relift is None else self.relift.step()
        if passed:
            self.push(step)
        return {**self.experience.metrics(), **passed}

    def rolled_out(self) -> None:
        """The rollout of this step is over; what follows is counted as its update."""
        self._rolled_s = time.perf_counter()

    def push(self, step: int) -> None:
        """Give the engine the weights as they are after this step.

        Raises:
            EngineError: it failed, or does not agree with the model about log-probabilities.
        """
        own = lora.has_adapters(self.model) and not self.engine.holds(self.model)
        self._pushed = push(self.engine, lora.merged(self.model) if own else self.model, step)

    def _open_engine(self) -> Engine:
        settings = self.settings
        if settings.workers:
            size = sum(parameter.numel() * parameter.element_size() for parameter in self.model.parameters())
            self.workers = open_workers(settings, self._sampling, size)
            return self.workers
        elsewhere = settings.engine_python or settings.engine_url
        if settings.engine == TRANSFORMERS and not elsewhere:
            return TransformersEngine(self.model, self.tokenizer, **settings.engine_options)
        return open_for(
            settings.engine,
            settings.model,
            python=settings.engine_python,
            url=settings.engine_url,
            options=settings.engine_options,
        )

    def report(self, step: int, line: Mapping[str, float], trajectories: list[Trajectory]) -> None:
        """End a step: test where it is time, write its metrics, trajectories and checkpoint."""
        settings = self.settings
        times = {"rollout_s": self._rolled_s - self._started_s, "update_s": time.perf_counter() - self._rolled_s}
        tested = {}
        if step % settings.test_every == 0 or step == settings.steps:
            tested = self._test()
        assert self._metrics is not None  # opened by `steps`
        self._metrics.write(step, {**line, **self._pushed, **times, **tested})
        self._pushed = {}
        self._bar.set_postfix(success=f"{line['success']:.2f}", test=f"{self.tested['test_success']:.2f}")
        if settings.trajectories_every and step % settings.trajectories_every == 0:
            write_trajectories(self.output / "trajectories" / f"step-{step:06d}.jsonl", trajectories)
        if step % settings.checkpoint_every == 0 or step == settings.steps:
            checkpoint.save(
                self.output / "checkpoints",
                step=step,
                model=self.model,
                optimizers=self.optimizers,
                sampler=self.experience.state_dict(),
                parts=self.parts,
            )

    def _test(self) -> dict[str, float]:
        settings = self.settings
        if self.workers is not None:
            sampling = Sampling(
                temperature=settings.test_temperature,
                top_p=settings.test_top_p,
                max_turn_tokens=settings.max_turn_tokens,
            )
            self.tested = tested(self.workers.collect(self.test_tasks, test=True, sampling=sampling, seed=SEED))
            return self.tested
        self.tested, _ = evaluate(
            self._test_env,
            self.engine,
            self.test_tasks,
            self.runner,
            temperature=settings.test_temperature,
            top_p=settings.test_top_p,
            max_turn_tokens=settings.max_turn_tokens,
        )
        return self.tested

    def _finish(self) -> None:
        """Write the policy and the curve."""
        plain = self.model
        if lora.has_adapters(self.model):
            lora.save_adapters(self.output / "adapter", self.model)
            plain = lora.merged(self.model)
        save_policy(self.output / "model", plain, self.tokenizer)
        names = ["success", "test_success", "tool_use"]
        learning_curve({self._title: self.output}, names, self.output / "curve.png", title=self.settings.page)
        success, count = self.tested["test_success"], len(self.test_tasks)
        print(f"held-out success after step {self.settings.steps}: {success:.3f} ({count} tasks)")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.engine.close()
        self.runner.close()
        if self._metrics is not None:
            self._metrics.close()


def write_trajectories(path: Path, trajectories: list[Trajectory]) -> None:
    """One file for one step, so that a resumed run writes it anew instead of twice."""
    path.unlink(missing_ok=True)
    with TrajectoryWriter(path) as writer:
        for trajectory in trajectories:
            writer.write(trajectory)
