"""Accuracy and cost of the maths judge, on the tables beside its tests.

    python benchmarks/judge.py [TABLE.jsonl ...]

Prints, for each table: accuracy, false positives and false negatives (with and without rows marked `policy`), median,
99th percentile and largest time; then the slowest hostile answers, in the main thread and in a worker thread; then the
cost of the commonest case.
"""

import json
import statistics
import sys
import threading
import timeit
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import Any

from toolenvs.rewards import maths
from toolenvs.rewards.verdict import Verdict

TABLES = Path(__file__).parents[1] / "tests" / "rewards" / "maths"


def load(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def judged(case: dict[str, Any]) -> Verdict:
    if case["form"] == "response":
        return maths.judge_response(gold=case["gold"], response=case["pred"])
    return maths.judge(gold=case["gold"], answer=case["pred"])


def table(path: Path) -> None:
    cases = load(path)
    milliseconds, mistakes = [], []
    for case in cases:
        start = perf_counter()
        verdict = judged(case)
        milliseconds.append((perf_counter() - start) * 1e3)
        if verdict.correct != case["expect"]:
            mistakes.append((case, verdict))
    print(f"{path.name}: {len(cases) - len(mistakes)} of {len(cases)} right")
    for label, kept in (("all", mistakes), ("without policy", [m for m in mistakes if not m[0].get("policy")])):
        kinds = Counter("false positives" if verdict.correct else "false negatives" for _, verdict in kept)
        print(f"  {label}: {kinds['false positives']} false positives, {kinds['false negatives']} false negatives")
    for case, verdict in mistakes:
        print(f"  {case['kind']}: gold {case['gold']!r}, said {case['pred']!r}: {verdict.reason}")
    milliseconds.sort()
    p99 = milliseconds[int(0.99 * (len(milliseconds) - 1))]
    print(f"  ms: median {statistics.median(milliseconds):.2f}, p99 {p99:.1f}, max {milliseconds[-1]:.1f}")


def hostile(where: str) -> None:
    seconds: list[tuple[float, str, str]] = []
    for row in load(TABLES / "hostile.jsonl"):
        answer = row["before"] + row.get("repeat", "") * row.get("times", 0) + row.get("after", "")
        start = perf_counter()
        verdict = maths.judge(gold=row["gold"], answer=answer)
        seconds.append((perf_counter() - start, row["name"], verdict.reason))
    seconds.sort(reverse=True)
    print(f"hostile, {where}: {len(seconds)} answers, {dict(Counter(reason for _, _, reason in seconds))}")
    for spent, name, reason in seconds[:3]:
        print(f"  {spent:.3f} s  {name}: {reason}")


def main() -> None:
    maths.judge(gold=r"2\sqrt{3}", answer=r"\sqrt{12}")  # starts the child
    for path in map(Path, sys.argv[1:] or [TABLES / "answers_math.jsonl", TABLES / "answers_neighbours.jsonl"]):
        table(path)
    hostile("main thread")
    thread = threading.Thread(target=hostile, args=("worker thread",))
    thread.start()
    thread.join()
    repeats = 20_000
    spent = min(timeit.repeat(lambda: maths.judge(gold="42", answer="42"), number=repeats, repeat=5)) / repeats
    print(f"judge('42', '42'): {spent * 1e6:.2f} us")


if __name__ == "__main__":
    main()
