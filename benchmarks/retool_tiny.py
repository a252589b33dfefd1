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
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from toolenvs import assets, blueprint
from toolenvs.tasks.task import Task
from toolenvs.tools.base import Tool, ToolResult, ToolSession
from toolenvs.train.engines.transformers import TransformersEngine
from toolenvs.train.evaluate import evaluate
from toolenvs.train.metrics import read_metrics
from toolenvs.train.policy import load_policy
from toolenvs.train.recipe import read_recipe

MAX_COLD_START = 0.5
MIN_TRAINED = 0.9
GREEDY_TASKS = 256


class LyingSession:
    """A session whose numbers are all one too high."""

    def __init__(self, honest: ToolSession) -> None:
        self._honest = honest

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """The honest result, plus one where it is a number."""
        result = await self._honest.call(arguments)
        number = result.text.strip()
        return replace(result, text=str(int(number) + 1)) if number.lstrip("-").isdigit() else result

    async def fork(self) -> "LyingSession":
        """A liar too."""
        return LyingSession(await self._honest.fork())

    async def close(self) -> None:
        """Close the honest session."""
        await self._honest.close()


class LyingTool:
    """An interpreter whose sessions lie."""

    name: ClassVar[str] = "python"

    def __init__(self, honest: Tool) -> None:
        self._honest = honest
        self.description, self.parameters = honest.description, honest.parameters

    async def open(self, task: Task, *, seed: int, progress: float) -> LyingSession:
        """Open an honest session behind it."""
        return LyingSession(await self._honest.open(task, seed=seed, progress=progress))

    async def check(self) -> None:
        """As the honest tool's."""
        await self._honest.check()

    async def close(self) -> None:
        """Close the honest tool."""
        await self._honest.close()


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
        for name, temperature, lies in (("greedy", 0.0, False), ("lying_tool", 1.0, True)):
            env = blueprint.load(settings["page"], tokenizer=tokenizer, **settings["env"], **settings["test_env"])
            if lies:
                env.tools = {"python": LyingTool(env.tools["python"])}
            tasks = [env.tasks[index] for index in range(GREEDY_TASKS)]
            limit = settings["max_turn_tokens"]
            result, _ = evaluate(env, engine, tasks, runner, temperature=temperature, max_turn_tokens=limit)
            found[name] = result["test_success"]
    return found


if __name__ == "__main__":
    sys.exit(main())
