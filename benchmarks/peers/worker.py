"""Time the cases of one library in a process of its own, as often as a request asks.

    python -P benchmarks/peers/worker.py benchmarks/peers/gem.py

The file holds `VERSIONS` and `CASES`: generators that yield what is to be timed and are sent what that gave, to check
it; what lies between is not timed. -P keeps this folder off the import path, where gem.py would hide the package.
Each line on standard input is a request, `{"case": name, "repetitions": n, "pause_s": s}`, and gets one line of times
in microseconds.
"""

import json
import os
import runpy
import sys
import time
from collections.abc import Callable, Generator
from typing import Any, TextIO

Case = Generator[Callable[[], Any], Any, None]

WARM_UP = 5  # repetitions before those that count


def time_us(case: Case, repetitions: int, pause_s: float) -> list[float]:
    """Wall time of each repetition; `pause_s` seconds lie before each."""
    times_us = []
    call = next(case)
    for _ in range(WARM_UP + repetitions):
        if pause_s:
            time.sleep(pause_s)
        started_s = time.perf_counter()
        result = call()
        times_us.append((time.perf_counter() - started_s) * 1e6)
        call = case.send(result)
    case.close()
    return times_us[WARM_UP:]


def serve(file: str, requests: TextIO, replies: TextIO) -> None:
    """Tell the versions, then answer requests until there are no more."""
    script = runpy.run_path(file)
    print(json.dumps(script["VERSIONS"]), file=replies, flush=True)
    for line in requests:
        request = json.loads(line)
        case = script["CASES"][request["case"]]()
        print(json.dumps(time_us(case, request["repetitions"], request["pause_s"])), file=replies, flush=True)


if __name__ == "__main__":
    # Requests and replies go over descriptors of their own, since a library may print, or keep sys.stdout to itself.
    requests, replies = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    serve(sys.argv[1], requests, replies)
