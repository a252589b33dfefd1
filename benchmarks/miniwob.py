"""MiniWoB++ next to BrowserGym: wall and CPU time of a reset and of a step, on the same tasks in one run.

    python benchmarks/miniwob.py                        # ours alone
    python benchmarks/miniwob.py --browsergym VENV      # a virtual environment with browsergym-miniwob==0.14.3

BrowserGym's pinned Playwright asks for a browser of its own; this puts the Chromium that is found on the PATH into a
browser cache in a temporary folder for it. A step is a click at a point, the observation after it, and the reward. Both
take turns, task by task. BrowserGym waits half a second before it observes; that is part of its step.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

TASKS = ["click-button", "click-checkboxes", "enter-text", "book-flight", "email-inbox", "use-slider", "click-tab-2"]
POINTS = [(30, 60), (80, 100), (120, 140)]
PEER = """
import json, os, resource, sys, time
import gymnasium as gym
import browsergym.miniwob
from browsergym.core.action.highlevel import HighLevelActionSet
actions = HighLevelActionSet(subsets=["coord"]).to_python_code
def cpu():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
for line in sys.stdin:
    task, points = json.loads(line)
    env = gym.make("browsergym/miniwob." + task, action_mapping=actions)
    started = time.perf_counter()
    env.reset(seed=0)
    reset_s, steps = time.perf_counter() - started, []
    for x, y in points:
        started = time.perf_counter()
        _, _, terminated, truncated, _ = env.step(f"mouse_click({x}, {y})")
        steps.append(time.perf_counter() - started)
        if terminated or truncated:
            break
    print(json.dumps({"reset_s": reset_s, "steps_s": steps}), flush=True)
    env.close()
"""


def ours(browser: Any, task: str) -> dict[str, Any]:
    started = time.perf_counter()
    seen = browser.reset(task, 0)
    reset_s, steps = time.perf_counter() - started, []
    for x, y in POINTS:
        if seen.done:
            break
        started = time.perf_counter()
        seen = browser.xy(x, y)
        steps.append(time.perf_counter() - started)
    return {"reset_s": reset_s, "steps_s": steps}


def peer(venv: Path, cache: Path, chromium: str, html: Path) -> subprocess.Popen[str]:
    python = venv / "bin" / "python"
    asked = subprocess.run(
        [python, "-c", "import playwright, json, pathlib; print(json.dumps([b['revision'] for b in json.loads((pathlib."
         "Path(playwright.__file__).parent / 'driver/package/browsers.json').read_text())['browsers'] if b['name'] == "
         "'chromium'][0]))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    folder = cache / f"chromium-{json.loads(asked.stdout)}"
    (folder / "chrome-linux").mkdir(parents=True)
    (folder / "chrome-linux" / "chrome").symlink_to(chromium)
    for name in ("INSTALLATION_COMPLETE", "DEPENDENCIES_VALIDATED"):
        (folder / name).touch()
    environment = {
        **os.environ,
        "PLAYWRIGHT_BROWSERS_PATH": str(cache),
        "MINIWOB_URL": f"file://{html}/miniwob/",
        "PLAYWRIGHT_SKIP_VALIDATE_HOST_REQUIREMENTS": "1",
    }
    return subprocess.Popen(
        [python, "-c", PEER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--browsergym", type=Path, metavar="VENV")
    arguments.add_argument("--tasks", nargs="*", default=TASKS)
    arguments.add_argument("--rounds", type=int, default=1)
    given = arguments.parse_args()
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    from toolenvs.web import chromium
    from toolenvs.web.chromium import containment, miniwob
    from toolenvs.web.chromium.miniwob.tasks import root

    times: dict[str, dict[str, list[float]]] = {}
    rng = random.Random(0)
    with miniwob.MiniWob(timeout_s=60) as browser, tempfile.TemporaryDirectory() as cache:
        browser.reset("click-test", 0)  # the start of Chromium is not a reset's
        other = peer(given.browsergym, Path(cache), containment.find(), root()) if given.browsergym else None
        for _ in range(given.rounds):
            for task in given.tasks:
                turns = ["toolenvs", *(["browsergym"] if other else [])]
                rng.shuffle(turns)
                for name in turns:
                    if name == "toolenvs":
                        result = ours(browser, task)
                    else:
                        assert other is not None
                        assert other.stdin is not None
                        assert other.stdout is not None
                        other.stdin.write(json.dumps([task, POINTS]) + "\n")
                        other.stdin.flush()
                        result = json.loads(other.stdout.readline())
                    kept = times.setdefault(name, {"reset": [], "step": []})
                    kept["reset"].append(result["reset_s"])
                    kept["step"] += result["steps_s"]
        if other is not None and other.stdin is not None:
            other.stdin.close()
            other.wait()
    chromium.shutdown()
    table = {
        name: {kind: {"n": len(s), "p50_ms": round(1000 * statistics.median(s), 1)} for kind, s in kinds.items()}
        for name, kinds in times.items()
    }
    if len(table) == 2:
        table["ratio of medians"] = {
            kind: round(statistics.median(times["browsergym"][kind]) / statistics.median(times["toolenvs"][kind]), 1)
            for kind in ("reset", "step")
        }  # type: ignore[assignment]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps({**table, "cpu_s_of_all_browsers": round(used.ru_utime + used.ru_stime, 1)}, indent=1))


if __name__ == "__main__":
    main()
