"""PPO on tool-use episodes: grpo.py's loop with a critic, which says what each token was worth.

    python baselines/ppo.py --recipe baselines/recipes/ppo_tiny.toml --output runs/tiny/ppo
    torchrun --nproc-per-node 8 baselines/ppo.py ...      # several GPUs: docs/training.md, Scale

The critic is a network of the policy's architecture with a value head. `estimator` makes the algorithm:

    PPO           gae             gamma, lam, value_clip, critic_warmup_steps
    VAPO          vapo            critic_warmup_steps (value pre-training), critic_lam 1, length_alpha, lm_coef
    StarPO        bi_level_gae    turn_gamma, then gamma
    StarPO-S      bi_level_gae    filter uncertain, filter_share 0.25, clip 0.2 / 0.28, no KL

Observations are skipped: the value of a token is followed by that of the policy's next token, however much a tool wrote
between them. Rollouts, updates of the policy and all settings but the critic's are those of grpo.py.
"""

from dataclasses import dataclass

from grpo import Args as GroupArgs
from grpo import make_batch, roll_out

from toolenvs.errors import ConfigError
from toolenvs.train import advantages
from toolenvs.train.credit import assign_credit
from toolenvs.train.critic import Critic, estimate_values, update_critic
from toolenvs.train.recipe import parse
from toolenvs.train.run import Run
from toolenvs.train.trajectories import summary


@dataclass(frozen=True, kw_only=True)
class Args(GroupArgs):
    """Settings of a run."""

    samples: int = 1
    """Episodes of each prompt."""
    estimator: str = "gae"
    """How advantages are estimated: a file in toolenvs/train/advantages that names `values`."""
    filter: str = "every"
    """Which groups are trained on: a file in toolenvs/train/filters."""
    critic_lr: float = 1e-5
    """Learning rate of the critic's AdamW."""
    critic_muon_lr: float = 0.0
    """Learning rate of Muon for the critic's hidden matrices; with 0 AdamW takes them too."""
    critic_lr_warmup_steps: int = 0
    """Updates over which the critic's learning rates rise."""
    critic_warmup_steps: int = 0
    """Steps at the beginning that train the critic alone, on rollouts of the policy as it is."""
    critic_mini_batches: int = 0
    """Updates of the critic on each pass over a rollout; 0 for as many as the policy's."""
    critic_epochs: int = 1
    """The critic's passes over each rollout."""
    value_clip: float = 0.5
    """How far a value may be moved by one rollout; 0 leaves it out."""


def main(args: Args) -> dict[str, float]:
    """Train, evaluate and save; returns the metrics of the last evaluation."""
    if "values" not in advantages.needs(args.estimator):
        raise ConfigError(f"estimator {args.estimator!r} makes no use of a critic; baselines/grpo.py is without one")
    with Run(args, "PPO") as run:
        critic = run.place(Critic(run.initial))
        critic_mini_batches = args.critic_mini_batches or args.mini_batches
        critic_optimizers = run.optimizers_for(
            critic,
            lr=args.critic_lr,
            muon_lr=args.critic_muon_lr,
            warmup_steps=args.critic_lr_warmup_steps,
            updates=critic_mini_batches * args.critic_epochs,
        )
        run.parts |= {"critic": critic, "critic_optimizers": critic_optimizers}
        for step in run.steps():
            trajectories, groups = roll_out(args, run, step)
            run.rolled_out()
            line = {**summary(trajectories), "groups": float(len(groups))}
            if groups:
                batch = make_batch(args, run, groups)
                old_logprobs = run.updater.rescore(batch) if args.recompute_logprobs else batch.logprobs
                batch, shaped = run.updater.shape_rewards(batch, old_logprobs)
                values = estimate_values(critic, batch, args)
                credit = assign_credit(args, batch, values)
                line |= update_critic(
                    critic,
                    critic_optimizers,
                    batch,
                    values,
                    credit.returns,
                    args,
                    clip=args.value_clip or None,
                    epochs=args.critic_epochs,
                    mini_batches=critic_mini_batches,
                    seed=(args.seed, step),
                )
                updated: dict[str, float] = {}
                if step > args.critic_warmup_steps:
                    updated = run.updater.update(batch, old_logprobs, credit.advantages, step)
                line |= updated | shaped
                if updated:
                    run.push(step)
            line |= run.interleave(step)
            run.report(step, line, trajectories)
    return run.tested


if __name__ == "__main__":
    main(parse(Args, description=__doc__ or ""))
