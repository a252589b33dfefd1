"""The SQL demo: a policy that learns to ask a database, on a laptop's CPU.

    python baselines/sql_demo.py --output runs/sql_demo --seeds 0 1 2

Takes the tiny transformer of the search demo, which can find things in a text and has never seen a query, cold-starts
it on scripted episodes of SQL-v0 whose queries are mostly wrong, trains it with GRPO against SQLite and the page's own
judge, and tests it on other questions about the database of another world. A seed that is complete is left alone, so
several processes may run seeds at once and a last one report them.
"""

from pathlib import Path

import demo_seeds
from demo_seeds import NO_CALLS, Laps, held_out, success

from toolenvs import view
from toolenvs.codec import TokenCodec
from toolenvs.train.metrics import read_metrics
from toolenvs.train.policy import load_policy

SHOWN_EPISODES = 40


def run(folder: Path, base: str, seed: int, tasks: int, options: list[str]) -> dict[str, float]:
    """One seed: cold start, GRPO, and the tests; returns success and CPU seconds by name."""
    laps = Laps()
    settings, result = demo_seeds.trained("sql_tiny", folder, base, seed, tasks, options, laps)
    tested = [line for line in read_metrics(folder / "grpo") if "test_tool_use" in line]
    result |= {"cold_start_tool_use": tested[0]["test_tool_use"], "tool_use": tested[-1]["test_tool_use"]}

    shown = held_out(folder / "sft" / "model", settings, tasks, temperature=0.0)
    result["greedy_cold_start"] = success(shown)
    episodes = held_out(folder / "grpo" / "model", settings, tasks, temperature=0.0)
    result["greedy"] = success(episodes)
    result["no_calls"] = success(held_out(folder / "grpo" / "model", settings, tasks, NO_CALLS))
    codec = TokenCodec(load_policy(f"{folder}/grpo/model")[1])
    half = SHOWN_EPISODES // 2
    view.write(
        folder / "episodes.html", shown[:half] + episodes[:half], title="SQL-v0, before and after GRPO", codec=codec
    )
    return result | {"tests_cpu_s": laps.lap_s()}


def report(output: Path, seeds: list[int], results: Path) -> None:
    """A table, the numbers behind it, and the curve."""
    title = "SQL-v0, one table, tiny policy: rollouts (lines), another world's questions (dots)"
    demo_seeds.report("sql_demo", title, {"grpo": ("#15803d", "GRPO")}, output, seeds, results)


if __name__ == "__main__":
    demo_seeds.main("sql_demo", run, report, __doc__)
