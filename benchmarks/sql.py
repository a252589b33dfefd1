"""SQL tool calls and rewards next to SkyRL-Gym and BIRD's evaluation, and how far hostile queries run past a deadline.

    python benchmarks/sql.py [--ours] [--rounds 8] [--each 40] [--sets chinook_sql world_sql] [--out FILE]
    python benchmarks/sql.py --deadlines [POSTGRESQL ADDRESS]

The gold queries of some sets, and a small query and one of 1,000 rows, run through each library, every one in a process
of its own, in turns and in a new order each round, so that whatever else the machine does hits all alike. Ours asks no
query twice, blanks included, but where a row says so. Peers are installed as `steps.py` does it. With `--deadlines`,
the queries of tests/databases/hostile_cases.jsonl that may not end are put to SQLite, DuckDB and, where the address of
a database with the same tables is given, PostgreSQL, and the worst time past the deadline is told. Prints Markdown.
"""

import argparse
import contextlib
import json
import os
import platform
import random
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import steps
from sql_deadlines import deadlines
from sql_judge import golds_of

BIRD = "BIRD"
steps.FILES[BIRD] = "sql_bird"
SCRIPTS = {steps.OURS: "sql_ours", steps.SKYRL: "sql_skyrl", BIRD: "sql_bird"}
TABLES = (
    steps.Table(
        "A tool call: one query, its rows as text",
        (
            steps.Row(steps.OURS, "tool, SQL", "`env.step` of SQL-v0, the query in its killable process"),
            steps.Row(steps.OURS, "tool, SkyRLSQL", "`env.step` of SkyRLSQL-v0"),
            steps.Row(steps.OURS, "tool, SQL, again", "`env.step` of SQL-v0, a query that was asked before"),
            steps.Row(steps.SKYRL, "tool", "`env.step` of text2sql"),
        ),
        (0,),
        40,
    ),
    steps.Table(
        "A reward: the final query beside the gold",
        (
            steps.Row(steps.OURS, "reward, SQL", "`env.step` of SQL-v0: careful, on the database and 4 changed copies"),
            steps.Row(steps.OURS, "reward, SkyRLSQL", "`env.step` of SkyRLSQL-v0: sets, as published"),
            steps.Row(steps.OURS, "reward, SQL, looked", "`env.step` of SQL-v0, a query that the episode ran before"),
            steps.Row(steps.OURS, "reward, SkyRLSQL, looked", "`env.step` of SkyRLSQL-v0, a query that it ran before"),
            steps.Row(steps.OURS, "reward, SQL, again", "`env.step` of SQL-v0, an answer that was judged before"),
            steps.Row(steps.OURS, "reward, SkyRLSQL, again", "`env.step` of SkyRLSQL-v0, judged before"),
            steps.Row(steps.SKYRL, "reward", "`env.step` of text2sql"),
            steps.Row(steps.SKYRL, "score", "`compute_score_single`"),
            steps.Row(BIRD, "score", "`execute_model`, 30 s"),
            steps.Row(BIRD, "pool", "`run_sqls_parallel(num_cpus=1)`, one pair"),
            steps.Row(steps.OURS, "judge, bird_ex", "the judge alone: BIRD's metric"),
            steps.Row(steps.OURS, "judge, skyrl_set", "the judge alone: SkyRL-SQL's metric"),
        ),
        (0, 1),
        40,
    ),
    steps.Table(
        "A small query or one of 1,000 rows, new each time, of Chinook",
        (
            steps.Row(steps.OURS, "small, SQL", "`env.step` of SQL-v0, one row"),
            steps.Row(steps.OURS, "small, SkyRLSQL", "`env.step` of SkyRLSQL-v0, one row"),
            steps.Row(steps.SKYRL, "small", "`env.step` of text2sql, one row"),
            steps.Row(steps.OURS, "1,000 rows, SQL", "`env.step` of SQL-v0, 1,000 rows"),
            steps.Row(steps.OURS, "1,000 rows, SkyRLSQL", "`env.step` of SkyRLSQL-v0, 1,000 rows"),
            steps.Row(steps.SKYRL, "1,000 rows", "`env.step` of text2sql, 1,000 rows"),
            steps.Row(steps.OURS, "rewarded", "the reward: `env.step` of SkyRLSQL-v0"),
            steps.Row(steps.OURS, "judged, bird_ex", "the reward: the judge alone, BIRD's metric"),
            steps.Row(steps.OURS, "judged, skyrl_set", "the reward: the judge alone, SkyRL-SQL's metric"),
            steps.Row(steps.SKYRL, "rewarded", "the reward: `env.step` of text2sql"),
            steps.Row(BIRD, "judged", "the reward: `execute_model`, 30 s"),
        ),
        (0, 3),
        40,
    ),
    steps.Table(
        "64 episodes at a time, a gold query each: all of a step",
        (
            steps.Row(steps.OURS, "together", "`ToolVectorEnv.step` of SQL-v0"),
            steps.Row(steps.SKYRL, "together", "`env.step` of text2sql in 32 threads, as its generator does"),
        ),
        (0,),
        40,
    ),
)
BARS = (
    (2, 0, 2, 5.0),
    (2, 1, 2, 5.0),
    (2, 3, 5, 5.0),
    (2, 4, 5, 5.0),
    (2, 6, 9, 3.0),
    (2, 7, 10, 3.0),
    (0, 0, 3, 5.0),
    (1, 1, 6, 3.0),
    (1, 3, 6, 3.0),
    (1, 0, 6, 3.0),
    (1, 11, 7, 3.0),
    (1, 10, 8, 3.0),
    (1, 3, 8, 3.0),
    (1, 1, 8, 3.0),
    (1, 0, 8, 3.0),
)
"""Table, our row, a peer's row, and how many times faster ours has to be."""

CHINOOK = "chinook_sql"
GOLD = "SELECT Name, Milliseconds FROM Track WHERE TrackId = 7"
NEW = {
    "small": "SELECT Name, Milliseconds FROM Track WHERE TrackId = {}",
    "1,000 rows": "SELECT TrackId, Name, Composer, Milliseconds FROM Track WHERE TrackId > {} LIMIT 1000",
    "right": GOLD + " AND Milliseconds > {}",  # finds what the gold does
}
"""Queries that are new each time, with a number in them."""


def queries(folder: Path, count: int, sets: Sequence[str] = ("chinook_sql", "world_sql")) -> None:
    """Write the queries of the sets, and their databases where the peers look for them."""
    written: list[dict[str, Any]] = []
    for name in sets:
        source, golds = golds_of(name, count)
        file = folder / "spider" / "database" / name / f"{name}.sqlite"
        file.parent.mkdir(parents=True)
        shutil.copy(source, file)
        written += [{"db_id": name, "file": str(file), "sql": gold.sql, "ordered": gold.ordered} for gold in golds]
    found = next(one for one in written if one["db_id"] == CHINOOK)
    numbered = {kind: [query.format(number) for number in range(1, 2_501)] for kind, query in NEW.items()}
    new = {"db_id": CHINOOK, "file": found["file"], "gold": GOLD, "queries": numbered}
    (folder / "queries.json").write_text(json.dumps({"golds": written, "new": new}))


def cpu_s(pid: int) -> float:
    """CPU time of a process, of what runs below it, and of what has ended there."""
    total = 0.0
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        for task in Path(f"/proc/{pid}/task").iterdir():
            total += sum(cpu_s(int(child)) for child in (task / "children").read_text().split())
    return total


def least_us(row: steps.Row) -> float:
    """The median over queries of the least time of each; a round begins with the first query."""
    return statistics.median(map(min, zip(*row.rounds_us, strict=True)))


@contextlib.contextmanager
def worker(library: str, folder: Path) -> Iterator[tuple[steps.Worker, int]]:
    """A worker in the folder with the queries, and the number of its process."""
    python = steps.interpreter(library)
    command = [str(python), "-P", str(steps.HERE / "peers" / "worker.py")]
    command.append(str(steps.HERE / "peers" / f"{SCRIPTS[library]}.py"))
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=folder, env=steps.surroundings(python), stdin=pipe, stdout=pipe, text=True, encoding="utf-8"
    ) as process:
        try:
            yield steps.Worker(library, python, process), process.pid
        finally:
            assert process.stdin is not None
            process.stdin.close()


def compare(arguments: argparse.Namespace) -> dict[str, Any]:
    """Time the libraries."""
    libraries = [steps.OURS] if arguments.ours else list(SCRIPTS)
    tables = [table.of(libraries) for table in TABLES]
    cpu: dict[str, float] = {}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        queries(folder, arguments.queries, arguments.sets)
        workers = {}
        pids = {}
        for library in libraries:
            workers[library], pids[library] = stack.enter_context(worker(library, folder))
        loads = [os.getloadavg()]
        for number in range(arguments.rounds):
            for table in tables:
                for row in random.Random(number).sample(table.rows, len(table.rows)):
                    before_s = cpu_s(pids[row.library])
                    row.rounds_us.append(workers[row.library].times_us(row, arguments.each))
                    key = f"{table.title}: {row.what}"
                    cpu[key] = cpu.get(key, 0.0) + cpu_s(pids[row.library]) - before_s
        loads.append(os.getloadavg())
        versions = {"python": platform.python_version()}
        for timed in workers.values():
            versions |= timed.versions
    print(", ".join(f"{name} {version}" for name, version in versions.items()))
    print(f"{os.cpu_count()} cores, {platform.machine()}; load average before and after:", end=" ")
    print("; ".join(" ".join(f"{load:.1f}" for load in three) for three in loads) + "\n")
    for table in tables:
        print(steps.markdown(table))
        for row in table.rows:
            spent_ms = 1000 * cpu[f"{table.title}: {row.what}"] / (arguments.rounds * arguments.each)
            told = f"{spent_ms:.2f} ms of CPU a call, what lies between calls included"
            print(f"- {row.library}, {row.what}: {told}; {least_us(row):.0f} us by the least time of each query")
        print()
    if not arguments.ours:
        for place, ours, peer, bar in BARS:
            mine, other = tables[place].rows[ours], tables[place].rows[peer]
            ratio = statistics.median(other.ratios_to(mine))
            told = f"{mine.what} is {ratio:.1f} times as fast as {other.library}, {other.what}; bar {bar:g}"
            print(f"{told}: {steps.verdict(ratio >= bar)}")
    return {"versions": versions, "cpu_s": cpu, "tables": {t.title: [steps.record(r) for r in t.rows] for t in tables}}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", action="store_true", help="leave the peers out, and install nothing")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--each", type=int, default=40, help="calls of a case in a round")
    parser.add_argument("--queries", type=int, default=40, help="of each set")
    parser.add_argument("--sets", nargs="+", default=["chinook_sql", "world_sql"])
    parser.add_argument("--deadlines", nargs="?", const="", metavar="ADDRESS", help="measure deadlines instead")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    figures = compare(arguments) if arguments.deadlines is None else deadlines(arguments.deadlines)
    if arguments.out:
        arguments.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
