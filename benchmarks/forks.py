"""How long a fork of a session with 50 MB of live arrays takes, on each backend that is named.

    python benchmarks/forks.py namespace docker fork hardened

DOCKER_HOST names the engine of `docker`; the others are tiers of the local sandbox. Wall times are this machine's, and
a quiet one's; what a backend adds to another in one run travels.
"""

import statistics
import sys
import time
from collections.abc import Callable

from toolenvs.sandbox import Box, open

ARRAYS = "import numpy\nx = 1\narrays = [numpy.ones(1 << 20) for _ in range(6)]"  # 50 MB
COUNT, WARM_UP = 100, 8


def times(call: Callable[[], object], gap_s: float = 0.0) -> str:
    """The percentiles of a call's wall time."""
    taken_ms = []
    for _ in range(COUNT + WARM_UP):
        started = time.perf_counter()
        call()
        taken_ms.append((time.perf_counter() - started) * 1000)
        time.sleep(gap_s)
    ordered = sorted(taken_ms[WARM_UP:])
    return f"{statistics.median(ordered):6.2f} / {ordered[int(COUNT * 0.95)]:5.2f}"


def measure(name: str, box: Box) -> None:
    with box.session() as session:
        assert session.run(ARRAYS, timeout_s=60).status == "ok"

        def fork_and_call() -> None:
            with session.fork() as copy:
                copy.run("x")

        forks, both = times(lambda: session.fork().close()), times(fork_and_call)
        spaced, call = times(fork_and_call, 0.02), times(lambda: session.run("x"))
        print(f"{name:10s} fork {forks}   and first call {both}   20 ms apart {spaced}   call {call}", flush=True)


def main() -> None:
    print("p50 / p95, ms")
    for name in sys.argv[1:] or ["fork"]:
        with open("docker") if name == "docker" else open("local", tier=name) as box:
            measure(name, box)


if __name__ == "__main__":
    main()
