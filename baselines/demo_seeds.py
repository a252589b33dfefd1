"""What the demos over several seeds share: a cold start and GRPO by two recipes, tests, a table and the curves."""

import argparse
import json
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import grpo
import numpy as np
import sft
import torch
import transformers
from rich.console import Console
from rich.table import Table

from toolenvs import assets, blueprint
from toolenvs.attended import Attended
from toolenvs.rollout import Trajectory
from toolenvs.train.engines.transformers import TransformersEngine
from toolenvs.train.evaluate import evaluate
from toolenvs.train.metrics import read_metrics
from toolenvs.train.policy import TINY_READER, load_policy
from toolenvs.train.recipe import parse

NO_CALLS: Mapping[str, Any] = {"budget.max_calls": 0, "budget.when_spent": "notice"}
"""Keys of the page: a call is answered with the note that none is left."""
Run = Callable[[Path, str, int, int, list[str]], dict[str, float]]
"""One seed, into a folder, from a policy, with a number of held-out tasks and further options of the scripts."""


def main(name: str, run: Run, report: Callable[[Path, list[int], Path], None], description: str | None) -> None:
    """Run the seeds that are missing, and report all."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("runs") / name, help="folder of the runs")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="seeds of the cold start and of GRPO")
    parser.add_argument("--tasks", type=int, default=512, help="held-out questions")
    parser.add_argument("--base", default=TINY_READER, help="policy that the cold start begins from")
    parser.add_argument("--results", type=Path, help="folder of the report; by default the runs' own")
    args, options = parser.parse_known_args()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)  # at this size a second thread gains little alone, and loses much beside anything else
    load_policy(args.base)
    for seed in args.seeds:
        folder = args.output / f"seed-{seed}"
        if not (folder / "result.json").exists():
            shutil.rmtree(folder, ignore_errors=True)
            result = run(folder, args.base, seed, args.tasks, options)
            (folder / "result.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    report(args.output, args.seeds, args.results or args.output)


class Laps:
    """CPU seconds of this process, lap by lap."""

    def __init__(self) -> None:
        self._last_s = time.process_time()

    def lap_s(self) -> float:
        """Since the last lap."""
        before_s, self._last_s = self._last_s, time.process_time()
        return round(self._last_s - before_s, 1)


def cold_start(
    name: str, folder: Path, base: str, seed: int, tasks: int, options: list[str], laps: Laps
) -> tuple[sft.Args, dict[str, float]]:
    """Cold start by `NAME_sft.toml`; its settings, and success and CPU seconds by name."""
    recipe = ["--recipe", f"{assets.folder('baselines')}/recipes/{name}_sft.toml", "--model", base]
    own = [*recipe, "--output", f"{folder}", "--seed", str(seed), "--test_tasks", str(tasks)]
    settings = parse(sft.Args, [*own, *only(sft.Args, options)])
    return settings, {"cold_start": sft.main(settings)["test_success"], "sft_cpu_s": laps.lap_s()}


def policy_gradient(
    name: str, folder: Path, model: Path, seed: int, tasks: int, options: list[str], laps: Laps
) -> tuple[grpo.Args, dict[str, float]]:
    """GRPO by `NAME.toml`; its settings, and success and CPU seconds by name."""
    recipe = ["--recipe", f"{assets.folder('baselines')}/recipes/{name}.toml", "--model", f"{model}"]
    own = [*recipe, "--output", f"{folder}", "--seed", str(seed), "--test_tasks", str(tasks)]
    settings = parse(grpo.Args, [*own, *only(grpo.Args, options)])
    return settings, {"trained": grpo.main(settings)["test_success"], "grpo_cpu_s": laps.lap_s()}


def only(args: Any, options: Iterable[str]) -> list[str]:
    """The options that a script has; those of the other one are left out."""
    kept: list[str] = []
    given = list(options)
    for name, value in zip(given[::2], given[1::2], strict=True):
        if name.removeprefix("--").partition(".")[0] in args.__dataclass_fields__:
            kept += [name, value]
    return kept


def held_out(
    folder: Path,
    settings: sft.Args | grpo.Args,
    tasks: int,
    keys: Mapping[str, Any] | None = None,
    temperature: float = 1.0,
) -> list[Trajectory]:
    """One episode of each held-out question, with further keys of the page."""
    model, tokenizer = load_policy(str(folder))
    env = blueprint.load(settings.page, tokenizer=tokenizer, **{**settings.env, **settings.test_env, **(keys or {})})
    chosen = [env.tasks[index] for index in range(tasks)]
    limit = settings.max_turn_tokens
    with Attended() as runner:
        engine = TransformersEngine(model, tokenizer)
        _, episodes = evaluate(env, engine, chosen, runner, temperature=temperature, max_turn_tokens=limit)
    return episodes


def success(episodes: Iterable[Trajectory]) -> float:
    """The mean."""
    return float(np.mean([episode.success or 0.0 for episode in episodes]))


def report(
    name: str, title: str, kinds: Mapping[str, tuple[str, str]], output: Path, seeds: list[int], results: Path
) -> None:
    """A table, the numbers behind it, and the curves.

    Args:
        name: of the files.
        title: of the picture.
        kinds: folders of GRPO runs below a seed's, each with its colour and its label.
        output: folder of the runs.
        seeds: of the runs.
        results: where the files go.
    """
    from matplotlib.figure import Figure

    rows = [json.loads((output / f"seed-{seed}" / "result.json").read_text("utf-8")) for seed in seeds]
    names = [column for column in rows[0] if column != "seed"]
    table = Table("seed", *names)
    for row in rows:
        digits = {column: 0 if column.endswith("_s") else 3 for column in names}
        table.add_row(f"{row['seed']:g}", *(f"{row[column]:.{digits[column]}f}" for column in names))
    Console(width=200).print(table)
    results.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    curves = {}
    for kind, (colour, label) in kinds.items():
        for seed in seeds:
            metrics = read_metrics(output / f"seed-{seed}" / kind)
            rolled = [(line["step"], line["success"]) for line in metrics if "success" in line]
            tested = [(line["step"], line["test_success"]) for line in metrics if "test_success" in line]
            shown = label if seed == seeds[0] else None
            axes.plot(*zip(*rolled, strict=True), color=colour, linewidth=0.9, alpha=0.6)
            axes.plot(*zip(*tested, strict=True), "o", color=colour, label=shown, markersize=5, alpha=0.8)
            curves[f"{kind}-{seed}"] = {"rollouts": rolled, "held_out": tested}
    if "chance" in rows[0]:
        axes.axhline(rows[0]["chance"], color="grey", linewidth=0.8, linestyle="--", label="chance")
    axes.set(xlabel="GRPO step", ylabel="success", ylim=(-0.03, 1.02), title=title)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(results / f"{name}.png", dpi=120)
    text = json.dumps({"seeds": rows, "curves": curves}, indent=1)
    (results / f"{name}.json").write_text(text + "\n", encoding="utf-8")
