"""What the demo's result rests on: the same training without the mask, with a tool that lies, and without calls.

    python baselines/ablations.py --output runs/ablations --results baselines/results

Every run starts from the same base policy, with its own seed's cold start, and has the demo's budget. The runs are
processes of one thread, `--jobs` of them at a time. Writes one plot, one table and the numbers behind them.
"""

import argparse
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch

from toolenvs import assets
from toolenvs.train.metrics import read_metrics
from toolenvs.train.policy import TINY, load_policy

CONDITIONS: dict[str, list[str]] = {
    "as it should be": [],
    "without the observation mask": ["--mask_observations", "false"],
    "the tool lies": ["--env.tools", "{ corrupted = {} }", "--env.protocol.calls.code.tool", "corrupted"],
    "no calls allowed": ["--env.budget.max_calls", "0", "--env.budget.when_spent", "notice"],
}
COLOURS = ("#15803d", "#1d4ed8", "#b91c1c", "#a16207")


def main() -> None:
    """Run every condition with every seed, and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("runs/ablations"), help="folder of the runs")
    parser.add_argument("--results", type=Path, default=None, help="folder of the report; by default the runs' own")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time")
    args = parser.parse_args()
    torch.set_num_threads(1)
    load_policy(TINY)
    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(lambda seed: cold_start(args.output, seed), args.seeds))
        jobs = [(condition, seed) for seed in args.seeds for condition in CONDITIONS]
        list(pool.map(lambda job: train(args.output, *job), jobs))
    report(args.output, args.results or args.output, args.seeds)


def cold_start(output: Path, seed: int) -> None:
    """The cold start that all conditions of a seed share."""
    run("sft", "retool_tiny_sft", output / f"sft-{seed}", seed, [])


def train(output: Path, condition: str, seed: int) -> None:
    """GRPO under one condition."""
    options = ["--model", str(output / f"sft-{seed}" / "model"), *CONDITIONS[condition]]
    run("grpo", "retool_tiny", folder(output, condition, seed), seed, options)


def folder(output: Path, condition: str, seed: int) -> Path:
    """The folder of one run."""
    return output / f"{condition.replace(' ', '-')}-{seed}"


def run(script: str, recipe: str, output: Path, seed: int, options: list[str]) -> None:
    """Run a script with a recipe; a run that is complete already is left alone."""
    if (output / "model").is_dir():
        return
    baselines = assets.folder("baselines")
    command = [
        sys.executable,
        str(baselines / f"{script}.py"),
        "--recipe",
        str(baselines / "recipes" / f"{recipe}.toml"),
    ]
    command += ["--seed", str(seed), "--threads", "1", "--resume", "--output", str(output), *options]
    output.mkdir(parents=True, exist_ok=True)
    with (output / "log.txt").open("w", encoding="utf-8") as log:
        if subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False).returncode:
            raise SystemExit(f"{' '.join(command)} failed; see {output}/log.txt")


def report(output: Path, results: Path, seeds: list[int]) -> None:
    """One plot of success against steps; a table, printed, of held-out success where each run ended."""
    from matplotlib.figure import Figure

    results.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    lines = [
        "| condition | " + " | ".join(f"seed {seed}" for seed in seeds) + " | mean |",
        "|---" * (len(seeds) + 2) + "|",
    ]
    ended: dict[str, list[float]] = {}
    for (condition, _), colour in zip(CONDITIONS.items(), COLOURS, strict=True):
        for seed in seeds:
            metrics = read_metrics(folder(output, condition, seed))
            points = [(line["step"], line["test_success"]) for line in metrics if "test_success" in line]
            label = condition if seed == seeds[0] else None
            steps = [(line["step"], line["success"]) for line in metrics if "success" in line]
            axes.plot(*zip(*steps, strict=True), color=colour, linewidth=0.9, alpha=0.6)
            axes.plot(*zip(*points, strict=True), "o", color=colour, label=label, markersize=5, alpha=0.8)
            ended.setdefault(condition, []).append(points[-1][1])
        values = " | ".join(f"{value:.3f}" for value in ended[condition])
        lines.append(f"| {condition} | {values} | {np.mean(ended[condition]):.3f} |")
    title = "ReTool-v0, tiny policy: rollouts (lines) and held-out tasks (dots)"
    axes.set(xlabel="GRPO step", ylabel="success", ylim=(-0.03, 1.02), title=title)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(results / "ablations.png", dpi=120)
    (results / "ablations.json").write_text(json.dumps({"seeds": seeds, "held_out_success": ended}, indent=1) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
