"""Learning curves: PPO, GRPO, DAPO, VAPO and StarPO-S lift the tiny policy on ReTool-v0.

    python baselines/learning.py --output runs/learning --results baselines/results

All runs of a seed start from its cold start, and roll out 256 episodes a step (DAPO more, where it makes up for dropped
groups). The runs are processes of one thread, `--jobs` of them at a time; one that is complete is not run again, one
that was interrupted goes on. Writes one plot, one table and the numbers behind them.
"""

import argparse
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from ablations import run

from toolenvs.train.metrics import read_metrics
from toolenvs.train.policy import TINY, load_policy

GROUPS = ["--prompts", "32", "--samples", "8"]
UNCERTAIN = ["--filter", "uncertain", "--filter_share", "0.25"]
ALGORITHMS: dict[str, tuple[str, str, list[str]]] = {
    "PPO": ("ppo", "ppo_tiny", []),
    "GRPO": (
        "grpo",
        "retool_tiny",
        ["--aggregation", "seq-mean-token-mean", "--clip_high", "0.2", "--filter", "every"],
    ),
    "DAPO": (
        "grpo",
        "retool_tiny",
        ["--generation_batches", "3", "--overlong_max_tokens", "80", "--overlong_cache_tokens", "20"],
    ),
    "VAPO": ("ppo", "ppo_tiny", [*GROUPS, "--estimator", "vapo", "--length_alpha", "0.5", "--lm_coef", "0.1"]),
    "StarPO-S": (
        "ppo",
        "ppo_tiny",
        [*GROUPS, "--estimator", "bi_level_gae", "--turn_gamma", "0.95", *UNCERTAIN],
    ),
}
"""Script, recipe, and what else makes the algorithm. VAPO's alpha is 0.05 for responses of thousands of tokens; these
have some 30, for which it would give a lambda of 0.3 at most."""
COLOURS = ("#1d4ed8", "#15803d", "#b91c1c", "#a16207", "#7e22ce")


def main() -> None:
    """Run every algorithm with every seed, and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("runs/learning"), help="folder of the runs")
    parser.add_argument("--results", type=Path, default=None, help="folder of the report; by default the runs' own")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=list(ALGORITHMS))
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    parser.add_argument("--steps", type=int, default=None, help="steps of each run; by default the recipes' own")
    parser.add_argument("--tasks", type=int, default=512, help="held-out tasks")
    parser.add_argument("--policy", default=None, help="folder of a policy to start from in place of the cold starts")
    args = parser.parse_args()
    torch.set_num_threads(1)
    with ThreadPoolExecutor(args.jobs) as pool:
        if args.policy is None:
            load_policy(TINY)
            starts = [args.output / f"sft-{seed}" for seed in args.seeds]
            list(pool.map(lambda start, seed: run("sft", "retool_tiny_sft", start, seed, []), starts, args.seeds))
        jobs = [(name, seed) for seed in args.seeds for name in args.algorithms]
        list(pool.map(lambda job: train(args, *job), jobs))
    report(args.output, args.results or args.output, args.algorithms, args.seeds)


def train(args: argparse.Namespace, name: str, seed: int) -> None:
    """One algorithm with one seed."""
    script, recipe, options = ALGORITHMS[name]
    model = args.policy or args.output / f"sft-{seed}" / "model"
    steps = [] if args.steps is None else ["--steps", str(args.steps)]
    run(
        script,
        recipe,
        folder(args.output, name, seed),
        seed,
        ["--model", str(model), "--test_tasks", str(args.tasks), *options, *steps],
    )


def folder(output: Path, name: str, seed: int) -> Path:
    """The folder of one run."""
    return output / f"{name.lower()}-{seed}"


def report(output: Path, results: Path, names: list[str], seeds: list[int]) -> None:
    """One plot of success against steps; a printed table of held-out success before and after; the numbers of both."""
    from matplotlib.figure import Figure

    results.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(3.2 * len(names), 3.4), layout="constrained")
    panels = figure.subplots(1, len(names), squeeze=False, sharey=True)[0]
    heads = ["algorithm", *(f"seed {seed}" for seed in seeds), "mean"]
    table = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    curves: dict[str, dict[str, object]] = {}
    for name, colour, axes in zip(names, COLOURS, panels, strict=False):
        cells, ends = [], []
        for seed in seeds:
            metrics = read_metrics(folder(output, name, seed))
            rolled = [(line["step"], line["success"]) for line in metrics if "success" in line]
            tested = [(line["step"], line["test_success"]) for line in metrics if "test_success" in line]
            label = None if seed != seeds[0] else "held out"
            axes.plot(*zip(*rolled, strict=True), color=colour, linewidth=0.9, alpha=0.6)
            axes.plot(*zip(*tested, strict=True), "o", color=colour, markersize=5, alpha=0.8, label=label)
            curves.setdefault(name, {})[f"seed {seed}"] = {"rollouts": rolled, "held_out": tested}
            cells.append(f"{tested[0][1]:.3f} to {tested[-1][1]:.3f}")
            ends.append(tested[-1][1])
        table.append(f"| {name} | {' | '.join(cells)} | {np.mean(ends):.3f} |")
        axes.set(title=name, xlabel="step", ylim=(-0.03, 1.02))
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("success")
    panels[0].legend()
    figure.suptitle(f"ReTool-v0, tiny policy, {len(seeds)} seeds: rollouts (lines) and held-out tasks (dots)")
    figure.savefig(results / "learning.png", dpi=120)
    text = json.dumps({"seeds": seeds, "curves": curves}, indent=1)
    (results / "learning.json").write_text(text + "\n", encoding="utf-8")
    print("\n".join(table))


if __name__ == "__main__":
    main()
