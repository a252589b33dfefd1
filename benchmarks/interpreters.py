"""The Python sandbox next to other ways to run a model's programs: latency, CPU time, throughput, what stays behind.

    python benchmarks/interpreters.py [--only NAME ...] [--rounds N] [--out FILE]

Every interpreter is driven by a process of its own; a peer's is the Python of a virtual environment that is made under
benchmarks/.venvs on first use. They take turns, a few programs at a time and in a new order each round, so that
whatever else the machine does hits all alike; ratios are taken within a round. Docker's rows need an engine that
answers and the image that `python -m toolenvs.sandbox.docker.build` makes. Prints Markdown; `--out` also writes JSON.
What is compared is said in benchmarks/README.md.
"""

import argparse
import contextlib
import json
import os
import platform
import queue
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from venvs import peer_python

HERE = Path(__file__).resolve().parent
WORKERS = HERE / "interpreters"
REPLY_LIMIT_S = 150.0
LABEL = "toolenvs.benchmark"
SETTLE_S = 2.0
SHELL_IMAGE = "toolenvs-benchmark:latest"

PRINT = "print(2+2)"
EIGENVALUES = """
import numpy as np
a = np.random.default_rng(0).normal(size=(200, 200))
print("found", len(np.linalg.eigvals(a)))
"""
LOOP = """
total = 0
for number in range(1_000_000):
    total += number * number % 7
print("total", total)
"""
SOLVE = """
from sympy import symbols, solve
x = symbols("x")
print("roots", solve(x**2 - 5 * x + 6, x))
"""
ENDLESS = "while True:\n    pass"


@dataclass(frozen=True)
class Program:
    """What is run, and what has to come of it."""

    name: str
    code: str
    expected: tuple[str, str]
    """Status, and a part of the output."""
    repetitions: int = 1
    timeout_s: float = 60.0
    rounds: int = 1000
    """At most so many."""


PROGRAMS = (
    Program("print", PRINT, ("ok", "4"), 100),
    Program("eigenvalues", EIGENVALUES, ("ok", "found 200"), 5),
    Program("loop", LOOP, ("ok", "total 1999998"), 1, rounds=5),
    Program("solve", SOLVE, ("ok", "roots [2, 3]"), 5),
    Program("endless", ENDLESS, ("timeout", ""), 1, timeout_s=1.0, rounds=3),
)


@dataclass(frozen=True)
class Kind:
    """A way to run programs."""

    name: str
    file: str
    variant: str = ""
    pins: str = ""
    """The requirements of its environment; none: this Python."""
    venv: str = ""
    pause_s: float = 0.0
    docker: bool = False
    stateful: bool = True
    slow: tuple[str, ...] = ()
    """Programs that are run once in all, since they take many seconds."""
    most_sessions: int = 64


KINDS = (
    Kind("toolenvs, hardened, session", "ours", "hardened session"),
    Kind("toolenvs, hardened, stateless", "ours", "hardened stateless", pause_s=0.03, stateful=False),
    Kind("toolenvs, namespace, session", "ours", "namespace session"),
    Kind("toolenvs, namespace, stateless", "ours", "namespace stateless", pause_s=0.03, stateful=False),
    Kind("toolenvs, fork, session", "ours", "fork session"),
    Kind("toolenvs, fork, stateless", "ours", "fork stateless", pause_s=0.03, stateful=False),
    Kind("toolenvs, docker, session", "ours", "docker session", docker=True),
    Kind("python -c", "python_c", stateful=False),
    Kind("GEM", "gem", pins="peers/gem.txt", venv="gem", stateful=False, slow=("endless",)),
    Kind("SkyRL-Gym", "skyrl", pins="interpreters/skyrl.txt", venv="skyrl-sympy", stateful=False),
    Kind("smolagents", "smolagents", pins="interpreters/smolagents.txt", venv="smolagents", slow=("loop", "endless")),
    Kind("Jupyter", "jupyter", pins="interpreters/jupyter.txt", venv="jupyter"),
    Kind("docker run", "docker_run", docker=True, stateful=False, most_sessions=8),
    Kind("llm-sandbox", "llm_sandbox", pins="interpreters/llm_sandbox.txt", venv="llm_sandbox", docker=True,
         stateful=False, most_sessions=8),
)  # fmt: skip
OURS = ("toolenvs, hardened, session", "toolenvs, namespace, session", "toolenvs, fork, session")
"""From the strongest tier to the weakest; the first that works is what others are measured by."""


def python_of(kind: Kind) -> Path:
    """The Python of a peer; its environment is made when it is first asked for."""
    return peer_python(kind.venv, HERE / kind.pins) if kind.pins else Path(sys.executable)


def docker_obstacle() -> str:
    """Why Docker's rows are left out, or nothing."""
    from toolenvs.sandbox.docker.options import defaults

    try:
        found = subprocess.run(
            ["docker", "image", "inspect", defaults().image], capture_output=True, text=True, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"no Docker engine answers ({error})"
    return " ".join(found.stderr.split())


def make_shell_image() -> None:
    """Make the image for llm-sandbox."""
    from toolenvs.sandbox.docker.options import defaults

    command = [sys.executable, "-P", str(WORKERS / "shell_image.py"), defaults().image, SHELL_IMAGE]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Worker:
    """The process that drives one interpreter; see interpreters/worker.py."""

    def __init__(self, kind: Kind, command: Sequence[str] = (), **options: Any) -> None:
        """Start it in a folder of its own, which is its home and its place for temporary files as well."""
        python = python_of(kind)
        self.kind = kind
        self.folder = Path(options.pop("folder", None) or tempfile.mkdtemp(prefix="interpreters-"))
        for name in ("home", "tmp", "cwd"):
            (self.folder / name).mkdir(exist_ok=True)
        variables = {
            **os.environ,
            "PATH": f"{python.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
            "HOME": str(self.folder / "home"),
            "TMPDIR": str(self.folder / "tmp"),
            "BENCHMARK_IMAGE": SHELL_IMAGE,
            **options.pop("variables", {}),
        }
        if python == Path(sys.executable):
            variables["PYTHONPATH"] = str(HERE.parent)
        self._group = _accounting_group() if options.pop("accounting", True) else None
        if self._group:
            variables["BENCHMARK_CPUACCT"] = str(self._group)
        pipe = subprocess.PIPE
        script = [str(python), "-P", str(WORKERS / "worker.py"), str(WORKERS / f"{kind.file}.py")]
        self.process = subprocess.Popen(
            [*command, *script],
            cwd=self.folder / "cwd",
            env=variables,
            stdin=pipe,
            stdout=pipe,
            stderr=open(self.folder / "log", "wb"),  # noqa: SIM115  # it lives as long as the process
            text=True,
            encoding="utf-8",
            **options,
        )
        if self._group:
            (self._group / "cgroup.procs").write_text(str(self.process.pid))
        self.family: set[tuple[int, str]] = set()
        self._replies: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        self.versions: dict[str, str] = self._reply(REPLY_LIMIT_S)

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._replies.put(line)
        self._replies.put("")

    def _reply(self, limit_s: float) -> Any:
        try:
            line = self._replies.get(timeout=limit_s)
        except queue.Empty:
            raise TimeoutError(f"{self.kind.name}: no answer within {limit_s:g} s") from None
        if not line:
            tail = (self.folder / "log").read_text(errors="replace")[-2000:]
            raise EOFError(f"the process that drives {self.kind.name} ended with {self.process.wait()}: {tail}")
        return json.loads(line)

    def ask(self, do: str, limit_s: float = REPLY_LIMIT_S, **request: Any) -> Any:
        """Send a request; its answer.

        Raises:
            EOFError: the process ended.
            RuntimeError: it says that the request failed.
            TimeoutError: no answer came.
        """
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps({"do": do, **request}), file=self.process.stdin, flush=True)
        reply = self._reply(limit_s)
        self.family |= family(self.process.pid)
        if isinstance(reply, dict) and isinstance(reply.get("failed"), str):
            raise RuntimeError(reply["failed"])
        return reply

    def finish(self, limit_s: float = 60.0) -> None:
        """Let it close what it has opened, and end; kill it when it takes too long."""
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def left(self) -> list[int]:
        """Which of the processes that it was seen to have run yet."""
        return [pid for pid, started in self.family if started_at(pid) == started and pid != self.process.pid]

    def forget(self) -> None:
        """End what is left, remove its folder."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for pid, started in self.family:
            if started_at(pid) == started and pid != self.process.pid:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._group:
            for _ in range(50):
                try:
                    self._group.rmdir()
                    break
                except FileNotFoundError:  # forgotten before
                    break
                except OSError:
                    time.sleep(0.1)


def _accounting_group() -> Path | None:
    """A fresh control group that counts CPU time (cgroup v1, as root), or None."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        own = next(line.split(":")[2] for line in lines if "cpuacct" in line.split(":")[1].split(","))
        return Path(tempfile.mkdtemp(prefix="interpreters-", dir=f"/sys/fs/cgroup/cpuacct{own}"))
    except (OSError, StopIteration):
        return None


def started_at(pid: int) -> str | None:
    """When a process was started, in the kernel's words; None when there is none, or it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def family(root: int) -> set[tuple[int, str]]:
    """A process and all below it, each with when it was started."""
    parents: dict[int, tuple[int, str]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(name)] = (int(fields[1]), fields[19])
    found, new = set(), {root}
    while new:
        found |= new
        new = {pid for pid, (parent, _) in parents.items() if parent in found} - found
    return {(pid, parents[pid][1]) for pid in found if pid in parents}


@dataclass
class Row:
    """What was measured of one interpreter."""

    kind: Kind
    rounds_ms: dict[str, list[list[float]]] = field(default_factory=dict)
    cpu_ms: dict[str, list[float]] = field(default_factory=dict)
    throughput: dict[int, dict[str, Any]] = field(default_factory=dict)
    left: dict[str, Any] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def times_ms(self, program: str) -> list[float]:
        """All times of a program."""
        return [time_ms for times in self.rounds_ms.get(program, []) for time_ms in times]

    def ratios_to(self, other: "Row", program: str) -> list[float]:
        """This row's median over the other's, round by round."""
        pairs = zip(self.rounds_ms.get(program, []), other.rounds_ms.get(program, []), strict=False)
        return [statistics.median(mine) / statistics.median(theirs) for mine, theirs in pairs]


def measure_rounds(rows: list[Row], workers: dict[str, Worker], rounds: int) -> None:
    """All programs on all interpreters, in turn."""
    for number in range(rounds):
        for program in PROGRAMS:
            for row in random.Random(number).sample(rows, len(rows)):
                slow = program.name in row.kind.slow
                if number >= (1 if slow else program.rounds) or row.kind.name not in workers:
                    continue
                request = {
                    "variant": row.kind.variant,
                    "code": program.code,
                    "expected": program.expected,
                    "timeout_s": program.timeout_s,
                    "repetitions": program.repetitions,
                    "pause_s": row.kind.pause_s,
                }
                try:
                    answer = workers[row.kind.name].ask("time", **request)
                except (EOFError, RuntimeError, TimeoutError) as error:
                    row.failures.append(f"{program.name}: {error}")
                    continue
                row.rounds_ms.setdefault(program.name, []).append(answer["times_ms"])
                if answer["cpu_ms"] is not None and not row.kind.docker:  # the engine's processes are not ours
                    row.cpu_ms.setdefault(program.name, []).append(answer["cpu_ms"])


def measure_throughput(rows: list[Row], workers: dict[str, Worker], sessions: Sequence[int], seconds: float) -> None:
    """Prints of many sessions at once."""
    for count in sessions:
        for row in rows:
            if row.kind.name in workers and count <= row.kind.most_sessions:
                request = {"variant": row.kind.variant, "code": PRINT, "sessions": count, "seconds": seconds}
                try:
                    answer = workers[row.kind.name].ask("throughput", start_limit_s=75.0, **request)
                    row.throughput[count] = answer
                    row.failures += [f"{count} sessions: {text}" for text in answer["failed"]]
                except (EOFError, RuntimeError, TimeoutError) as error:
                    row.failures.append(f"{count} sessions: {error}")


def containers(*labels: str) -> set[str]:
    """Containers with all of these labels; without any, those of this benchmark and of the sandbox."""
    if not labels:
        return containers(LABEL) | containers("toolenvs.sandbox")
    filters = [word for label in labels for word in ("--filter", f"label={label}")]
    return set(subprocess.run(["docker", "ps", "-aq", *filters], capture_output=True, text=True).stdout.split())


def measure_left(rows: list[Row], workers: dict[str, Worker]) -> None:
    """What stays behind when the callers close in order, and when they are killed in the middle of a program."""
    for row in rows:
        worker = workers[row.kind.name]
        worker.family |= family(worker.process.pid)
        worker.finish()
    time.sleep(SETTLE_S)
    for row in rows:
        worker = workers[row.kind.name]
        row.left["processes after close"] = len(worker.left())
        paths = [path for name in ("tmp", "home", "cwd") for path in (worker.folder / name).rglob("*")]
        row.left["files after close"] = sum(path.is_file() and ".cache" not in path.parts for path in paths)
        worker.forget()
    before = containers() if any(row.kind.docker for row in rows) else set()
    killed: list[tuple[Row, Worker]] = []
    try:
        for row in rows:
            killed.append((row, Worker(row.kind)))
            begin(killed[-1][1])
        time.sleep(1)
        for _, worker in killed:
            worker.family |= family(worker.process.pid)
            worker.process.kill()
            worker.process.wait()
        time.sleep(SETTLE_S)
        for row, worker in killed:
            row.left["processes after kill"] = len(worker.left())
        if any(row.kind.docker for row in rows):
            left = containers() - before
            for row in rows:
                if row.kind.docker:
                    label = "toolenvs.sandbox" if row.kind.file == "ours" else f"{LABEL}={row.kind.file}"
                    row.left["containers after kill"] = len(left & containers(label))
            if left:
                subprocess.run(["docker", "rm", "-f", *left], capture_output=True)
    except (EOFError, RuntimeError, TimeoutError) as error:
        killed[-1][0].failures.append(f"leftovers: {error}")
    finally:
        for _, worker in killed:
            worker.forget()


def begin(worker: Worker) -> None:
    """Start a program that never ends."""
    kind = worker.kind
    worker.ask("time", variant=kind.variant, code=PRINT, expected=("ok", "4"), timeout_s=60, repetitions=1, pause_s=0)
    worker.ask("spin", variant=kind.variant, code=ENDLESS)


def p95(times: Sequence[float]) -> float:
    """The nineteenth of twenty parts."""
    return statistics.quantiles(times, n=20)[-1] if len(times) > 1 else times[0]


def show(value: float | None) -> str:
    """Three digits, no exponent."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def show_ratio(ratios: Sequence[float]) -> str:
    """The median round, and the range of all."""
    if not ratios:
        return "-"
    return f"{show(statistics.median(ratios))} ({show(min(ratios))}-{show(max(ratios))})"


def table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Markdown."""
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, ["---"] * len(heads), *lines)) + "\n"


def report(rows: list[Row]) -> str:
    """The tables, and the bars."""
    base = rows[0]
    names = [program.name for program in PROGRAMS]
    latency, ratio, cpu, many, left = [], [], [], [], []
    for row in rows:
        times = {name: row.times_ms(name) for name in names}
        latency.append(
            [
                row.kind.name,
                *(f"{show(statistics.median(times[n]))} / {show(p95(times[n]))}" if times[n] else "-" for n in names),
            ]
        )
        ratio.append([row.kind.name, *(show_ratio(row.ratios_to(base, name)) for name in names[:-1])])
        if row.cpu_ms:
            cpu.append(
                [
                    row.kind.name,
                    *(show(statistics.median(row.cpu_ms[n])) if n in row.cpu_ms else "-" for n in names[:-1]),
                ]
            )
        counts = sorted({count for other in rows for count in other.throughput})
        cells = [row.throughput.get(count, {}) for count in counts]
        many.append(
            [
                row.kind.name,
                *(show(cell.get("calls_per_s")) for cell in cells),
                *(show(cell.get("start_s")) for cell in cells[-1:]),
            ]
        )
        keys = ("processes after close", "files after close", "processes after kill", "containers after kill")
        left.append([row.kind.name, *(str(row.left.get(key, "-")) for key in keys)])
    parts = [
        "Wall time, ms: median / p95\n\n" + table(["", *names], latency),
        "Median time over that of the first row, within a round: the median round (lowest-highest)\n\n"
        + table(["", *names[:-1]], ratio),
    ]
    if cpu:
        parts.append("CPU time of a run, ms, the driving process and all below it\n\n" + table(["", *names[:-1]], cpu))
    if any(row.throughput for row in rows):
        parts.append(
            "`print(2+2)`, runs a second, by sessions at once; seconds to start the most\n\n"
            + table(["", *map(str, counts), "start, s"], many)
        )
    parts.append(
        f"What is left {SETTLE_S:g} s after the caller closed in order, and after it was killed in an endless loop\n\n"
        + table(["", "processes", "files", "processes, killed", "containers, killed"], left)
    )
    failures = [f"- {row.kind.name}: {text}" for row in rows for text in dict.fromkeys(row.failures)]
    if failures:
        parts.append("Failures\n\n" + "\n".join(failures) + "\n")
    return "\n".join([*parts, bars(rows)])


def bars(rows: list[Row]) -> str:
    """Our own limits, for `print(2+2)` in a session, and where we stand."""
    of, base = {row.kind.name: row for row in rows}, rows[0]
    parts = []
    for name, bar in (("Jupyter", 15), ("docker run", 15), ("GEM", 30), ("SkyRL-Gym", 30)):
        if name in of and (ratios := of[name].ratios_to(base, "print")):
            middle = statistics.median(ratios)
            parts.append(f"{name} {show(middle)} times, at least {bar}: {'holds' if middle >= bar else 'MISSED'}")
            if "print" in base.cpu_ms and "print" in of[name].cpu_ms:  # which other load does not touch
                mine, theirs = (statistics.median(row.cpu_ms["print"]) for row in (base, of[name]))
                parts[-1] += f" ({show(theirs / mine)} times by CPU)"
    return f"Bars ({base.kind.name}, is faster to print than): " + "; ".join(parts)


def chosen(only: Sequence[str]) -> tuple[list[Kind], list[str]]:
    """The interpreters to compare, and why others are left out."""
    from toolenvs import sandbox

    tiers = {tier.tier for tier in sandbox.probe() if tier.works}
    obstacle = docker_obstacle()
    kinds, notes = [], []
    for kind in KINDS:
        first = not kinds and kind.name in OURS and kind.variant.split()[0] in tiers
        if only and not first and not any(name.lower() in kind.name.lower() for name in only):
            continue
        if kind.docker and obstacle:
            notes.append(f"{kind.name} left out: {obstacle}")
        elif kind.file == "ours" and not kind.docker and kind.variant.split()[0] not in tiers:
            notes.append(f"{kind.name} left out: the tier does not work here")
        else:
            kinds.append(kind)
    return kinds, notes


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        help="parts of the names of those to compare; the strongest of ours is always there",
    )
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument(
        "--sessions", type=int, nargs="*", default=[1, 8, 64], help="sessions at once, for the throughput"
    )
    parser.add_argument("--seconds", type=float, default=1.0, help="of each throughput")
    parser.add_argument("--list", action="store_true", help="name the interpreters that can be compared here")
    parser.add_argument("--out", type=Path, help="write the figures to this JSON file")
    arguments = parser.parse_args()
    kinds, notes = chosen(arguments.only)
    if arguments.list:
        print("\n".join([*(kind.name for kind in kinds), *notes]))
        return
    if any(kind.file == "llm_sandbox" for kind in kinds):
        make_shell_image()
    rows = [Row(kind) for kind in kinds]
    workers: dict[str, Worker] = {}
    started_s, load_before = time.monotonic(), os.getloadavg()
    try:
        for row in rows:
            workers[row.kind.name] = Worker(row.kind)
        measure_rounds(rows, workers, arguments.rounds)
        load_between = os.getloadavg()
        measure_throughput(rows, workers, arguments.sessions, arguments.seconds)
        measure_left(rows, workers)
    finally:
        for worker in workers.values():
            worker.forget()
    versions = {"python": platform.python_version()}
    for worker in workers.values():
        versions |= worker.versions
    loads = [load_before, load_between, os.getloadavg()]
    print(", ".join(f"{name} {version}" for name, version in versions.items()))
    print(f"{os.cpu_count()} cores, {platform.machine()}; load average before, after the rounds, at the end:", end=" ")
    print("; ".join(" ".join(f"{load:.1f}" for load in three) for three in loads), end="; ")
    print(f"{time.monotonic() - started_s:.0f} s\n")
    print("".join(f"{note}\n" for note in notes))
    print(report(rows))
    if arguments.out:
        figures = {
            "versions": versions,
            "cores": os.cpu_count(),
            "machine": platform.machine(),
            "load_averages": loads,
            "left_out": notes,
            "rows": [
                {
                    "name": row.kind.name,
                    "rounds_ms": row.rounds_ms,
                    "cpu_ms": row.cpu_ms,
                    "throughput": row.throughput,
                    "left": row.left,
                    "failures": row.failures,
                }
                for row in rows
            ],
        }
        arguments.out.write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
