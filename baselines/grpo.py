"""Group-wise policy optimisation on tool-use episodes: GRPO and what grew out of it, by a few keys.

    python baselines/grpo.py --recipe baselines/recipes/retool_tiny.toml --output runs/tiny/grpo
    torchrun --nproc-per-node 8 baselines/grpo.py ...      # several GPUs: docs/training.md, Scale

A few keys make the algorithm: `estimator`, `policy_loss` and `filter` name files in advantages, policy_losses and
filters, `aggregation` a form in losses.py; all of them in toolenvs/train.

    GRPO           grpo                     seq-mean-token-mean        clip 0.2 / 0.2
    DAPO           grpo                     token-mean                 clip 0.2 / 0.28; groups without spread dropped,
                                                                       and made up for (generation_batches); overlong_*
    Dr. GRPO       dr_grpo                  seq-mean-token-sum-norm    clip 0.2 / 0.2
    RLOO           rloo                     token-mean                 clip 0.2 / 0.2
    REINFORCE++    reinforce_pp             token-mean                 kl_form k1, kl_place reward, filter every
      baseline     reinforce_pp_baseline    token-mean
    Lite PPO       lite_ppo                 token-mean                 clip 0.2 / 0.2
    StarPO-S       grpo                     token-mean                 filter uncertain, filter_share 0.25
    turn credit    turn_returns             seq-mean-token-sum-norm    turn_gamma 0.4 (Kevin)
    DOTS           grpo                     token-mean                 selector dots, replay dots
    RePO           grpo                     seq-mean-token-mean        replay repo_reward, filter every
    ExGRPO         grpo                     token-mean                 replay exgrpo, filter every
    ReLIFT         dr_grpo                  token-mean                 relift: demonstrations of the hardest tasks
    TreeRL         tree_rl                  token-mean                 rollout tree

    rollouts       rollout spec_rl (SPEC-RL); guidance questa, guide, prefix_rl: drafts, hints and prefixes
    off-policy     policy_loss m2po, ppo_ewma, cispo, tis, topr, kimi; three policies: recompute_logprobs, correction
    RPG            policy_loss rpg, or kl_form rpg-... with kl_from old

Reads top to bottom in the order of a step: roll out, choose groups, estimate advantages, update, report. What is around
it (policy, engine, tests, checkpoints) is toolenvs/train/run.py, the update toolenvs/train/update.py; their settings
stand there. ppo.py is the same with a critic. What each metric means stands in baselines/README.md.
"""

from dataclasses import dataclass, replace

import torch

from toolenvs.errors import ConfigError
from toolenvs.rollout import Trajectory
from toolenvs.tokens import Mask
from toolenvs.train import advantages, filters
from toolenvs.train.batching import Batch, pad
from toolenvs.train.credit import CreditSettings, assign_credit
from toolenvs.train.recipe import parse
from toolenvs.train.run import Run, RunSettings
from toolenvs.train.streams import seed_of
from toolenvs.train.trajectories import sequences_of_groups, summary


@dataclass(frozen=True, kw_only=True)
class Args(RunSettings, CreditSettings):
    """Settings of a run."""

    prompts: int = 32
    """Groups that a step trains on; fewer where groups are dropped and not made up for."""
    samples: int = 8
    """Episodes of each prompt."""
    filter: str = "informative"
    """Which groups are trained on: a file in toolenvs/train/filters."""
    filter_share: float = 1.0
    """Of the filter `uncertain`: the share of groups that it keeps."""
    filter_low: float = 0.2
    """Of the filter `band`: the lowest success rate that it keeps."""
    filter_high: float = 0.8
    """Of the filter `band`: the highest."""
    generation_prompts: int = 0
    """Prompts of one rollout batch; 0 for as many as `prompts`."""
    generation_batches: int = 1
    """How often a step may roll out further prompts to make up for dropped groups (DAPO's dynamic sampling)."""
    mask_observations: bool = True
    """False trains on what the tool wrote as if the policy had: an ablation, never a setting."""


def main(args: Args) -> dict[str, float]:
    """Train, evaluate and save; returns the metrics of the last evaluation."""
    if "values" in advantages.needs(args.estimator):
        raise ConfigError(f"estimator {args.estimator!r} needs the values of a critic; baselines/ppo.py trains one")
    with Run(args, "GRPO") as run:
        for step in run.steps():
            trajectories, groups = roll_out(args, run, step)
            run.rolled_out()
            line = {**summary(trajectories), "groups": float(len(groups))}
            if groups:
                batch = make_batch(args, run, groups)
                old_logprobs = run.updater.rescore(batch) if args.recompute_logprobs else batch.logprobs
                batch, shaped = run.updater.shape_rewards(batch, old_logprobs)
                credit = assign_credit(args, batch)
                updated = run.updater.update(batch, old_logprobs, credit.advantages, step)
                line |= updated | shaped
                if updated:
                    run.push(step)
            line |= run.interleave(step)
            run.report(step, line, trajectories)
    return run.tested


def roll_out(args: Args, run: Run, step: int) -> tuple[list[Trajectory], filters.Groups]:
    """Episodes of this step, and the groups among them that the filter chose, at most `args.prompts`."""
    trajectories: list[Trajectory] = []
    groups: filters.Groups = []
    prompts = run.experience.begin(step, args.prompts)
    for batch in range(args.generation_batches):
        tasks = run.experience.tasks(args.generation_prompts or prompts, n=args.samples)
        episodes = run.rollout.collect(
            tasks,
            n=args.samples,
            seed=seed_of("rollout", args.seed, step, batch),
            progress=step / args.steps,
        )
        run.experience.observe(episodes)
        trajectories += episodes
        groups += filters.select(args.filter, episodes, args.filter_share, low=args.filter_low, high=args.filter_high)
        if len(groups) >= prompts:
            break
    return trajectories, groups[:prompts]


def make_batch(args: Args, run: Run, groups: filters.Groups) -> Batch:
    """The sequences of all groups, with what the tools wrote masked."""
    batch = pad(sequences_of_groups(groups) + run.experience.replayed(groups), run.device)
    if args.mask_observations:
        return batch
    exposed = expose_observations(batch)
    sampled = exposed.mask == batch.mask  # of which the engine's numbers are known, and replayed ones' too
    return replace(exposed, logprobs=torch.where(sampled, batch.logprobs, run.updater.rescore(exposed)))


def expose_observations(batch: Batch) -> Batch:
    """The same batch with mask 1 on every token behind the prompt."""
    behind = (batch.mask == Mask.POLICY).cumsum(1) > 0
    exposed = behind & (batch.mask == Mask.ENVIRONMENT) & (batch.attention == 1)
    return replace(batch, mask=batch.mask.masked_fill(exposed, Mask.POLICY))


if __name__ == "__main__":
    settings = parse(Args, description=__doc__ or "")
    if settings.samples < 2 and settings.filter in ("informative", "rest") and settings.rollout != "tree":
        raise ConfigError(f"samples is {settings.samples}; a group needs at least 2 episodes to be compared")
    main(settings)
