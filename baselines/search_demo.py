"""The search demo: a policy that learns to search and to read, from nothing, on a laptop's CPU.

    python baselines/search_demo.py --output runs/search_demo --seeds 0 1 2

Makes a tiny transformer that can find things in a text, cold-starts it on scripted episodes of SearchR1-v0 over one
fictional world, trains it with GRPO against the real index, and tests it on another world, of whose names and facts it
saw none. Then it takes the search away, in training and in the test, and lets it lie. A seed that is complete is left
alone, so several processes may run seeds at once and a last one report them.
"""

import argparse
import asyncio
import json
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import grpo
import numpy as np
import sft
import torch
import transformers
from rich.console import Console
from rich.table import Table

from toolenvs import assets, blueprint, retrieval, view
from toolenvs.codec import TokenCodec
from toolenvs.rollout import Trajectory
from toolenvs.tasks.task import Task
from toolenvs.train.engines.transformers import TransformersEngine
from toolenvs.train.evaluate import evaluate
from toolenvs.train.metrics import read_metrics
from toolenvs.train.policy import TINY_READER, load_policy
from toolenvs.train.recipe import parse
from toolenvs.world import World
from toolenvs.world.entities import Key
from toolenvs.world.passages import passage

NO_CALLS: Mapping[str, Any] = {"budget.max_calls": 0, "budget.when_spent": "notice"}
"""Keys of the page: a search is answered with the note that none is left."""
SHOWN_EPISODES = 40


def main() -> None:
    """Run the seeds that are missing, and report all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("runs/search_demo"), help="folder of the runs")
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


def run(folder: Path, base: str, seed: int, tasks: int, options: list[str]) -> dict[str, float]:
    """One seed: cold start, GRPO, GRPO without calls, and the tests; returns success and CPU seconds by name."""
    recipes = assets.folder("baselines") / "recipes"
    common = ["--seed", str(seed), "--test_tasks", str(tasks), *options]
    clock_s = [time.process_time()]

    def lap_s() -> float:
        clock_s.append(time.process_time())
        return round(clock_s[-1] - clock_s[-2], 1)

    recipe = ["--recipe", f"{recipes}/search_tiny_sft.toml", "--model", base]
    cold = sft.main(parse(sft.Args, [*recipe, "--output", f"{folder}/sft", *only(sft.Args, common)]))
    result = {"seed": float(seed), "cold_start": cold["test_success"], "sft_cpu_s": lap_s()}

    recipe = ["--recipe", f"{recipes}/search_tiny.toml", "--model", f"{folder}/sft/model"]
    settings = parse(grpo.Args, [*recipe, "--output", f"{folder}/grpo", *only(grpo.Args, common)])
    result |= {"trained": grpo.main(settings)["test_success"], "grpo_cpu_s": lap_s()}

    without = replace(settings, output=f"{folder}/no_calls", env={**settings.env, **NO_CALLS})
    result |= {"trained_without_calls": grpo.main(without)["test_success"], "no_calls_cpu_s": lap_s()}

    lies = {"tools.search.index": str(lying_index(folder / "lies", world_of(settings)))}
    conditions = {"greedy": {}, "no_calls": NO_CALLS, "empty": {"tools.search.passage": ""}, "lying": lies}
    shown = held_out(folder / "sft" / "model", settings, tasks, temperature=0.0)
    result["greedy_cold_start"] = success(shown)
    for name, keys in conditions.items():
        episodes = held_out(folder / "grpo" / "model", settings, tasks, keys, temperature=float(name != "greedy"))
        result[name] = success(episodes)
        if name == "greedy":
            shown = shown[: SHOWN_EPISODES // 2] + episodes[: SHOWN_EPISODES // 2]
    codec = TokenCodec(load_policy(f"{folder}/grpo/model")[1])
    view.write(folder / "episodes.html", shown, title="SearchR1-v0, before and after GRPO", codec=codec)
    env = blueprint.load(settings.page, **{**settings.env, **settings.test_env})
    result["chance"] = chance(world_of(settings), [env.tasks[index] for index in range(tasks)])
    return result | {"tests_cpu_s": lap_s()}


def only(args: Any, options: Iterable[str]) -> list[str]:
    """The options that a script has; those of the other one are left out."""
    kept: list[str] = []
    given = list(options)
    for name, value in zip(given[::2], given[1::2], strict=True):
        if name.removeprefix("--").partition(".")[0] in args.__dataclass_fields__:
            kept += [name, value]
    return kept


def world_of(settings: grpo.Args) -> World:
    """The world that the policy is tested on."""
    keys = {**settings.env, **settings.test_env}
    return World(keys.get("tasks.passages", 1_000), seed=keys.get("tasks.world", 0))


def held_out(
    folder: Path, settings: grpo.Args, tasks: int, keys: Mapping[str, Any] | None = None, temperature: float = 1.0
) -> list[Trajectory]:
    """One episode of each held-out question, with further keys of the page."""
    model, tokenizer = load_policy(str(folder))
    env = blueprint.load(settings.page, tokenizer=tokenizer, **{**settings.env, **settings.test_env, **(keys or {})})
    chosen = [env.tasks[index] for index in range(tasks)]
    limit = settings.max_turn_tokens
    with asyncio.Runner() as runner:
        engine = TransformersEngine(model, tokenizer)
        _, episodes = evaluate(env, engine, chosen, runner, temperature=temperature, max_turn_tokens=limit)
    return episodes


def success(episodes: Iterable[Trajectory]) -> float:
    """The mean."""
    return float(np.mean([episode.success or 0.0 for episode in episodes]))


def lying_index(folder: Path, world: World) -> Path:
    """An index of the world in which everything has its own name and the facts of another thing of its kind."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus = folder / "corpus.jsonl"
    with corpus.open("w", encoding="utf-8") as rows:
        for key in world.keys():  # noqa: SIM118
            other = world.entity(Key(key.kind, (key.number + 1) % world.counts[key.kind]))
            told = passage(world, replace(other, key=key, name=world.name(key)))
            rows.write(json.dumps({"id": told.id, "contents": told.contents}) + "\n")
    retrieval.index(corpus, folder / "index")
    return folder / "index"


def chance(world: World, tasks: Iterable[Task]) -> float:
    """What the best guess gives who knows the world's answers but not whose they are.

    For each question: the share of its fact's most frequent value among all things of that kind.
    """

    @cache
    def share(kind: Any, fact: str) -> float:
        entities = [world.entity(Key(kind, number)) for number in range(world.counts[kind])]
        values = Counter(entity.links.get(fact) or entity.figures[fact] for entity in entities)
        return max(values.values()) / len(entities)

    asked = [(task.extra["evidence"][-1].partition("-")[0], task.extra["facts"][-1]) for task in tasks]
    return float(np.mean([share(kind, fact) for kind, fact in asked]))


def report(output: Path, seeds: list[int], results: Path) -> None:
    """A table, the numbers behind it, and the curve."""
    from matplotlib.figure import Figure

    rows = [json.loads((output / f"seed-{seed}" / "result.json").read_text("utf-8")) for seed in seeds]
    names = [name for name in rows[0] if name != "seed"]
    table = Table("seed", *names)
    for row in rows:
        table.add_row(f"{row['seed']:g}", *(f"{row[name]:.{0 if name.endswith('_s') else 3}f}" for name in names))
    Console(width=200).print(table)
    results.mkdir(parents=True, exist_ok=True)
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    curves = {}
    for kind, colour in (("grpo", "#15803d"), ("no_calls", "#b91c1c")):
        for seed in seeds:
            metrics = read_metrics(output / f"seed-{seed}" / kind)
            rolled = [(line["step"], line["success"]) for line in metrics if "success" in line]
            tested = [(line["step"], line["test_success"]) for line in metrics if "test_success" in line]
            label = {"grpo": "with search", "no_calls": "no calls allowed"}[kind] if seed == seeds[0] else None
            axes.plot(*zip(*rolled, strict=True), color=colour, linewidth=0.9, alpha=0.6)
            axes.plot(*zip(*tested, strict=True), "o", color=colour, label=label, markersize=5, alpha=0.8)
            curves[f"{kind}-{seed}"] = {"rollouts": rolled, "held_out": tested}
    axes.axhline(rows[0]["chance"], color="grey", linewidth=0.8, linestyle="--", label="chance")
    title = "SearchR1-v0, tiny policy: rollouts (lines), another world's questions (dots)"
    axes.set(xlabel="GRPO step", ylabel="success", ylim=(-0.03, 1.02), title=title)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(results / "search_demo.png", dpi=120)
    text = json.dumps({"seeds": rows, "curves": curves}, indent=1)
    (results / "search_demo.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
