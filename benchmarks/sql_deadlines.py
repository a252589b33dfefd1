"""How far queries that may not end run past their deadline; see sql.py."""

import json
import statistics
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

from toolenvs import databases, sample_databases

CASES = Path(__file__).parents[1] / "tests" / "databases" / "hostile_cases.jsonl"
TIMEOUT_S = 0.5
MOST = 12
"""About as many queries of each engine."""
BAR_S = 0.5
MAX_STEPS = 2**31 - 1
"""SQLite's budget of steps is out of the way: it would end most of them earlier."""


def deadlines(address: str = "", engines: tuple[str, ...] = ("sqlite", "duckdb", "postgres")) -> dict[str, Any]:
    """Run them and print a table; the figures."""
    chinook = sample_databases.named_file("chinook")
    assert chinook is not None
    figures = {}
    print(f"| engine | queries | ended by the deadline of {TIMEOUT_S:g} s | past it: median | worst | the worst one |")
    print("|---" * 6 + "|")
    with tempfile.TemporaryDirectory() as folder:
        sources = {"sqlite": f"sqlite:///{chinook}", "postgres": address}
        if "duckdb" in engines:
            sources["duckdb"] = f"duckdb:///{_duckdb(chinook, Path(folder) / 'chinook.duckdb')}"
        for engine in engines:
            if sources[engine]:
                figures[engine] = _measure(engine, sources[engine])
    worst_s = max(found["worst_s"] for found in figures.values())
    verdict = "holds" if worst_s <= BAR_S else "MISSED"
    print(f"\nbar: at most {BAR_S} s past the deadline; worst {worst_s:.3f} s: {verdict}")
    return figures


def _duckdb(source: Path, target: Path) -> Path:
    """Two tables of Chinook as a file of DuckDB."""
    import sqlite3

    import duckdb

    base = sqlite3.connect(source)
    with duckdb.connect(str(target)) as made:
        made.execute("CREATE TABLE Genre (GenreId INTEGER, Name TEXT)")
        made.execute("CREATE TABLE Track (TrackId INTEGER, Name TEXT)")
        for table, columns in (("Genre", "GenreId, Name"), ("Track", "TrackId, Name")):
            rows = base.execute(f"SELECT {columns} FROM {table}").fetchall()
            lists = [list(column) for column in zip(*rows, strict=True)]
            made.execute(f"INSERT INTO {table} SELECT unnest(?), unnest(?)", lists)
    base.close()
    return target


def _measure(engine: str, source: str) -> dict[str, Any]:
    lines = CASES.read_text("utf-8").splitlines()
    cases = [case for case in map(json.loads, lines) if case["dialect"] == engine and "timeout" in case["expect"]]
    cases = cases[:: max(len(cases) // MOST, 1)]
    past_s: list[tuple[float, str]] = []
    with databases.open(source, workers=1, timeout_s=TIMEOUT_S, max_steps=MAX_STEPS) as opened:
        for case in cases:
            sql = case.get("sql") or case["before"] + case["repeat"] * case["times"] + case["after"]
            opened.query("SELECT 1")  # the process of the last one may have to be replaced, which is not its time
            started_s = perf_counter()
            result = opened.query(sql)
            spent_s = perf_counter() - started_s
            if result.code == "timeout":
                past_s.append((spent_s - TIMEOUT_S, sql))
            elif spent_s > TIMEOUT_S:
                past_s.append((spent_s - TIMEOUT_S, f"{sql} ({result.status})"))
    worst_s, worst = max(past_s)
    middle_s = statistics.median(seconds for seconds, _ in past_s)
    print(f"| {engine} | {len(cases)} | {len(past_s)} | {middle_s:.3f} s | {worst_s:.3f} s | `{worst[:60]}` |")
    sys.stdout.flush()
    return {"queries": len(cases), "late": len(past_s), "median_s": middle_s, "worst_s": worst_s, "worst": worst}
