"""Group-wise policy optimisation on tool-use episodes: GRPO and what grew out of it, by three switches.

    python baselines/grpo.py --recipe baselines/recipes/retool_tiny.toml --output runs/tiny/grpo

`estimator` (toolenvs/train/advantages), `aggregation` (toolenvs/train/losses) and the clip make the algorithm:

    GRPO      grpo                    seq-mean-token-mean        clip 0.2 / 0.2
    DAPO      grpo                    token-mean                 clip 0.2 / 0.28, groups of zero variance dropped
    Dr. GRPO  dr_grpo                 seq-mean-token-sum-norm    clip 0.2 / 0.2
    RLOO      rloo                    token-mean                 clip 0.2 / 0.2
    REINFORCE++ with baseline         reinforce_pp_baseline, token-mean

Reads top to bottom in the order of a step: roll out, drop what teaches nothing, estimate advantages, update, report.
What each metric means stands in baselines/README.md.
"""

import asyncio
import copy
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tqdm import tqdm

from toolenvs import blueprint
from toolenvs.agents.engine import Engine, EngineAgent, Sampling
from toolenvs.errors import ConfigError
from toolenvs.rollout import Trajectory, TrajectoryWriter, collect
from toolenvs.tokens import Mask
from toolenvs.train import checkpoint
from toolenvs.train.advantages import estimator
from toolenvs.train.batching import Batch, micro_batches, pad
from toolenvs.train.engines.transformers import TransformersEngine
from toolenvs.train.evaluate import evaluate
from toolenvs.train.kl import kl_per_token
from toolenvs.train.losses import Denominator, aggregate, policy_loss, sampling_correction
from toolenvs.train.metrics import MetricsWriter
from toolenvs.train.optim import Optimizers
from toolenvs.train.plots import learning_curve
from toolenvs.train.policy import MADE_HERE, load_policy, save_policy
from toolenvs.train.recipe import parse
from toolenvs.train.sampler import TaskSampler
from toolenvs.train.scoring import score
from toolenvs.train.trajectories import informative_groups, sequence_of, summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Args:
    """Settings of a run."""

    # Where from and where to
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
    seed: int = 0
    """Seed of the order of tasks, of sampling and of the mini-batches."""
    threads: int = 0
    """CPU threads of torch; 0 for its own choice."""

    # Rollouts
    steps: int = 120
    """Rollouts, each followed by its updates."""
    prompts: int = 32
    """Groups that a step trains on; fewer where groups are dropped and not made up for."""
    samples: int = 8
    """Episodes of each prompt."""
    generation_batches: int = 1
    """How often a step may roll out further prompts to make up for dropped groups (DAPO's dynamic sampling)."""
    temperature: float = 1.0
    """Of sampling; the trainer scores tokens at the same one."""
    top_p: float = 1.0
    """Nucleus of sampling."""
    max_turn_tokens: int = 1024
    """Tokens that the policy may sample in one turn."""

    # Updates
    estimator: str = "grpo"
    """How advantages are estimated: a file in toolenvs/train/advantages."""
    aggregation: str = "token-mean"
    """How per-token losses are summed up: a key of losses.AGGREGATIONS."""
    constant_tokens: int | None = None
    """The length that `seq-mean-token-sum-norm` divides by."""
    clip_low: float = 0.2
    """How far the ratio may fall below 1."""
    clip_high: float = 0.28
    """How far the ratio may rise above 1."""
    dual_clip: float = 10.0
    """Bound of the loss where the advantage is negative, in units of it; 0 leaves it out."""
    kl_coef: float = 0.0
    """Weight of the divergence from the initial policy in the loss; 0 keeps no reference model."""
    kl_form: str = "k3"
    """Estimate of that divergence: k1, k2 or k3."""
    recompute_logprobs: bool = False
    """Whether the trainer scores the rollout before the first update, instead of trusting the engine's numbers."""
    correction_cap: float = 2.0
    """Where they are recomputed: bound of the importance weight between trainer and engine; 0 for no weights."""
    mask_observations: bool = True
    """False trains on what the tool wrote as if the policy had: an ablation, never a setting."""
    mini_batches: int = 2
    """Updates that each rollout is cut into."""
    micro_batch_tokens: int = 4096
    """Tokens, padding included, that go through the model at once."""
    lr: float = 1e-6
    """Learning rate of AdamW."""
    muon_lr: float = 0.0
    """Learning rate of Muon for hidden matrices; with 0 AdamW takes them too."""
    weight_decay: float = 0.0
    """Decoupled weight decay."""
    warmup_steps: int = 0
    """Updates over which the learning rates rise."""
    decay: bool = False
    """Whether the learning rates then fall to 0 at the last step."""
    max_grad_norm: float = 1.0
    """Gradients are scaled down to this norm."""

    # Reports
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


def main(args: Args) -> dict[str, float]:
    """Train, evaluate and save; returns the metrics of the last evaluation."""
    if args.threads:
        torch.set_num_threads(args.threads)
    output = Path(args.output)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    with tqdm(desc="base phase", unit="step", leave=False, disable=args.model not in MADE_HERE) as bar:
        model, tokenizer = load_policy(args.model, progress=lambda step, loss: bar.update())
    model.to(device)
    reference = copy.deepcopy(model).requires_grad_(False) if args.kl_coef else None
    env = blueprint.load(args.page, tokenizer=tokenizer, **args.env)
    test_env = blueprint.load(args.page, tokenizer=tokenizer, **{**args.env, **args.test_env})
    test_tasks = [test_env.tasks[index] for index in range(min(args.test_tasks, len(test_env.tasks)))]
    engine: Engine = TransformersEngine(model, tokenizer)
    agent = EngineAgent(
        engine, Sampling(temperature=args.temperature, top_p=args.top_p, max_turn_tokens=args.max_turn_tokens)
    )
    optimizers = Optimizers(
        model,
        lr=args.lr,
        muon_lr=args.muon_lr,
        weight_decay=args.weight_decay,
        warmup_steps=args.warmup_steps,
        decay_steps=args.steps * args.mini_batches if args.decay else None,
        max_grad_norm=args.max_grad_norm,
    )
    sampler = TaskSampler(len(env.tasks), args.seed)

    done = 0
    saved = checkpoint.list_checkpoints(output / "checkpoints")
    if args.resume and saved:
        done, sampler.position = checkpoint.load(saved[-1], model=model, optimizers=optimizers)
        engine.push_weights(model.state_dict(), done)

    def test() -> dict[str, float]:
        result, _ = evaluate(
            test_env,
            engine,
            test_tasks,
            runner,
            temperature=args.test_temperature,
            top_p=args.test_top_p,
            max_turn_tokens=args.max_turn_tokens,
        )
        return result

    with asyncio.Runner() as runner, MetricsWriter(output, done if args.resume else None) as metrics:
        tested = test()
        if done == 0:
            metrics.write(0, tested)
        bar = tqdm(range(done + 1, args.steps + 1), desc="GRPO", initial=done, total=args.steps)
        for step in bar:
            started_s = time.perf_counter()
            trajectories, groups = roll_out(args, env, agent, sampler, runner, step)
            rolled_s = time.perf_counter()
            line = {**summary(trajectories), "groups": float(len(groups))}
            if groups:
                batch = pad(
                    [sequence_of(member, group) for group, members in enumerate(groups) for member in members], device
                )
                if not args.mask_observations:
                    batch = expose_observations(batch)
                    batch = replace(batch, logprobs=rescore(args, model, batch))
                advantages = estimator(args.estimator)(batch.rewards, batch.mask, batch.groups)
                line |= update(args, model, reference, optimizers, batch, advantages, step)
                engine.push_weights(model.state_dict(), step)
            line |= {"rollout_s": rolled_s - started_s, "update_s": time.perf_counter() - rolled_s}
            if step % args.test_every == 0 or step == args.steps:
                tested = test()
                line |= tested
            metrics.write(step, line)
            bar.set_postfix(success=f"{line['success']:.2f}", test=f"{tested['test_success']:.2f}")
            if args.trajectories_every and step % args.trajectories_every == 0:
                write_trajectories(output / "trajectories" / f"step-{step:06d}.jsonl", trajectories)
            if step % args.checkpoint_every == 0 or step == args.steps:
                checkpoint.save(
                    output / "checkpoints", step=step, model=model, optimizers=optimizers, sampler=sampler.position
                )
    save_policy(output / "model", model, tokenizer)
    learning_curve({"GRPO": output}, ["success", "test_success", "tool_use"], output / "curve.png", title=args.page)
    print(f"held-out success after step {args.steps}: {tested['test_success']:.3f} ({len(test_tasks)} tasks)")
    return tested


def roll_out(
    args: Args,
    env: blueprint.Blueprint,
    agent: EngineAgent,
    sampler: TaskSampler,
    runner: asyncio.Runner,
    step: int,
) -> tuple[list[Trajectory], list[list[Trajectory]]]:
    """Episodes of this step, and the groups among them that teach something, at most `args.prompts`."""
    trajectories: list[Trajectory] = []
    groups: list[list[Trajectory]] = []
    for batch in range(args.generation_batches):
        tasks = [env.tasks[index] for index in sampler.take(args.prompts)]
        episodes = runner.run(
            collect(
                env,
                agent,
                tasks,
                n=args.samples,
                seed=int(np.random.SeedSequence([args.seed, step, batch]).generate_state(1)[0]),
                progress=step / args.steps,
            )
        )
        trajectories += episodes
        groups += informative_groups(episodes)
        if len(groups) >= args.prompts:
            break
    return trajectories, groups[: args.prompts]


def update(
    args: Args,
    model: Any,
    reference: Any,
    optimizers: Optimizers,
    batch: Batch,
    advantages: torch.Tensor,
    step: int,
) -> dict[str, float]:
    """One pass over the batch in mini-batches; returns what the updates looked like, token means over the batch."""
    device = batch.ids.device
    old_logprobs, weights = batch.logprobs, None
    if args.recompute_logprobs:
        old_logprobs = rescore(args, model, batch)
        if args.correction_cap:
            weights = sampling_correction(old_logprobs, batch.logprobs, batch.mask, cap=args.correction_cap)

    order = torch.from_numpy(np.random.default_rng([args.seed, step]).permutation(len(batch))).to(device)
    whole = Denominator.of(batch.mask)
    sums: dict[str, float] = dict.fromkeys(("loss", "entropy", "kl", "clipped", "ratio", "gradient_norm"), 0.0)
    mini_batches = order.chunk(min(args.mini_batches, len(batch)))
    for mini_batch in mini_batches:
        denominator = Denominator.of(batch.mask[mini_batch])
        for members in micro_batches(batch.lengths[mini_batch].tolist(), args.micro_batch_tokens):
            index = mini_batch[torch.tensor(members, device=device)]
            part = batch.rows(index)
            width = part.ids.shape[1]
            scores = score(model, part, temperature=args.temperature)
            surrogate = policy_loss(
                scores.logprobs,
                old_logprobs[index, :width],
                advantages[index, :width],
                part.mask,
                clip_low=args.clip_low,
                clip_high=args.clip_high,
                dual_clip=args.dual_clip or None,
            )
            per_token = surrogate.loss if weights is None else surrogate.loss * weights[index, :width]
            if reference is not None:
                with torch.no_grad():
                    anchor = score(reference, part, temperature=args.temperature).logprobs
                kl = kl_per_token(scores.logprobs, anchor, part.mask, args.kl_form)
                per_token = per_token + args.kl_coef * kl
                sums["kl"] += float(kl.detach().sum()) / whole.tokens
            loss = aggregate(per_token, part.mask, args.aggregation, denominator, args.constant_tokens)
            loss.backward()
            sums["loss"] += float(loss.detach()) / len(mini_batches)
            for name, values in (
                ("entropy", scores.entropy),
                ("clipped", surrogate.clipped),
                ("ratio", surrogate.ratio),
            ):
                sums[name] += float(values.sum()) / whole.tokens
        sums["gradient_norm"] += optimizers.step() / len(mini_batches)
    return sums


def expose_observations(batch: Batch) -> Batch:
    """The same batch with mask 1 on every token behind the prompt."""
    behind = (batch.mask == Mask.POLICY).cumsum(1) > 0
    exposed = behind & (batch.mask == Mask.ENVIRONMENT) & (batch.attention == 1)
    return replace(batch, mask=batch.mask.masked_fill(exposed, Mask.POLICY))


@torch.no_grad()
def rescore(args: Args, model: Any, batch: Batch) -> torch.Tensor:
    """Log-probabilities [B, T] of the rollout's tokens under the policy before its first update."""
    rescored = torch.zeros_like(batch.logprobs)
    for members in micro_batches(batch.lengths.tolist(), args.micro_batch_tokens):
        index = torch.tensor(members, device=batch.ids.device)
        part = batch.rows(index)
        rescored[index, : part.ids.shape[1]] = score(model, part, temperature=args.temperature).logprobs
    return rescored


def write_trajectories(path: Path, trajectories: list[Trajectory]) -> None:
    """One file for one step, so that a resumed run writes it anew instead of twice."""
    path.unlink(missing_ok=True)
    with TrajectoryWriter(path) as writer:
        for trajectory in trajectories:
            writer.write(trajectory)


if __name__ == "__main__":
    settings = parse(Args, description=__doc__ or "")
    if settings.samples < 2:
        raise ConfigError(f"samples is {settings.samples}; a group needs at least 2 episodes to be compared")
    main(settings)
