"""What calls cost, in CPU time and beside the start of an interpreter in the same run; wall time is the machine's."""

import contextlib
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from tests.sandbox.conftest import WORKING, descendants
from toolenvs.sandbox.local import LocalBox

PRINT = "print(2 + 2)"
FULL = "import numpy, scipy, sympy\nprint(2 + 2)"


@pytest.fixture(scope="module")
def box() -> Iterator[LocalBox]:
    with LocalBox(tier="namespace" if "namespace" in WORKING else "fork") as opened:
        opened.run(PRINT)
        opened.run(FULL)
        yield opened


def _cpu_s(box: LocalBox) -> float:
    """Of this process, of the fork servers, of every cell that lives or has ended."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    ticks = _of_the_living({*box.server_pids, *_cells(box)}, lambda pid: sum(map(int, _stat(pid)[11:15])))
    return own.ru_utime + own.ru_stime + sum(ticks.values()) / 100


def _of_calls(box: LocalBox, call: Callable[[], object], count: int) -> float:
    """CPU seconds of one call: the least of three rounds, since neighbours only add to it."""
    rounds = []
    for _ in range(3):
        _rest(box)
        before = _cpu_s(box)
        for _ in range(count):
            call()
        _rest(box)
        rounds.append((_cpu_s(box) - before) / count)
    return min(rounds)


def _rest(box: LocalBox) -> None:
    """Until no fork server starts, and what is done after calls is done."""
    while any(pool._growing for pool in box._pools.values()):
        time.sleep(0.05)
    time.sleep(0.2)


def _of_an_interpreter() -> float:
    """CPU seconds of starting one that does nothing, the least of three rounds."""
    rounds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        for _ in range(15):
            subprocess.run([sys.executable, "-I", "-S", "-c", "pass"], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        rounds.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 15)
    return min(rounds)


def test_a_call_costs_less_than_an_interpreter(box: LocalBox) -> None:
    assert _of_calls(box, lambda: box.run(PRINT), 40) < 1.0 * _of_an_interpreter()


def test_what_is_imported_before_costs_little(box: LocalBox) -> None:
    assert _of_calls(box, lambda: box.run(FULL), 30) < 1.5 * _of_an_interpreter()


def test_a_call_in_a_session_costs_a_small_part_of_that(box: LocalBox) -> None:
    with box.session() as session:
        session.run("x = 0")
        assert _of_calls(box, lambda: session.run("x += 1\nprint(x)"), 300) < 0.1 * _of_an_interpreter()


def test_sessions_share_the_memory_of_their_fork_server(box: LocalBox) -> None:
    sessions = [box.session() for _ in range(16)]
    for session in sessions:
        session.run("import numpy, sympy")
    servers = [server.process.pid for server in box._pools["full"].servers]
    private_kb = list(_of_the_living({cell for pid in servers for cell in descendants(pid)}, _private_kb).values())
    for session in sessions:
        session.close()
    assert len(private_kb) >= 16
    assert sorted(private_kb)[8] < 6_000  # such an interpreter by itself: 60 MB and more


def test_a_call_wakes_its_interpreter_once(box: LocalBox) -> None:
    """And not a second time when the host reads the answer, which takes a processor from another interpreter."""
    with box.session() as session:
        session.run("x = 0")
        before = _of_the_living(_cells(box), _voluntary_switches)
        for _ in range(200):
            session.run("x += 1\nprint(x)")
        after = _of_the_living(before, _voluntary_switches)
    assert 0 < max(count - before[cell] for cell, count in after.items()) < 260


def test_a_cell_that_stands_ready_has_its_own_copies_of_what_a_run_writes_to(
    box: LocalBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    _rest(box)
    box._pools["bare"]._ready[0].channels.poll()  # until it says hello
    before = _of_the_living(_cells(box), _faults)
    later: list[Callable[[], None]] = []
    monkeypatch.setattr(box._afterwards, "do", later.append)
    box.run(PRINT)
    taken = max(count - before[cell] for cell, count in _of_the_living(before, _faults).items())
    for job in later:
        job()
    assert taken < 15  # of some 400 pages


def _cells(box: LocalBox) -> set[int]:
    return {cell for server in box.server_pids for cell in descendants(server)}


def _of_the_living(pids: Iterable[int], read: Callable[[int], int]) -> dict[int, int]:
    """What `read` says of each process; those that have ended meanwhile are left out."""
    found = {}
    for pid in pids:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found[pid] = read(pid)
    return found


def _stat(pid: int) -> list[str]:
    """From the third field of /proc/PID/stat on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _faults(pid: int) -> int:
    return int(_stat(pid)[7])


def _voluntary_switches(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))


def _private_kb(pid: int) -> int:
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
