"""Many calls of one local sandbox: does it stay as small and as fast as it was?

    python benchmarks/soak.py [--calls 100000] [--tier hardened] [--out soak.json]

Of ten calls eight are stateful, in eight sessions of which one is replaced after every 40 calls; one is a fresh
interpreter, and one a fork of a session (where the tier forks; else another fresh interpreter). Memory is the
proportional set size of this process and of all below it, descriptors are this process's, CPU time is of all. The exit
code is 0 when memory grew by at most 5 %, descriptors by none, and the last thousand calls took at most 20 % more CPU
than the first. CPU time itself depends on what else the machine does: it is taken relative to that of twenty starts of
`python -I -S` right after each thousand.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from typing import Any

from leftovers import cpu_s, descendants, memory_mb, settle, snapshot

from toolenvs.sandbox.local import LocalBox, LocalSession


class Load:
    """The calls, one after the other; every answer is checked."""

    def __init__(self, box: LocalBox) -> None:
        self.box = box
        self.sessions = [self._new(number) for number in range(8)]
        self.values = list(range(8))
        self.calls = 0

    def _new(self, number: int) -> LocalSession:
        session = self.box.session()
        session.run(f"x = {number}\nimport numpy")
        return session

    def step(self) -> None:
        self.calls += 1
        number = self.calls % 8
        kind = self.calls % 10
        if self.calls % 40 == 0:
            self.sessions[number].close()
            self.sessions[number] = self._new(number)
            self.values[number] = number
        elif kind == 3:
            with self.sessions[number].fork() as copy:
                assert copy.run("x += 1; print(x)").stdout == f"{self.values[number] + 1}\n"
        elif kind == 7:
            assert self.box.run(f"print({self.calls} * 2)").stdout == f"{self.calls * 2}\n"
        elif kind == 5:
            assert self.sessions[number].run("1 / 0").status == "error"
        else:
            self.values[number] += 1
            result = self.sessions[number].run("x += 1; s = str(list(range(200)))\nprint(len(s)); x")
            assert result.value == str(self.values[number]), result


def reference_cpu_s() -> float:
    """CPU time of twenty fresh interpreters."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(20):
        subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(load: Load) -> dict[str, float]:
    stood = -1
    for _ in range(20):  # what was killed is gone, what stands ready has come up
        time.sleep(1.0)
        before, stood = stood, len(descendants())
        if stood == before:
            break
    return {
        "calls": load.calls,
        "memory_mb": round(memory_mb({os.getpid(), *descendants()}), 1),
        "own_memory_mb": round(memory_mb({os.getpid()}), 1),
        "descriptors": len(os.listdir("/proc/self/fd")),
        "processes": len(descendants()),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--tier")
    parser.add_argument("--out")
    options = parser.parse_args()
    before = snapshot()
    report: dict[str, Any] = {}
    cpu: list[float] = []
    relative: list[float] = []
    started_s = time.monotonic()
    with LocalBox(tier=options.tier) as box:
        report["tier"] = box.tier
        load = Load(box)
        for _ in range(500):  # both kinds of fork server are up, all spares stand
            load.step()
        points = [measure(load)]
        for _ in range(options.calls // 1000):
            at_s = cpu_s()
            for _ in range(1000):
                load.step()
            cpu.append(cpu_s() - at_s)
            relative.append(cpu[-1] / reference_cpu_s())
            if len(cpu) % 10 == 1:
                points.append(measure(load))
                print(
                    json.dumps(points[-1] | {"cpu_s_per_1000": round(cpu[-1], 2), "relative": round(relative[-1], 2)}),
                    flush=True,
                )
        points.append(measure(load))
        for session in load.sessions:
            session.close()
    first, last = points[1], points[-1]
    report |= {
        "points": points,
        "cpu_s_per_1000": [round(value, 2) for value in cpu],
        "memory_growth": round(last["memory_mb"] / first["memory_mb"] - 1, 4),
        "descriptor_growth": last["descriptors"] - first["descriptors"],
        "relative_cpu": [round(value, 2) for value in relative],
        "cpu_growth": round(cpu[-1] / cpu[0] - 1, 4),
        "relative_cpu_growth": round(relative[-1] / relative[0] - 1, 4),
        "left": settle(before),
        "seconds": round(time.monotonic() - started_s),
    }
    report["holds"] = (
        report["memory_growth"] <= 0.05
        and report["descriptor_growth"] <= 0
        and report["relative_cpu_growth"] <= 0.2
        and not report["left"]
    )
    print(
        json.dumps(
            {key: value for key, value in report.items() if key not in ("points", "cpu_s_per_1000", "relative_cpu")}
        )
    )
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(report, file, indent=1)
    return 0 if report["holds"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
