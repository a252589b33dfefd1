"""What a step costs, next to GEM and SkyRL-Gym: steps without a tool call, calls of the interpreter, imports.

    python benchmarks/steps.py [--out FILE] [--ours]

Each library runs in a process of its own, the peers in virtual environments made under benchmarks/.venvs on first use.
All of them take turns, a few repetitions at a time and in a new order each round, so that whatever else the machine
does hits all alike. Prints Markdown; `--out` also writes JSON. What is timed is said in benchmarks/README.md.
"""

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from venvs import peer_python

HERE = Path(__file__).resolve().parent
OURS, GEM, SKYRL = "toolenvs", "GEM", "SkyRL-Gym"
FILES = {OURS: "ours", GEM: "gem", SKYRL: "skyrl"}
MODULES = {OURS: "toolenvs", GEM: "gem", SKYRL: "skyrl_gym"}

ROUNDS = 10
STEPS_PER_ROUND = 100
PROGRAMS_PER_ROUND = 10
IMPORTS = 7
PAUSE_S = 0.03
"""What lies between two programs in the second table; a policy takes longer to write one."""
IMPORT_BAR_S = 0.35
TURN_BAR_US = 60.0


@dataclass
class Row:
    """One case of one library."""

    library: str
    case: str
    what: str
    pause_s: float = 0.0
    rounds_us: list[list[float]] = field(default_factory=list)
    """The times of each round."""

    @property
    def times_us(self) -> list[float]:
        return [time_us for times_us in self.rounds_us for time_us in times_us]

    def ratios_to(self, other: "Row") -> list[float]:
        """This row's median over the other's, round by round."""
        pairs = zip(self.rounds_us, other.rounds_us, strict=True)
        return [statistics.median(mine) / statistics.median(theirs) for mine, theirs in pairs]


@dataclass(frozen=True)
class Table:
    """Rows that are compared with some of them, the `bases`."""

    title: str
    rows: tuple[Row, ...]
    bases: tuple[int, ...]
    per_round: int

    def of(self, libraries: Sequence[str]) -> "Table":
        """The rows of these libraries; ours come first, and so keep their numbers."""
        kept = tuple(row for row in self.rows if row.library in libraries)
        return Table(self.title, kept, self.bases, self.per_round)


def programs(title: str, pause_s: float) -> Table:
    """The table of interpreter calls."""
    rows = (
        Row(OURS, "stateful program", "stateful, through `env.step`", pause_s),
        Row(OURS, "stateless program", "stateless, through `env.step`", pause_s),
        Row(OURS, "stateful program, first", "stateful, first of its episode", pause_s),
        Row(GEM, "program", "stateless, `PythonCodeTool.execute_action`", pause_s),
        Row(SKYRL, "program", 'stateless, `execute_tool("python", ...)`', pause_s),
    )
    return Table(title, rows, (0, 1), PROGRAMS_PER_ROUND)


TABLES = (
    Table(
        "A turn that goes on, without a tool call",
        (
            Row(OURS, "turn", "ReTool-v0, a malformed call"),
            Row(GEM, "turn", "GuessTheNumber, a guess"),
            Row(GEM, "turn, ToolEnvWrapper", "the same through ToolEnvWrapper"),
            Row(SKYRL, "turn", "gsm8k_multi_turn, a wrong answer"),
        ),
        (0,),
        STEPS_PER_ROUND,
    ),
    Table(
        "A final answer, judged",
        (
            Row(OURS, "answer 4", "ReTool-v0, 4 for 4"),
            Row(OURS, "answer 1/2", r"ReTool-v0, \frac{1}{2} for 0.5"),
            Row(GEM, "answer 4", "MathEnv, 4 for 4"),
            Row(GEM, "answer 1/2", r"MathEnv, \frac{1}{2} for 0.5"),
            Row(SKYRL, "answer 4", "gsm8k_multi_turn, 4 for 4"),
        ),
        (0, 1),
        STEPS_PER_ROUND,
    ),
    programs("A call of the interpreter, `print(2+2)`, back to back", 0.0),
    programs(f"The same with {1000 * PAUSE_S:.0f} ms before each call", PAUSE_S),
)


def interpreter(library: str) -> Path:
    """The library's Python; a peer's environment is made when it is first asked for."""
    if library == OURS:
        return Path(sys.executable)
    return peer_python(FILES[library], HERE / "peers" / f"{FILES[library]}.txt")


def surroundings(python: Path) -> dict[str, str]:
    """Environment variables of a child: peers start the `python` that they find on the path."""
    variables = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
    if python == Path(sys.executable):
        variables["PYTHONPATH"] = str(HERE.parent)
    return variables


class Worker:
    """A child process that times one library's cases; see peers/worker.py."""

    def __init__(self, library: str, python: Path, process: "subprocess.Popen[str]") -> None:
        self.library, self.python, self._process = library, python, process
        self.versions: dict[str, str] = self._reply()

    def _reply(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process that times {self.library} ended with {self._process.wait()}")
        return json.loads(line)

    def times_us(self, row: Row, repetitions: int) -> list[float]:
        """The times of some repetitions."""
        request = {"case": row.case, "repetitions": repetitions, "pause_s": row.pause_s}
        assert self._process.stdin is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        times_us: list[float] = self._reply()
        return times_us


@contextmanager
def worker(library: str, folder: str) -> Iterator[Worker]:
    """A worker in a folder of its own choosing: GEM writes where it stands."""
    python = interpreter(library)
    command = [str(python), "-P", str(HERE / "peers" / "worker.py"), str(HERE / "peers" / f"{FILES[library]}.py")]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command, cwd=folder, env=surroundings(python), stdin=pipe, stdout=pipe, text=True, encoding="utf-8"
    )
    with process:
        try:
            yield Worker(library, python, process)
        finally:
            assert process.stdin is not None
            process.stdin.close()


def import_s(python: Path, module: str) -> float:
    """Seconds that one import takes in a fresh process."""
    program = f"import time; t = time.perf_counter(); import {module}; print(time.perf_counter() - t)"
    command = [str(python), "-P", "-c", program]
    return float(subprocess.check_output(command, env=surroundings(python), text=True, stdin=subprocess.DEVNULL))


def measure_imports(workers: dict[str, Worker]) -> dict[str, list[float]]:
    """Times of each module's import, taken in turn; the first of each only fills the caches."""
    ours = workers[OURS].python
    modules = [("gymnasium", ours), *((MODULES[name], worker.python) for name, worker in workers.items())]
    times_s: dict[str, list[float]] = {module: [] for module, _ in modules}
    for number in range(1 + IMPORTS):
        for module, python in modules:
            seconds = import_s(python, module)
            if number > 0:
                times_s[module].append(seconds)
    return times_s


def p90(times: Sequence[float]) -> float:
    """The ninth of the deciles."""
    return statistics.quantiles(times, n=10)[-1]


def show_time(time_us: float) -> str:
    """Three digits and a unit."""
    return f"{time_us / 1000:.3g} ms" if time_us >= 1000 else f"{time_us:.3g} us"


def show_ratio(ratios: Sequence[float]) -> str:
    """The median round, and the range of all."""
    middle, lowest, highest = (two_digits(ratio) for ratio in (statistics.median(ratios), min(ratios), max(ratios)))
    return f"{middle} ({lowest}-{highest})"


def two_digits(ratio: float) -> str:
    """No more digits than the figures bear, and no exponent."""
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"


def markdown(table: Table) -> str:
    """The table with, for each base, every row's time over the base's: above 1, the base is faster."""
    bases = [table.rows[number] for number in table.bases]
    heads = ["", "", "median", "p90", "n", *(f"over {letter}" for letter in "ABC"[: len(bases)])]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for row in table.rows:
        name = row.library + "".join(f", {letter}" for letter, base in zip("ABC", bases, strict=False) if base is row)
        cells = [name, row.what, show_time(statistics.median(row.times_us)), show_time(p90(row.times_us))]
        cells += [str(len(row.times_us)), *("1" if base is row else show_ratio(row.ratios_to(base)) for base in bases)]
        lines.append("| " + " | ".join(cells) + " |")
    return f"{table.title}\n\n" + "\n".join(lines) + "\n"


def bars(turn: Row, imports_s: dict[str, list[float]]) -> str:
    """Our own limits, and where we stand."""
    extra_s = statistics.median(imports_s["toolenvs"]) - statistics.median(imports_s["gymnasium"])
    turn_us = statistics.median(turn.times_us)
    return (
        f"Bars: import {extra_s:.3f} s beyond gymnasium, at most {IMPORT_BAR_S} s: {verdict(extra_s <= IMPORT_BAR_S)}; "
        f"a turn without a call {turn_us:.0f} us, at most {TURN_BAR_US:.0f} us: {verdict(turn_us <= TURN_BAR_US)}"
    )


def verdict(holds: bool) -> str:
    """A word for it."""
    return "holds" if holds else "MISSED"


def record(row: Row) -> dict[str, Any]:
    """A row as JSON."""
    return {
        "library": row.library,
        "what": row.what,
        "pause_s": row.pause_s,
        "n": len(row.times_us),
        "median_us": statistics.median(row.times_us),
        "p90_us": p90(row.times_us),
        "round_medians_us": [statistics.median(times_us) for times_us in row.rounds_us],
    }


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="write the figures to this JSON file")
    parser.add_argument("--ours", action="store_true", help="leave the peers out, and install nothing")
    arguments = parser.parse_args()
    libraries = [OURS] if arguments.ours else list(FILES)
    tables = [table.of(libraries) for table in TABLES]
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        workers = {library: stack.enter_context(worker(library, folder)) for library in libraries}
        load_before = os.getloadavg()
        for number in range(ROUNDS):
            for table in tables:
                for row in random.Random(number).sample(table.rows, len(table.rows)):
                    row.rounds_us.append(workers[row.library].times_us(row, table.per_round))
        imports_s = measure_imports(workers)
        loads = [load_before, os.getloadavg()]
        versions = {"python": platform.python_version()}
        for timed in workers.values():
            versions |= timed.versions

    print(", ".join(f"{name} {version}" for name, version in versions.items()))
    print(f"{os.cpu_count()} cores, {platform.machine()}; load average before and after:", end=" ")
    print("; ".join(" ".join(f"{load:.1f}" for load in three) for three in loads))
    print("\n'over A': the time over that of row A, median of the rounds (lowest-highest); above 1, A is faster.\n")
    for table in tables:
        print(markdown(table))
    print(f"Imports, median of {IMPORTS} fresh processes\n\n| module | s |\n|---|---|")
    for module, times_s in imports_s.items():
        print(f"| {module} | {statistics.median(times_s):.3f} |")
    print("\n" + bars(tables[0].rows[0], imports_s))
    if arguments.out:
        figures = {
            "versions": versions,
            "cores": os.cpu_count(),
            "machine": platform.machine(),
            "load_averages": loads,
            "tables": {table.title: [record(row) for row in table.rows] for table in tables},
            "imports_s": imports_s,
        }
        arguments.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
