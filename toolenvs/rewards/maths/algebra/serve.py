"""The child's loop: one JSON line in, one JSON line out, until standard input ends.

    in    {"gold": "...", "answer": "..."}             tidied texts
    out   {"same": true | false} or {"refused": "why"}

The child limits itself: address space once, processor time for every request (the kernel ends it with SIGPROF,
which needs no cooperation from C code). It starts with `python -I`, so that nothing in the caller's environment or
working directory is imported.
"""

import json
import resource
import signal
import sys

from .compare import same_answer
from .decide import NumericDecider
from .tree import TooBig

_MAX_MEMORY_BYTES = 1 << 30
_WARM_UP = ((r"2\sqrt{3}+\sin x", r"\sqrt{12}+\sin x"), (r"e^{i\pi}", "-1"), (r"\ln 8", r"3\ln 2"))


def main(cpu_seconds: float) -> None:
    """Answer requests, each within `cpu_seconds` of processor time."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = _MAX_MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(_MAX_MEMORY_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for gold, answer in _WARM_UP:
        _answer(gold, answer)
    _write({"ready": True})
    for line in sys.stdin.buffer:
        request = json.loads(line)
        _limit_cpu(cpu_seconds)
        reply = _answer(request["gold"], request["answer"])
        signal.setitimer(signal.ITIMER_PROF, 0)
        _write(reply)


def _limit_cpu(seconds: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    ceiling = int(used.ru_utime + used.ru_stime + seconds) + 2
    resource.setrlimit(resource.RLIMIT_CPU, (ceiling if hard == resource.RLIM_INFINITY else min(ceiling, hard), hard))


def _answer(gold: str, answer: str) -> dict[str, object]:
    try:
        return {"same": same_answer(gold, answer, NumericDecider())}
    except TooBig as error:
        return {"refused": str(error)}
    except (MemoryError, RecursionError) as error:
        return {"refused": type(error).__name__}


def _write(reply: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(reply) + "\n")
    sys.stdout.flush()
