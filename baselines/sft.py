"""Supervised fine-tuning on tool-use transcripts: the cold start that RL begins from (ReTool, section 3.2).

    python baselines/sft.py --recipe baselines/recipes/retool_tiny_sft.toml --output runs/tiny/sft
    torchrun --nproc-per-node 8 baselines/sft.py ...      # several GPUs: docs/training.md, Scale

Reads top to bottom: settings, demonstrations, training, evaluation. Only tokens that the policy wrote are trained on:
to train on a tool's output would teach the policy to invent it.
"""

import contextlib
import itertools
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from tqdm import tqdm

from toolenvs import blueprint
from toolenvs.agents.engine import Engine
from toolenvs.attended import Attended
from toolenvs.coldstart import read_rows, to_tokens
from toolenvs.errors import ConfigError
from toolenvs.rollout import Trajectory, TrajectoryWriter, collect, read_trajectories
from toolenvs.train import checkpoint, ranks
from toolenvs.train.batching import TokenSequence
from toolenvs.train.engines.transformers import TransformersEngine
from toolenvs.train.evaluate import evaluate
from toolenvs.train.forward import ForwardSettings
from toolenvs.train.imitation import train_step
from toolenvs.train.metrics import MetricsWriter
from toolenvs.train.optim import Optimizers
from toolenvs.train.placed import PlacedPolicy
from toolenvs.train.plots import learning_curve
from toolenvs.train.policy import MADE_HERE, load_policy
from toolenvs.train.recipe import parse
from toolenvs.train.record import write_settings
from toolenvs.train.sampler import TaskSampler
from toolenvs.train.tiny import demonstrator
from toolenvs.train.trajectories import sequences_of, trainable


@dataclass(frozen=True, kw_only=True)
class Args(ForwardSettings):
    """Settings of a run."""

    output: str
    """Folder of the run: metrics, checkpoints, demonstrations and the trained model."""
    page: str = "toolenvs/ReTool-v0"
    """The environment that demonstrations are made in and that the policy is evaluated in."""
    env: Mapping[str, Any] = field(default_factory=dict)
    """Keys of the page to override, as in `--env.budget.max_calls 2`."""
    test_env: Mapping[str, Any] = field(default_factory=dict)
    """Further overrides for the evaluation, such as another split."""
    model: str = "tiny"
    """A model folder, a name on the hub, "tiny" or "tiny-reader"."""
    demonstrations: str = "scripted"
    """A file or folder of trajectories, or "scripted": a fallible script acts in the environment."""
    rows: str = ""
    """A file of verified cold-start rows, as `baselines/coldstart.py` writes, to learn from in place of those."""
    size: int = 2000
    """Demonstrations to train on."""
    steps: int = 100
    """Optimizer steps."""
    batch: int = 64
    """Demonstrations in each step."""
    lr: float = 1e-5
    """Peak learning rate of AdamW."""
    muon_lr: float = 0.0
    """Peak learning rate of Muon for hidden matrices; with 0 AdamW takes them too."""
    weight_decay: float = 0.0
    """Decoupled weight decay."""
    warmup_steps: int = 10
    """Steps over which the learning rates rise."""
    decay: bool = True
    """Whether the learning rates then fall to 0 at the last step."""
    max_grad_norm: float = 1.0
    """Gradients are scaled down to this norm."""
    seed: int = 0
    """Seed of the demonstrations and of their order."""
    test_tasks: int = 256
    """Held-out tasks to evaluate on after the last step."""
    max_turn_tokens: int = 1024
    """Tokens that the policy may sample in one turn of the evaluation."""
    checkpoint_every: int = 50
    """Steps between checkpoints."""
    resume: bool = False
    """Go on from the newest checkpoint in `output`."""
    threads: int = 0
    """CPU threads of torch; 0 for its own choice."""
    rank_timeout_s: float = ranks.TIMEOUT_S
    """With torchrun: wall-clock seconds that processes wait for one another."""


def main(args: Args) -> dict[str, float]:
    """Train, evaluate and save; returns the evaluation's metrics."""
    if args.threads:
        torch.set_num_threads(args.threads)
    with ranks.joined(args.rank_timeout_s):
        return train(args, Path(args.output))


def train(args: Args, output: Path) -> dict[str, float]:
    """As `main`, in each of the processes that torchrun started, or in the only one."""
    hidden = args.model not in MADE_HERE or not ranks.chief()
    with tqdm(desc="base phase", unit="step", leave=False, disable=hidden) as bar:
        model, tokenizer = load_policy(args.model, progress=lambda step, loss: bar.update())
    policy = PlacedPolicy(model, args, next(model.parameters()).dtype, sampled_here=True)
    env = blueprint.load(args.page, tokenizer=tokenizer, **args.env)
    test_env = blueprint.load(args.page, tokenizer=tokenizer, **{**args.env, **args.test_env})
    device = "cuda" if torch.cuda.is_available() else "cpu"

    with Attended() as runner:
        if args.rows:
            sequences = cold_start_rows(args, env)
        else:
            shown = demonstrations(args, env, output, runner)
            sequences = [one for number, episode in enumerate(shown) for one in sequences_of(episode, episode=number)]
        optimizers = Optimizers(
            policy.model,
            lr=args.lr,
            muon_lr=args.muon_lr,
            weight_decay=args.weight_decay,
            warmup_steps=args.warmup_steps,
            decay_steps=args.steps if args.decay else None,
            max_grad_norm=args.max_grad_norm,
        )
        sampler = TaskSampler(len(sequences), args.seed)
        done = 0
        saved = checkpoint.list_checkpoints(output / "checkpoints")
        if args.resume and saved:
            done, sampler.position = checkpoint.load(saved[-1], model=policy.model, optimizers=optimizers)

        with contextlib.ExitStack() as stack:
            metrics = None
            if ranks.chief():
                metrics = stack.enter_context(MetricsWriter(output, done if args.resume else None))
                write_settings(output, "SFT", args, done, device=device)
            left = range(done + 1, args.steps + 1)
            for step in tqdm(left, desc="SFT", initial=done, total=args.steps, disable=not ranks.chief()):
                started_s = time.perf_counter()
                chosen = [sequences[index] for index in sampler.take(args.batch)]
                loss = train_step(policy.model, chosen, args, device)
                norm = optimizers.step()
                if metrics is not None:
                    took_s = time.perf_counter() - started_s
                    metrics.write(step, {"loss": loss, "gradient_norm": norm, "step_s": took_s})
                if step % args.checkpoint_every == 0 or step == args.steps:
                    checkpoint.save(
                        output / "checkpoints",
                        step=step,
                        model=policy.model,
                        optimizers=optimizers,
                        sampler=sampler.position,
                    )

        engine: Engine = TransformersEngine(policy.refresh(), tokenizer)
        tasks = [test_env.tasks[index] for index in range(min(args.test_tasks, len(test_env.tasks)))]
        result, _ = evaluate(test_env, engine, tasks, runner, max_turn_tokens=args.max_turn_tokens)
    policy.save(output / "model", tokenizer)
    if ranks.chief():
        learning_curve({"SFT": output}, ["loss"], output / "curve.png", title="cold start")
        print(f"held-out success after the cold start: {result['test_success']:.3f} ({len(tasks)} tasks)")
    return result


def demonstrations(args: Args, env: blueprint.Blueprint, output: Path, runner: Attended) -> list[Trajectory]:
    """Trajectories to learn from: read from a file, or acted out by the script."""
    if args.demonstrations != "scripted":
        found = [trajectory for trajectory in read_trajectories(args.demonstrations) if trainable(trajectory)]
        if not found:
            raise ConfigError(f"{args.demonstrations} holds no trajectory with tokens of a policy")
        return found[: args.size]
    tasks = [env.tasks[index % len(env.tasks)] for index in range(args.size)]
    agent = demonstrator(env, args.seed)
    with tqdm(total=len(tasks), desc="demonstrations", leave=False, disable=not ranks.chief()) as bar:

        def act(part: range) -> list[Trajectory]:
            return runner.run(
                collect(env, agent, tasks, seed=args.seed, on_trajectory=lambda one: bar.update(), part=part)
            )

        acted = ranks.shared(len(tasks), act)
    if ranks.chief():
        path = output / "demonstrations.jsonl"
        path.unlink(missing_ok=True)
        with TrajectoryWriter(path) as writer:
            for trajectory in acted:
                writer.write(trajectory)
    return [trajectory for trajectory in acted if trainable(trajectory)]


def cold_start_rows(args: Args, env: blueprint.Blueprint) -> list[TokenSequence]:
    """The rows in the tokens of this policy, observations masked."""
    if env.codec is None:
        raise ConfigError("cold-start rows need a tokenizer to be trained on")
    rows = [to_tokens(row, env.codec) for row in itertools.islice(read_rows(args.rows), args.size)]
    return [TokenSequence.of(tokens.ids, tokens.mask) for tokens in rows]


if __name__ == "__main__":
    main(parse(Args, description=__doc__ or ""))
