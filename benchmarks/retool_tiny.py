"""The demo from nothing, over seeds: base phase, cold start, GRPO, and the trained policy with a tool that lies.

    python benchmarks/retool_tiny.py --output runs/retool_tiny --seeds 0 1 2

Prints a table and writes it to <output>/results.json. CPU seconds are of each phase's own process; the sandbox's
interpreters, which outlive whoever starts them, are not in them, but in the wall time. The exit status is 1 where a bar
is missed: held-out success at most 0.5 after the cold start and at least 0.9 after GRPO, in every seed.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from toolenvs import assets, blueprint
from toolenvs.train.engines.transformers import TransformersEngine
from toolenvs.train.evaluate import evaluate
from toolenvs.train.metrics import read_metrics
from toolenvs.train.policy import load_policy
from toolenvs.train.recipe import read_recipe

MAX_COLD_START = 0.5
MIN_TRAINED = 0.9
GREEDY_TASKS = 256
LYING_TOOL = {"tools": {"corrupted": {}}, "protocol.calls.code.tool": "corrupted"}
"""Keys of the page: every number of the interpreter's output is replaced by another."""


def main() -> int:
    """Run every seed; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("runs/retool_tiny"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--base", type=Path, help="an earlier run's base policy, instead of training one")
    parser.add_argument("--jobs", type=int, default=2, help="seeds that run at once, one thread each")
    args = parser.parse_args()
    started_s = time.perf_counter()
    base, base_cpu_s = args.base, 0.0
    if base is None:
        base = args.output / "base"
        program = "import sys, torch; from pathlib import Path; from toolenvs.train.tiny.base import train_base; "
        program += "torch.set_num_threads(1); train_base(Path(sys.argv[1]))"
        base_cpu_s = run([sys.executable, "-c", program, str(base)], args.output / "base.log")
    with ThreadPoolExecutor(args.jobs) as pool:
        rows = list(pool.map(lambda seed: train(base, args.output / f"seed-{seed}", seed), args.seeds))
    for row in rows:
        row |= probes(args.output / f"seed-{row['seed']}" / "grpo" / "model")
        print("  ".join(f"{name} {value:g}" for name, value in row.items()))
    wall_s = time.perf_counter() - started_s
    print(f"base phase {base_cpu_s:.0f} CPU s; everything {wall_s:.0f} s wall")
    results = {"base_cpu_s": base_cpu_s, "wall_s": wall_s, "jobs": args.jobs, "seeds": rows}
    (args.output / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return int(any(row["cold_start"] > MAX_COLD_START or row["trained"] < MIN_TRAINED for row in rows))


def recipe(name: str) -> Path:
    """The file of a bundled recipe."""
    return assets.folder("baselines") / "recipes" / f"{name}.toml"


def script(name: str, recipe_name: str) -> list[str]:
    """The command that runs a bundled script with a bundled recipe."""
    return [sys.executable, str(assets.folder("baselines") / f"{name}.py"), "--recipe", str(recipe(recipe_name))]


def train(base: Path, folder: Path, seed: int) -> dict[str, float]:
    """Cold start and GRPO of one seed; returns held-out success after each and what each cost."""
    sft, grpo = folder / "sft", folder / "grpo"
    common = ["--seed", str(seed), "--output"]
    sft_cpu_s = run([*script("sft", "retool_tiny_sft"), "--model", str(base), *common, str(sft)], folder / "sft.log")
    grpo_cpu_s = run(
        [*script("grpo", "retool_tiny"), "--model", f"{sft}/model", *common, str(grpo)], folder / "grpo.log"
    )
    tested = [line["test_success"] for line in read_metrics(grpo) if "test_success" in line]
    return {
        "seed": seed,
        "cold_start": tested[0],
        "trained": tested[-1],
        "sft_cpu_s": sft_cpu_s,
        "grpo_cpu_s": grpo_cpu_s,
    }


def run(command: list[str], log: Path) -> float:
    """Run a command to its end; returns the CPU seconds that it and its children took, rounded."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} failed; see {log}")
    return round(usage.ru_utime + usage.ru_stime, 1)


def probes(folder: Path) -> dict[str, float]:
    """Success of a trained policy when it takes the most likely token, and when its tool lies."""
    settings = read_recipe(recipe("retool_tiny"))
    model, tokenizer = load_policy(str(folder))
    engine = TransformersEngine(model, tokenizer)
    found = {}
    with asyncio.Runner() as runner:
        for name, temperature, changed in (("greedy", 0.0, {}), ("lying_tool", 1.0, LYING_TOOL)):
            keys = settings["env"] | settings["test_env"] | changed
            env = blueprint.load(settings["page"], tokenizer=tokenizer, **keys)
            tasks = [env.tasks[index] for index in range(GREEDY_TASKS)]
            limit = settings["max_turn_tokens"]
            result, _ = evaluate(env, engine, tasks, runner, temperature=temperature, max_turn_tokens=limit)
            found[name] = result["test_success"]
    return found


if __name__ == "__main__":
    sys.exit(main())
