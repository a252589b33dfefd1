"""Kill GRPO at a random moment, resume it, and compare every metric with those of a run that was not killed.

    python benchmarks/kill_and_resume.py --output runs/kill_and_resume --tries 3

The runs are the demo's, with the real sandbox, fewer steps and more checkpoints. Exit status 1 where a number differs.
"""

import argparse
import json
import random
import subprocess
import sys
import time
from pathlib import Path

from toolenvs import assets
from toolenvs.train.metrics import FILE, read_metrics, without_times

STEPS = 16


def main() -> int:
    """Compare; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("runs/kill_and_resume"))
    parser.add_argument("--tries", type=int, default=3)
    parser.add_argument("--model", default="tiny", help="the policy to start from")
    parser.add_argument("--seed", type=int, default=0, help="seed of the moments of the kills")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    whole = args.output / "whole"
    subprocess.run(command(args.model, whole), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    expected = [without_times(line) for line in read_metrics(whole)]
    results = []
    for number in range(args.tries):
        folder = args.output / f"killed-{number}"
        step = rng.randrange(1, STEPS)
        fraction = rng.random()
        seen = kill_during(command(args.model, folder), folder, step, fraction)
        resumed = [*command(args.model, folder), "--resume"]
        subprocess.run(resumed, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        equal = [without_times(line) for line in read_metrics(folder)] == expected
        results.append({"killed_after_step": seen, "metrics_equal": equal, "lines": len(expected)})
        print(f"try {number}: killed after step {seen}; all {len(expected)} lines equal: {equal}")
    (args.output / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return int(not all(result["metrics_equal"] for result in results))


def command(model: str, folder: Path) -> list[str]:
    """The run."""
    baselines = assets.folder("baselines")
    settings = {"model": model, "output": folder, "steps": STEPS, "checkpoint_every": 4, "test_every": 8}
    settings |= {"test_tasks": 64, "prompts": 16, "threads": 1, "trajectories_every": 4}
    options = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    return [sys.executable, f"{baselines}/grpo.py", "--recipe", f"{baselines}/recipes/retool_tiny.toml", *options]


def kill_during(command: list[str], folder: Path, step: int, fraction: float) -> int:
    """Kill the run some way into the step behind `step`; returns the last step that it had written."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    started_s = time.perf_counter()
    while process.poll() is None and last_step(folder) < step:
        time.sleep(0.02)
    per_step_s = (time.perf_counter() - started_s) / (step + 3)
    time.sleep(fraction * per_step_s)
    process.kill()
    process.wait()
    return last_step(folder)


def last_step(folder: Path) -> int:
    """The last step in the metrics; -1 where there are none."""
    if not (folder / FILE).exists():
        return -1
    lines = read_metrics(folder)
    return int(lines[-1]["step"]) if lines else -1


if __name__ == "__main__":
    sys.exit(main())
