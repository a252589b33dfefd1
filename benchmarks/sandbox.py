"""How fast the local sandbox is: latencies, CPU per call, many calls at once.

    python benchmarks/sandbox.py [tier]

Ratios and CPU figures travel between machines; wall times are this machine's.
"""

import asyncio
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from toolenvs.sandbox.local import LocalBox

PRINT = "print(2+2)"
SYMPY = "from sympy import *\nx = symbols('x')\nprint(solve(x**2 - 5*x + 6, x))"


def percentiles(name: str, call: Callable[[], object], count: int = 100, gap_s: float = 0.0) -> None:
    for _ in range(5):
        call()
        time.sleep(gap_s)
    times_ms = []
    for _ in range(count):
        started = time.perf_counter()
        call()
        times_ms.append((time.perf_counter() - started) * 1000)
        time.sleep(gap_s)
    show(name, times_ms)


def show(name: str, times_ms: list[float]) -> None:
    ordered = sorted(times_ms)
    p95 = ordered[int(len(ordered) * 0.95)]
    print(f"{name:52s} p50 {statistics.median(ordered):8.2f} ms   p95 {p95:8.2f} ms   min {ordered[0]:8.2f} ms")


def tree_cpu_s(box: LocalBox) -> float:
    """CPU of this process and of the fork servers with all they have reaped."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    total = own.ru_utime + own.ru_stime
    tick = 100.0
    for root in box.server_pids:
        pids = [root]
        children = Path(f"/proc/{root}/task/{root}/children").read_text().split()
        if box.tier != "fork":
            pids += [int(pid) for pid in children]
        for pid in pids:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(int(field) for field in fields[11:15]) / tick
    return total


def cpu_per_call(name: str, box: LocalBox, code: str, count: int = 150) -> None:
    box.run(code)
    before = tree_cpu_s(box)
    for _ in range(count):
        box.run(code)
    time.sleep(0.1)
    print(f"{name:52s} {1000 * (tree_cpu_s(box) - before) / count:8.2f} CPU-ms a call")


async def asynchronous(box: LocalBox) -> None:
    async with await box.asession() as session:
        times_ms = []
        for _ in range(200):
            started = time.perf_counter()
            await session.arun(PRINT)
            times_ms.append((time.perf_counter() - started) * 1000)
        show("stateful print, asynchronous", times_ms[10:])
    for label, count in (("256 stateless prints at once", 256), ("the same again", 256)):
        started = time.perf_counter()
        results = await asyncio.gather(*[box.arun(PRINT) for _ in range(count)])
        assert all(result.stdout == "4\n" for result in results)
        print(f"{label:52s} {time.perf_counter() - started:8.2f} s")


def main() -> None:
    tier = sys.argv[1] if len(sys.argv) > 1 else None
    with LocalBox(tier=tier) as box:
        print(f"tier {box.tier}")
        bare = [sys.executable, "-I", "-S", "-c", PRINT]
        percentiles("python -I -S in a subprocess", lambda: subprocess.run(bare, capture_output=True), 40)
        with box.session() as session:
            percentiles("stateful print", lambda: session.run(PRINT), 300)
        percentiles("stateless print, 20 ms between requests", lambda: box.run(PRINT), gap_s=0.02)
        percentiles("stateless print, back to back", lambda: box.run(PRINT))
        percentiles("stateless sympy solve, 30 ms between requests", lambda: box.run(SYMPY), 40, gap_s=0.03)
        percentiles("stateless sympy solve, back to back", lambda: box.run(SYMPY), 40)
        cpu_per_call("stateless print", box, PRINT)
        cpu_per_call("stateless sympy import", box, "import sympy")
        asyncio.run(asynchronous(box))
        if box.tier == "fork":  # it refuses forks
            return
        with box.session() as session:

            def fork_and_call() -> None:
                with session.fork() as copy:
                    copy.run("x")

            session.run("x = 1")
            percentiles("fork of a session, and its first call", fork_and_call, 40)


if __name__ == "__main__":
    main()
