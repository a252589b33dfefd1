"""How fast the local sandbox is, each figure beside its goal: latencies, CPU per call, many sessions at once, memory.

    python benchmarks/sandbox.py [tier]

Ratios and CPU figures travel between machines; wall times are this machine's, and a quiet one's. CPU is that of this
process and of the fork servers with all their children.
"""

import asyncio
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from toolenvs.sandbox.local import LocalBox

PRINT = "print(2+2)"
FULL = "import numpy, scipy, sympy\nprint(2+2)"
SYMPY = "from sympy import *\nx = symbols('x')\nprint(solve(x**2 - 5*x + 6, x))"
ARRAYS = "import numpy\nx = 1\narrays = [numpy.ones(1 << 20) for _ in range(6)]"  # 50 MB
SESSIONS, CALLS, ROUNDS = 64, 100, 5


def latency(name: str, goal: str, call: Callable[[], object], count: int = 100, gap_s: float = 0.0) -> None:
    """Print the percentiles of a call's wall time."""
    for _ in range(5):
        call()
        time.sleep(gap_s)
    times_ms = []
    for _ in range(count):
        started = time.perf_counter()
        call()
        times_ms.append((time.perf_counter() - started) * 1000)
        time.sleep(gap_s)
    ordered = sorted(times_ms)
    p50, p95 = statistics.median(ordered), ordered[int(len(ordered) * 0.95)]
    row(name, f"{p50:7.2f} / {p95:7.2f} ms", goal)


def row(name: str, value: str, goal: str = "") -> None:
    print(f"{name:58s} {value:>22s}   {goal}", flush=True)


def fork_servers(box: LocalBox, kind: str = "") -> list[int]:
    """The processes that fork cells; each has one above it that only waits."""
    pids = [server.process.pid for server in box._pools[kind].servers] if kind else box.server_pids
    return [inner for pid in pids for inner in children(pid)]


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def tree_cpu_s(box: LocalBox) -> float:
    """CPU of this process, of the fork servers, of the cells that live and of all that have ended."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    total = own.ru_utime + own.ru_stime
    servers = fork_servers(box)
    for pid in {*box.server_pids, *servers, *(cell for server in servers for cell in children(server))}:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(int(field) for field in fields[11:15]) / 100
    return total


def cpu_per_call(name: str, goal: str, box: LocalBox, code: str, count: int = 200) -> None:
    box.run(code)
    time.sleep(0.5)
    before = tree_cpu_s(box)
    for _ in range(count):
        box.run(code)
    time.sleep(0.2)
    row(name, f"{1000 * (tree_cpu_s(box) - before) / count:7.2f} CPU-ms", goal)


def cold_latency(name: str, goal: str, box: LocalBox, code: str, count: int = 60) -> None:
    """As `latency`, but each call finds no cell ready."""
    pool = box._pools["full"]
    times_ms = []
    for _ in range(count):
        time.sleep(0.02)  # what is done after a call is done
        while pool._ready:
            pool._ready.popleft().kill()
        time.sleep(0.02)
        started = time.perf_counter()
        box.run(code)
        times_ms.append((time.perf_counter() - started) * 1000)
    ordered = sorted(times_ms)
    row(name, f"{statistics.median(ordered):7.2f} / {ordered[int(count * 0.95)]:7.2f} ms", goal)


def memory_of_sessions(box: LocalBox) -> None:
    """The mean proportional share of idle sessions, in a box with nothing else."""
    sessions = [box.session() for _ in range(SESSIONS)]
    for session in sessions:
        session.run("x = 0")
    pool_cells = {cell for server in fork_servers(box, "full") for cell in children(server)}
    shares_kb = []
    for cell in pool_cells:
        for line in Path(f"/proc/{cell}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                shares_kb.append(int(line.split()[1]))
    row(f"idle session, mean of {len(shares_kb)}", f"{statistics.mean(shares_kb) / 1024:7.2f} MB PSS", "<= 4")
    for session in sessions:
        session.close()


def many_sessions(box: LocalBox) -> None:
    sessions = [box.session() for _ in range(SESSIONS)]
    for session in sessions:
        session.run("x = 0")

    def work(index: int) -> None:
        for _ in range(CALLS):
            sessions[index].run("x += 1\nprint(x)")

    async def awork(index: int) -> None:
        for _ in range(CALLS):
            await sessions[index].arun("x += 1\nprint(x)")

    async def all_at_once() -> None:
        await asyncio.gather(*map(awork, range(SESSIONS)))

    def threads() -> None:
        with ThreadPoolExecutor(SESSIONS) as pool:
            list(pool.map(work, range(SESSIONS)))

    for name, go in (("a thread per session", threads), ("one event loop", lambda: asyncio.run(all_at_once()))):
        rates, before = [], tree_cpu_s(box)
        for _ in range(ROUNDS):
            started = time.perf_counter()
            go()
            rates.append(SESSIONS * CALLS / (time.perf_counter() - started))
        cpu_ms = 1000 * (tree_cpu_s(box) - before) / (ROUNDS * SESSIONS * CALLS)
        value = f"{statistics.median(rates):8.0f} calls/s"
        row(f"{SESSIONS} sessions, {name}, median of {ROUNDS}", value, f">= 10000   ({cpu_ms:.3f} CPU-ms a call)")
    for session in sessions:
        session.close()


def main() -> None:
    tier = sys.argv[1] if len(sys.argv) > 1 else None
    with LocalBox(tier=tier) as box:
        print(f"tier {box.tier}; wall times as p50 / p95, goals behind")
        bare = [sys.executable, "-I", "-S", "-c", "pass"]
        latency("python -I -S -c pass in a subprocess", "", lambda: subprocess.run(bare), 40)
        with box.session() as session:
            latency("stateful print", "0.3 / 0.6", lambda: session.run(PRINT), 300)
            latency("time-out of 50 ms", "70 at most", lambda: session.run("while True: pass", timeout_s=0.05), 20)
        latency("stateless print, 20 ms between requests", "0.8 / 1.5", lambda: box.run(PRINT), gap_s=0.02)
        cold_latency("stateless numpy, scipy, sympy imported, none ready", "6 / 10", box, FULL)
        latency("stateless sympy solve, 30 ms between requests", "15", lambda: box.run(SYMPY), 40, gap_s=0.03)
        cpu_per_call("stateless print", "3.5", box, PRINT)
        cpu_per_call("stateless numpy, scipy, sympy imported", "5.5", box, FULL)
        with box.session() as session:
            session.run(ARRAYS)

            def fork_and_call() -> None:
                with session.fork() as copy:
                    copy.run("x")

            latency("fork of a session with 50 MB, and its first call", "4 / 8", fork_and_call, 60)
            latency("the same, 20 ms between them", "", fork_and_call, 40, gap_s=0.02)
        many_sessions(box)
    if box.tier != "hardened":
        with LocalBox(tier=box.tier) as box:
            memory_of_sessions(box)


if __name__ == "__main__":
    main()
