"""A long training run whose processes are killed, next to runs that nobody disturbs.

    python benchmarks/train_soak.py --output runs/train_soak                          # 300 steps
    python benchmarks/train_soak.py --output runs/train_soak --steps 40 --kill-every 3 --seeds 0

The tiny policy is cold-started, then trained with GRPO on ReTool-v0: once for each seed as it should be, and once with
two Ray workers of which one is killed (SIGKILL) twice, after a third and after two thirds of the steps, while a process
of the workers' sandboxes is killed every ten seconds. Kept runs of an earlier call are not run again.

What has to hold: the run ends by itself; its metrics have every step once; no step is without episodes; its held-out
success, over the whole curve and at the end, lies where a further undisturbed seed would be expected (a 90 % prediction
interval from those that were run, and the sampling error of the evaluation); nothing of it is left on the machine. The
exit code is 0 when all of that held. CPU time is of all processes, as far as they were seen once a second.
"""

import argparse
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from leftovers import descendants

from toolenvs import assets
from toolenvs.train.comparison import figures, read_run
from toolenvs.train.metrics import FILE, read_metrics

METRIC = "test_success"
TESTS = 6
TEST_TASKS = 256
SETTLE_S = 60.0
"""How long processes get to end once the run has."""
T95 = {1: 6.31, 2: 2.92, 3: 2.35, 4: 2.13}
"""Student's t at 95 %, by degrees of freedom."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("runs/train_soak"))
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--prompts", type=int, default=8)
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2], help="of the undisturbed runs")
    parser.add_argument("--kill-every", type=float, default=10.0, help="seconds between kills in the sandboxes")
    parser.add_argument("--model", type=Path, default=None, help="a cold-started policy, in place of one made here")
    args = parser.parse_args()
    model = args.model or cold_start(args.output)
    for seed in args.seeds:
        folder = args.output / f"undisturbed-{seed}"
        if not (folder / "model").is_dir():
            print(f"undisturbed, seed {seed}", flush=True)
            subprocess.run(command(args, model, folder, seed), check=True, stderr=subprocess.DEVNULL)
    folder = args.output / "disturbed"
    report = disturbed(args, command(args, model, folder, max(args.seeds) + 1, "--workers", "2"), folder)
    report |= judged(args, folder)
    report["holds"] = holds(report)
    (args.output / "soak.json").write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(report, indent=1))
    return 0 if report["holds"] else 1


def cold_start(output: Path) -> Path:
    """The folder of a policy after its cold start."""
    folder = output / "sft"
    if not (folder / "model").is_dir():
        print("cold start", flush=True)
        baselines = assets.folder("baselines")
        recipe = baselines / "recipes" / "retool_tiny_sft.toml"
        options = ["--recipe", str(recipe), "--threads", "1", "--resume", "--output", str(folder)]
        subprocess.run([sys.executable, f"{baselines}/sft.py", *options], check=True, stderr=subprocess.DEVNULL)
    return folder / "model"


def command(args: argparse.Namespace, model: Path, folder: Path, seed: int, *more: str) -> list[str]:
    """A run."""
    baselines = assets.folder("baselines")
    settings = {"model": model, "output": folder, "seed": seed, "steps": args.steps, "threads": 1}
    settings |= {"prompts": args.prompts, "samples": args.samples, "filter": "informative", "worker_episodes": 8}
    settings |= {"test_every": max(1, args.steps // TESTS), "test_tasks": TEST_TASKS}
    settings |= {"checkpoint_every": max(1, args.steps // 3), "trajectories_every": max(1, args.steps // 3)}
    options = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
    return [
        sys.executable,
        f"{baselines}/grpo.py",
        "--recipe",
        f"{baselines}/recipes/retool_tiny.toml",
        *options,
        *more,
    ]


class Killer(threading.Thread):
    """Kills processes below a run until it is told to end, and counts the CPU time of all of them."""

    def __init__(self, run: int, folder: Path, steps: int, every_s: float) -> None:
        super().__init__(daemon=True)
        self.run_pid, self.folder, self.every_s = run, folder, every_s
        self.after = [steps // 3, 2 * steps // 3]
        """Steps after which a worker is killed."""
        self.workers: list[int] = []
        """Steps that were done when one was."""
        self.sandboxes = 0
        self.cpu: dict[int, float] = {}
        self.seen: set[tuple[int, int]] = set()
        """Process ids and when each began, since ids come again."""
        self.ended = threading.Event()
        self._dice = random.Random(0)

    def run(self) -> None:
        struck_s = time.monotonic()
        while not self.ended.wait(0.2):
            below = descendants(self.run_pid)
            self.seen |= {(pid, since) for pid in below if (since := began(pid))}
            for pid in {self.run_pid, *below}:
                self.cpu[pid] = max(self.cpu.get(pid, 0.0), cpu_of(pid))
            workers = [pid for pid in below if "ray::Host" in words(pid)]
            done = last_step(self.folder)
            if self.after and done >= self.after[0] and len(workers) > 1:
                self.after.pop(0)
                if kill(self._dice.choice(sorted(workers))):
                    self.workers.append(done)
            cells = sorted({pid for worker in workers for pid in descendants(worker)})
            if cells and time.monotonic() - struck_s >= self.every_s:
                struck_s = time.monotonic()
                self.sandboxes += kill(self._dice.choice(cells))


def disturbed(args: argparse.Namespace, line: list[str], folder: Path) -> dict[str, Any]:
    """The run that is disturbed."""
    print("disturbed", flush=True)
    before = litter()
    process = subprocess.Popen(line, stderr=subprocess.PIPE, text=True)
    killer = Killer(process.pid, folder, args.steps, args.kill_every)
    killer.start()
    words_of_end = (process.communicate()[1] or "").strip().splitlines()
    killer.ended.set()
    killer.join()
    until_s = time.monotonic() + SETTLE_S
    while (left := {pid for pid, since in killer.seen if began(pid) == since}) and time.monotonic() < until_s:
        time.sleep(0.5)
    return {
        "exit code": process.returncode,
        "last words": words_of_end[-1] if process.returncode and words_of_end else "",
        "workers killed after steps": killer.workers,
        "sandbox processes killed": killer.sandboxes,
        "cpu seconds": round(sum(killer.cpu.values()), 1),
        "processes left": {pid: words(pid)[:80] for pid in sorted(left)},
        "folders left": sorted(litter() - before),
    }


def judged(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """What came of it, next to the undisturbed runs."""
    lines = read_metrics(folder)
    steps = [line["step"] for line in lines]
    later = [line for line in lines if line["step"] > 0]
    found: dict[str, Any] = {
        "every step once": steps == list(range(args.steps + 1)),
        "steps without episodes": sum(line.get("success") is None for line in later),
        "steps with episodes that infrastructure ended": sum(line["infrastructure"] > 0 for line in later),
        "share of episodes that it ended": fmean(line["infrastructure"] for line in later),
    }
    others = [figures(read_run(args.output / f"undisturbed-{seed}"), METRIC) for seed in args.seeds]
    own = figures(read_run(folder), METRIC)
    within = []
    for name in ("last", "area"):
        values = [getattr(one, name) for one in others if one is not None]
        centre = fmean(values)
        spread = stdev(values) if len(values) > 1 else 0.0
        chance = math.sqrt(max(centre * (1 - centre), 0.01) / TEST_TASKS)
        allowed = T95.get(len(values) - 1, 2.0) * spread * math.sqrt(1 + 1 / len(values)) + 2 * chance
        value = getattr(own, name)
        within.append(abs(value - centre) <= allowed)
        found[f"{METRIC}, {'mean of the curve' if name == 'area' else name}"] = {
            "disturbed": round(value, 3),
            "undisturbed": [round(one, 3) for one in values],
            "allowed": [round(centre - allowed, 3), round(centre + allowed, 3)],
        }
    found["within the spread"] = all(within)
    return found


def holds(report: dict[str, Any]) -> bool:
    """Whether all of it held, and there was something to hold against."""
    return (
        report["exit code"] == 0
        and report["every step once"]
        and report["steps without episodes"] == 0
        and report["within the spread"]
        and len(report["workers killed after steps"]) == 2
        and report["sandbox processes killed"] > 0
        and not report["processes left"]
        and not report["folders left"]
    )


def last_step(folder: Path) -> int:
    """The last step in the metrics; -1 where there are none."""
    return int(lines[-1]["step"]) if (folder / FILE).exists() and (lines := read_metrics(folder)) else -1


def litter() -> set[str]:
    """What Ray and the engines keep in the temporary folder."""
    return {str(path) for path in Path(tempfile.gettempdir()).glob("toolenvs-*")}


def kill(pid: int) -> bool:
    """Whether it was there to be killed."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def words(pid: int) -> str:
    """A process's command line."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
    except OSError:
        return ""


def began(pid: int) -> int:
    """When a process began, in the kernel's ticks; 0 for one that is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
    except OSError:
        return 0


def cpu_of(pid: int) -> float:
    """A process's own CPU seconds."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(int(field) for field in fields[11:13]) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    sys.exit(main())
