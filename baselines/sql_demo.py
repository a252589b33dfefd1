"""The SQL demo: a policy that learns to ask a database, on a laptop's CPU.

    python baselines/sql_demo.py --output runs/sql_demo --seeds 0 1 2

Takes the tiny transformer of the search demo, which can find things in a text and has never seen a query, cold-starts
it on scripted episodes of SQL-v0 whose queries are mostly wrong, trains it with GRPO against SQLite and the page's own
judge, and tests it on other questions about the database of another world. The cold start is made once, and each seed
goes on from it; what is complete is left alone.
"""

import json
from pathlib import Path

import demo_seeds
import grpo
import sft
from demo_seeds import NO_CALLS, Laps, held_out, success

from toolenvs import view
from toolenvs.codec import TokenCodec
from toolenvs.train.metrics import read_metrics
from toolenvs.train.policy import load_policy

COLD_START_SEED = 0
SHOWN_EPISODES = 20


def run(folder: Path, base: str, seed: int, tasks: int, options: list[str]) -> dict[str, float]:
    """One seed: GRPO from the cold start, which all share, and the tests; returns success and CPU seconds by name."""
    laps, cold = Laps(), folder.parent / "sft"
    model, found = cold / "model", cold / "result.json"
    if not found.exists():
        begun, made = demo_seeds.cold_start("sql_tiny", cold, base, COLD_START_SEED, tasks, options, laps)
        made["greedy_cold_start"] = greedy(model, begun, tasks, cold)
        made["no_calls_cold_start"] = success(held_out(model, begun, tasks, NO_CALLS))
        found.write_text(json.dumps(made), encoding="utf-8")
        laps.lap_s()
    settings, result = demo_seeds.policy_gradient("sql_tiny", folder / "grpo", model, seed, tasks, options, laps)
    tested = [line for line in read_metrics(folder / "grpo") if "test_tool_use" in line]
    result |= {"cold_start_tool_use": tested[0]["test_tool_use"], "tool_use": tested[-1]["test_tool_use"]}
    model = folder / "grpo" / "model"
    result |= {"greedy": greedy(model, settings, tasks, folder)}
    result |= {"no_calls": success(held_out(model, settings, tasks, NO_CALLS)), "tests_cpu_s": laps.lap_s()}
    return {"seed": float(seed), **json.loads(found.read_text("utf-8")), **result}


def greedy(model: Path, settings: sft.Args | grpo.Args, tasks: int, folder: Path) -> float:
    """Held-out success at temperature 0; some of the episodes go to `folder` as a page to look at."""
    episodes = held_out(model, settings, tasks, temperature=0.0)
    codec = TokenCodec(load_policy(f"{model}")[1])
    view.write(folder / "episodes.html", episodes[:SHOWN_EPISODES], title="SQL-v0, held-out questions", codec=codec)
    return success(episodes)


def report(output: Path, seeds: list[int], results: Path) -> None:
    """A table, the numbers behind it, and the curve."""
    title = "SQL-v0, one table, tiny policy: rollouts (lines), another world's questions (dots)"
    demo_seeds.report("sql_demo", title, {"grpo": ("#15803d", "GRPO")}, output, seeds, results)


if __name__ == "__main__":
    demo_seeds.main("sql_demo", run, report, __doc__)
