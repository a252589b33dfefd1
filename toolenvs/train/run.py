"""What is around the algorithm of every policy-gradient script: policy, engine, tests, reports, checkpoints.

with Run(args, "GRPO") as run:
    for step in run.steps():
        ...                     # roll out, estimate, update run.model
        run.report(step, line, trajectories)
print(run.tested)
"""

import contextlib
import copy
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

import torch
from tqdm import tqdm

from toolenvs import blueprint
from toolenvs.agents.engine import Engine, EngineAgent, Sampling
from toolenvs.attended import Attended
from toolenvs.rollout import Trajectory, TrajectoryWriter, collect
from toolenvs.tasks.task import Task
from toolenvs.train import checkpoint, lora, ranks
from toolenvs.train.engines.absent import AbsentEngine
from toolenvs.train.engines.opening import TRANSFORMERS, open_for
from toolenvs.train.engines.sync import COARSE_TOLERANCE, push
from toolenvs.train.engines.transformers import TransformersEngine
from toolenvs.train.evaluate import SEED, evaluate, tested
from toolenvs.train.ewma import Ewma
from toolenvs.train.experience import Experience, ExperienceSettings
from toolenvs.train.forward import prepare
from toolenvs.train.optim import Optimizers
from toolenvs.train.placed import PlacedPolicy
from toolenvs.train.plots import learning_curve
from toolenvs.train.policy import MADE_HERE, load_policy
from toolenvs.train.policy_losses import needs
from toolenvs.train.recorder import Recorder, RecorderSettings
from toolenvs.train.relift import open_relift
from toolenvs.train.rollouts import RolloutSettings, open_rollout
from toolenvs.train.sharding import shard
from toolenvs.train.trajectories import reward_spread, shared_text
from toolenvs.train.update import Updater, UpdateSettings
from toolenvs.train.workers.opening import open_workers
from toolenvs.train.workers.pool import Workers
from toolenvs.train.workers.settings import WorkerSettings


@dataclass(frozen=True, kw_only=True)
class RunSettings(UpdateSettings, ExperienceSettings, WorkerSettings, RolloutSettings, RecorderSettings):
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
    """Updates over which the learning rates rise; those that were made, since a step without one warms nothing up."""
    decay: bool = False
    """Whether the learning rates then fall to 0 at the last step. A step that had nothing to learn from counts as any
    other, as in a schedule of transformers, so that they are low at the end however many there were."""
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
    """Steps between rollouts whose trajectories are written to the run's folder, the last step's in any case; 0 for
    none."""
    resume: bool = False
    """Go on from the newest checkpoint in `output`."""
    rank_timeout_s: float = ranks.TIMEOUT_S
    """With torchrun: wall-clock seconds that processes wait for one another, such as for one that still rolls out."""


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
        ranks.start(settings.rank_timeout_s)
        self.settings = settings
        self.output = Path(settings.output)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self._title = title
        hidden = settings.model not in MADE_HERE or not ranks.chief()
        with tqdm(desc="base phase", unit="step", leave=False, disable=hidden) as bar:
            model, self.tokenizer = load_policy(settings.model, progress=lambda step, loss: bar.update())
        self._saved: torch.dtype = next(model.parameters()).dtype
        self.initial: Any = model if settings.adapter == "none" else copy.deepcopy(model)
        """The policy without adapters, as it was loaded where it has some: what a critic is made from."""
        reference = self.place(copy.deepcopy(model).requires_grad_(False)) if settings.needs_reference else None
        if settings.adapter != "none":
            torch.manual_seed(settings.seed)  # adapters begin at random, and dropout goes on from there
        model = lora.attach(
            model,
            settings.adapter,
            rank=settings.adapter_rank,
            alpha=settings.adapter_alpha,
            dropout=settings.adapter_dropout,
            targets=settings.adapter_targets or "all-linear",
        )
        if settings.adapter != "none" and ranks.rank():
            torch.manual_seed(settings.seed + ranks.rank())  # no two processes drop out the same
        model.train(settings.adapter != "none" and settings.adapter_dropout > 0)
        self.parts: dict[str, checkpoint.Stateful] = {}
        """What else a checkpoint holds; filled before `steps`."""
        proximal = None
        if "prox_logprobs" in needs(settings.policy_loss):
            proximal = self.parts["proximal"] = Ewma(model, settings.ewma_decay)
            proximal.model = self.place(proximal.model)
        self._served = bool(settings.workers or settings.engine_url)
        self._share = ranks.by_first if self._served else ranks.shared
        own = settings.engine == TRANSFORMERS and not settings.engine_python and not self._served
        self.policy = PlacedPolicy(model, settings, self._saved, sampled_here=own)
        """The policy, where it is trained and where it is sampled from."""
        self.model: Any = self.policy.model
        """The policy in training."""
        if settings.adapter == "none" and ranks.size() > 1:
            self.initial = self.policy.sampled
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
        self._scheduled: list[tuple[Optimizers, int]] = []
        self.optimizers = self.optimizers_for(self.model, lr=settings.lr, muon_lr=settings.muon_lr)
        self.experience = Experience(settings, self.env.tasks, self.collect, seed=settings.seed, steps=settings.steps)
        """Which tasks come next, and what became of earlier ones."""
        self.updater = Updater(
            settings=settings,
            model=self.model,
            optimizers=self.optimizers,
            reference=reference,
            proximal=proximal,
        )
        """The policy's update."""
        self.runner = Attended()
        """Runs episodes."""
        self.relift = open_relift(settings, self)
        if self.relift is not None:
            self.experience.observers.append(self.relift.observe)
            self.parts["relift"] = self.relift
        self.rollout = open_rollout(settings, self)
        """How tasks become episodes."""
        self.parts |= self.rollout.parts()
        self._recorder: Recorder | None = None
        self._pushed: dict[str, float] = {}

    def place(self, network: Any) -> Any:
        """A network beside the policy, such as a critic: in the run's type, and where the policy is trained."""
        prepare(network, self.settings, self._saved)
        return shard(network).to(self.device)

    def optimizers_for(
        self, model: Any, *, lr: float, muon_lr: float, warmup_steps: int | None = None, updates: int | None = None
    ) -> Optimizers:
        """Optimizers of a network by the run's settings.

        Args:
            model: the network.
            lr: of AdamW.
            muon_lr: of Muon.
            warmup_steps: updates over which they rise; None for as many as the policy's.
            updates: of the network in one step of the run; None for as many as the policy's.
        """
        settings = self.settings
        updates = settings.mini_batches * settings.epochs if updates is None else updates
        made = Optimizers(
            model,
            lr=lr,
            muon_lr=muon_lr,
            weight_decay=settings.weight_decay,
            betas=(settings.betas[0], settings.betas[1]),
            warmup_steps=settings.warmup_steps if warmup_steps is None else warmup_steps,
            decay_steps=settings.steps * updates if settings.decay else None,
            max_grad_norm=settings.max_grad_norm,
        )
        self._scheduled.append((made, updates))
        return made

    def steps(self) -> Iterator[int]:
        """The steps that are left, from 1; a resumed run goes on behind its newest checkpoint."""
        settings = self.settings
        done = 0
        saved = checkpoint.list_checkpoints(self.output / "checkpoints")
        if settings.resume and saved:
            done, experienced = checkpoint.load(
                saved[-1], model=self.model, optimizers=self.optimizers, parts=self.parts
            )
            self.experience.version = done  # for checkpoints that do not say
            self.experience.load_state_dict(experienced)
        self.push(self.experience.version)
        if ranks.chief():
            self._recorder = Recorder(self.output, self._title, settings, done, device=self.device)
        self._test()
        if done == 0 and self._recorder is not None:
            self._recorder.write(0, self.tested)
        for step in range(done + 1, settings.steps + 1):
            self._started_s = time.perf_counter()
            if not all(ranks.gather(self.engine.alive())):
                self.push(self.experience.version)
            yield step
        if self._recorder is not None:
            self._recorder.close()
        self._finish()

    def collect(self, tasks: Sequence[Task], **options: Any) -> list[Trajectory]:
        """Episodes of these tasks, acted by the policy as it is.

        Args:
            tasks: of the training environment.
            options: of `toolenvs.rollout.collect`, such as `n`, `seed` and `progress`.
        """

        def act(part: range) -> list[Trajectory]:
            if self.workers is not None:
                return self.workers.collect(tasks, **options)
            return self.runner.run(collect(self.env, self.agent, tasks, part=part, **options))

        return self._share(len(tasks), act)

    def play(self, count: int, act: Callable[[range], Coroutine[Any, Any, list[Trajectory]]]) -> list[Trajectory]:
        """Episodes of `count` tasks that `act` plays with `agent`, each process its part of them; all get all."""
        return self._share(count, lambda part: self.runner.run(act(part)))

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
        """Give the engine the weights as they are after this step, which names them from now on.

        A step that changes nothing pushes nothing: the weights keep their name, and episodes their age.

        Raises:
            EngineError: it failed, or does not agree with the model about log-probabilities.
        """
        sampled = self.policy.refresh()
        own = lora.has_adapters(sampled) and not self.engine.holds(sampled)
        # An engine of another process computes in the type that the model was saved in.
        coarse = COARSE_TOLERANCE if self._saved in (torch.bfloat16, torch.float16) else None
        self._pushed = push(self.engine, lora.merged(sampled) if own else sampled, step, tolerance=coarse)
        self.experience.renew(step)

    def _open_engine(self) -> Engine:
        settings = self.settings
        if self._served and not ranks.chief():
            return AbsentEngine()
        if settings.workers:
            size = sum(parameter.numel() * parameter.element_size() for parameter in self.policy.sampled.parameters())
            self.workers = open_workers(settings, self._sampling, size)
            return self.workers
        elsewhere = settings.engine_python or settings.engine_url
        if settings.engine == TRANSFORMERS and not elsewhere:
            return TransformersEngine(self.policy.sampled, self.tokenizer, **settings.engine_options)
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
        if self._recorder is not None:
            signs = {**reward_spread(trajectories), **shared_text(trajectories), **self.rollout.metrics()}
            if self.workers is not None:
                signs["workers_replaced"] = float(self.workers.replaced)
            self._recorder.write(step, {**line, **signs, **self._pushed, **times, **tested})
        self._pushed = {}
        every = settings.trajectories_every
        if every and (step % every == 0 or step == settings.steps) and ranks.chief():
            write_trajectories(self.output / "trajectories" / f"step-{step:06d}.jsonl", trajectories)
        for optimizers, updates in self._scheduled:
            optimizers.pass_to(step * updates)
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
        if settings.workers:
            sampling = Sampling(
                temperature=settings.test_temperature,
                top_p=settings.test_top_p,
                max_turn_tokens=settings.max_turn_tokens,
            )

            def act(part: range) -> list[Trajectory]:
                assert self.workers is not None  # only the first process comes here, which has them
                return self.workers.collect(self.test_tasks, test=True, sampling=sampling, seed=SEED)

            self.tested = tested(self._share(len(self.test_tasks), act))
            return self.tested
        self.tested, _ = evaluate(
            self._test_env,
            self.engine,
            self.test_tasks,
            self.runner,
            temperature=settings.test_temperature,
            top_p=settings.test_top_p,
            max_turn_tokens=settings.max_turn_tokens,
            share=self._share,
        )
        return self.tested

    def _finish(self) -> None:
        """Write the policy and the curve."""
        self.policy.save(self.output / "model", self.tokenizer)
        if not ranks.chief():
            return
        names = ["success", "test_success", "tool_use"]
        learning_curve({self._title: self.output}, names, self.output / "curve.png", title=self.settings.page)
        success, count = self.tested["test_success"], len(self.test_tasks)
        print(f"held-out success after step {self.settings.steps}: {success:.3f} ({count} tasks)")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.engine.close()
        self.runner.close()
        if self._recorder is not None:
            self._recorder.close()
        if error is None:
            ranks.end()
        else:
            ranks.explain(error, "its run")


def write_trajectories(path: Path, trajectories: list[Trajectory]) -> None:
    """One file for one step, so that a resumed run writes it anew instead of twice."""
    path.unlink(missing_ok=True)
    with TrajectoryWriter(path) as writer:
        for trajectory in trajectories:
            writer.write(trajectory)
