"""Drive one interpreter in a process of its own: time it, load it, or attack it, as requests say.

    python -P benchmarks/interpreters/worker.py benchmarks/interpreters/jupyter.py

The file holds `VERSIONS` and `Backend`. `Backend(variant)` has `session()`, which gives an object with
`run(code, timeout_s) -> (status, text)` and `close()`; a backend without state starts afresh in each `run`. Statuses:
"ok", "error" (it raised), "timeout", "crashed" (anything else that is not a finished run). -P keeps this folder off the
import path, where gem.py would hide the package. Each line on standard input is a request, each line of output a reply.
"""

import json
import os
import runpy
import sys
import threading
import time
from typing import Any

MAX_TEXT = 20_000
"""Characters of a program's output that are passed on; its length is told apart."""
WARM_UP, LEAST = 1, 3
ENOUGH_S = 0.5


class Driver:
    """Backends that are open, and what can be done with them."""

    def __init__(self, script: dict[str, Any]) -> None:
        self._script = script
        self._open: dict[str, tuple[Any, Any]] = {}

    def _of(self, variant: str) -> tuple[Any, Any]:
        if variant not in self._open:
            backend = self._script["Backend"](variant)
            self._open[variant] = (backend, backend.session())
        return self._open[variant]

    def time(
        self, variant: str, code: str, expected: list[str], timeout_s: float, repetitions: int, pause_s: float
    ) -> dict[str, Any]:
        """Wall times in ms of runs whose answer is right, and the CPU time of each where it can be had.

        Fewer than `repetitions` when they have taken `ENOUGH_S`.
        """
        _, session = self._of(variant)
        times_ms = []
        warm_up = WARM_UP if timeout_s > 1 else 0
        spent_s = 0.0
        for number in range(warm_up + repetitions):
            if number == warm_up:
                before_s, spent_s = cpu_s(), 0.0
            if pause_s:
                time.sleep(pause_s)
            started_s = time.perf_counter()
            status, text = session.run(code, timeout_s)
            times_ms.append((time.perf_counter() - started_s) * 1000)
            spent_s += time.perf_counter() - started_s + pause_s
            if not (status == expected[0] and expected[1] in text):
                raise RuntimeError(f"{variant}: {status} {text[:500]!r} instead of {expected}")
            if number >= warm_up + LEAST and spent_s > ENOUGH_S:
                break
        after_s = cpu_s()
        del times_ms[:warm_up]
        cpu_ms = None if before_s is None or after_s is None else (after_s - before_s) * 1000 / len(times_ms)
        return {"times_ms": times_ms, "cpu_ms": cpu_ms}

    def throughput(self, variant: str, code: str, sessions: int, seconds: float, start_limit_s: float) -> Any:
        """Calls a second of so many sessions side by side, and what it took to start them."""
        backend, _ = self._of(variant)
        started_s = time.perf_counter()
        opened: list[Any] = []
        failed: list[str] = []
        until_s = [0.0]

        def start() -> None:
            try:
                while len(opened) + working[0] < sessions and time.perf_counter() - started_s < start_limit_s:
                    working[0] += 1
                    try:
                        session = backend.session()
                        session.run(code, 60.0)
                        opened.append(session)
                    finally:
                        working[0] -= 1
            except Exception as error:
                failed.append(repr(error))

        def work(session: Any) -> None:
            count = 0
            try:
                while time.perf_counter() < until_s[0]:
                    status, text = session.run(code, 60.0)
                    if status != "ok" or "4" not in text:
                        raise RuntimeError(f"{status} {text[:300]!r}")
                    count += 1
            except Exception as error:
                failed.append(repr(error))
            counts.append(count)

        working = [0]
        counts: list[int] = []
        side_by_side([start] * min(sessions, 8))
        start_s = time.perf_counter() - started_s
        if len(opened) == sessions and not failed:
            began_s = time.perf_counter()
            until_s[0] = began_s + seconds
            side_by_side([lambda session=session: work(session) for session in opened])
            seconds = time.perf_counter() - began_s  # those that were begun in time have ended
        for session in opened:
            session.close()
        done = len(counts) == sessions and not failed
        return {"calls_per_s": sum(counts) / seconds if done else None, "start_s": start_s, "failed": failed[:3]}

    def spin(self, variant: str, code: str) -> None:
        """Tell that a program runs that never ends, and wait for it."""
        _, session = self._of(variant)
        threading.Thread(target=session.run, args=(code, 600.0), daemon=True).start()

    def attack(self, variant: str, cells: list[tuple[bool, str]], timeout_s: float) -> list[Any]:
        """Run the cells of one program in fresh sessions where they say so, then one that any session answers."""
        backend, session = self._of(variant)
        outcomes = []
        for fresh, code in cells:
            if fresh:
                session.close()
                session = backend.session()
                self._open[variant] = (backend, session)
            started_s = time.monotonic()
            status, text = session.run(code, timeout_s)
            seconds = time.monotonic() - started_s
            outcomes.append({"status": status, "text": text[:MAX_TEXT], "chars": len(text), "seconds": seconds})
        session.close()
        session = backend.session()
        self._open[variant] = (backend, session)
        status, text = session.run("print(2+2)", 20.0)
        outcomes.append({"status": status, "text": text[:MAX_TEXT], "chars": len(text), "seconds": 0.0})
        return outcomes

    def finish(self) -> None:
        """Close what is open, in order."""
        for backend, session in self._open.values():
            session.close()
            backend.close()
        self._open.clear()


def side_by_side(calls: list[Any]) -> None:
    """Call each in a thread, and wait."""
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def cpu_s() -> float | None:
    """CPU time of all that this process's control group has run; None where it has no group of its own."""
    path = os.environ.get("BENCHMARK_CPUACCT")
    if not path:
        return None
    with open(f"{path}/cpuacct.usage") as file:
        return int(file.read()) / 1e9


def serve(requests: Any, replies: Any) -> None:
    """Tell the versions, then obey until there are no more requests."""
    script = runpy.run_path(sys.argv[1])
    print(json.dumps(script["VERSIONS"]), file=replies, flush=True)
    driver = Driver(script)
    for line in requests:
        request = json.loads(line)
        try:
            reply = getattr(driver, request.pop("do"))(**request)
        except Exception as error:
            reply = {"failed": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=replies, flush=True)
    driver.finish()


if __name__ == "__main__":
    # Requests and replies go over descriptors of their own, since a library may print, or keep sys.stdout to itself.
    requests, replies = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    serve(requests, replies)
