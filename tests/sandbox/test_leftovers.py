"""Whatever is cancelled, killed or attacked: the right caller hears of it, and nothing is left."""

import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from toolenvs.errors import SandboxError
from toolenvs.sandbox.local import LocalBox

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def _report(tmp_path: Path, *arguments: str) -> dict:
    out = tmp_path / "report.json"
    command = [sys.executable, *arguments, "--out", str(out)]
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    report: dict = json.loads(out.read_text("utf-8"))
    return report


def test_killed_processes_cost_their_own_calls_only(tmp_path: Path) -> None:
    report = _report(tmp_path, "chaos.py", "--tries", "8", "--seed", "3")
    assert (report["wrong"], report["hung"], report["left"]) == ([], 0, {})
    assert len(report["killed"]) >= 2
    assert report["calls that ended as infrastructure"] > 0


def test_attacks_beside_honest_work_leave_nothing(tmp_path: Path) -> None:
    kinds = "01,02,15,17,18,19,22,24,25,42,43,51,55,61,64,67,82"
    report = _report(tmp_path, "attack_soak.py", "--rounds", "1", "--only", kinds)
    assert report["programs"] == 17
    assert (report["came through"], report["honest results wrong"], report["left"]) == ([], [], {})
    assert report["honest results right"] > 16


def _descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def _standing(box: LocalBox) -> tuple[int, int]:
    """Cells that stand ready, and the most descriptors that they and the fork servers take; servers start as needed."""
    ready = sum(len(pool._ready) for pool in box._pools.values())
    return ready, 3 * ready + 6 * sum(len(pool.servers) for pool in box._pools.values())


async def _settled(box: LocalBox, live: int, descriptors: int) -> None:
    """Wait until only so many cells are live beside those that stand ready."""
    for _ in range(1000):
        ready, standing = _standing(box)
        cells = sum(server.live for pool in box._pools.values() for server in pool.servers)
        if cells - ready <= live and _descriptors() <= descriptors + standing:
            break
        await asyncio.sleep(0.01)
    assert cells - ready <= live
    assert _descriptors() <= descriptors + standing
    assert box._running.waiting == box._sessions.waiting == 0


@pytest.mark.parametrize("what", ["run", "session run", "session", "fork"])
async def test_what_is_cancelled_at_any_moment_leaves_nothing(box: LocalBox, what: str) -> None:
    dice = random.Random(5)
    session = await box.asession()
    await session.arun("x = 1")
    await box.arun("print(1)")
    base = _descriptors() - _standing(box)[1]

    async def ask() -> None:
        if what == "run":
            await box.arun("sum(range(10**5))")
        elif what == "session run":
            await session.arun("x = 1\nsum(range(10**5))")
        elif what == "session":
            async with await box.asession() as other:
                await other.arun("sum(range(10**5))")
        else:
            async with await session.afork() as copy:
                await copy.arun("x")

    for _ in range(30):
        task = asyncio.create_task(ask())
        await asyncio.sleep(dice.random() * 0.012)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    if what != "session run":
        assert (await session.arun("x")).value == "1"
    await _settled(box, 1, base + 3)
    await session.aclose()
    assert (await box.arun("print(2)")).stdout == "2\n"


async def test_a_cancelled_caller_does_not_keep_waiting() -> None:
    async with LocalBox(max_sessions=1, max_running=1) as box:
        first = await box.asession()
        waiting = [asyncio.create_task(box.asession()) for _ in range(5)]
        running = [asyncio.create_task(box.arun("import time; time.sleep(60)")) for _ in range(5)]
        await asyncio.sleep(0.2)
        for task in (*waiting, *running):
            task.cancel()
        await asyncio.gather(*waiting, *running, return_exceptions=True)
        assert box._sessions.waiting == box._running.waiting == 0
        await first.aclose()
        async with await box.asession() as second:
            assert (await second.arun("1")).value == "1"
        assert (await box.arun("print(2)")).stdout == "2\n"


async def test_every_loss_of_state_is_told_once(box: LocalBox) -> None:
    async with await box.asession() as session:
        assert not (await session.arun("x = 1")).state_lost
        assert not (await session.arun("while True: pass", timeout_s=0.3)).state_lost
        assert (await session.arun("x")).value == "1"
        for ending in (
            "import os; os._exit(0)",
            "import os; os.abort()",
            "import os\nwhile True: os.write(1, b'x' * 9999)",
        ):
            assert (await session.arun(ending)).state_lost
            fresh = await session.arun("x")
            assert (fresh.error, fresh.state_lost) == ("NameError: name 'x' is not defined", False)
            await session.arun("x = 1")
        task = asyncio.create_task(session.arun("import time; time.sleep(60)"))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        after = await session.arun("x")
        assert (after.error, after.state_lost) == ("NameError: name 'x' is not defined", True)
        assert not (await session.arun("1")).state_lost


async def test_a_cell_that_is_killed_from_outside_is_infrastructure(box: LocalBox) -> None:
    async with await box.asession() as session:
        await session.arun("x = 1")
        before = _cells(box)
        task = asyncio.create_task(session.arun("import time; time.sleep(60)", timeout_s=60))
        await asyncio.sleep(0.1)
        for pid in before:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        with pytest.raises(SandboxError, match="killed from outside"):
            await task
        while before & _cells(box):  # what stood ready ends in its own time
            await asyncio.sleep(0.01)
        assert (await session.arun("1 + 1")).state_lost
    assert (await box.arun("print(1)")).stdout == "1\n"  # what stood ready was killed too, and replaced


def _cells(box: LocalBox) -> set[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_bytes().rpartition(b")")[2].split()[1])
    outer = set(box.server_pids)
    servers = {pid for pid, parent in parents.items() if parent in outer}
    return {pid for pid, parent in parents.items() if parent in servers}


def test_no_program_passes_for_one_that_was_killed_from_outside(box: LocalBox) -> None:
    ways = (
        "os.kill(os.getpid(), 9)",
        "signal.pthread_kill(threading.get_ident(), 9)",
        "signal.raise_signal(9)",
        "libc.syscall(200, threading.get_native_id(), 9)",
        "os.kill(0, 9)",
        "os.kill(-1, 9)",
        "os.killpg(os.getpgrp(), 9)",
        "os.close(3); time.sleep(60)",
        "libc.syscall(222, 0, event, timer) or libc.syscall(223, 0, 0, soon, 0); time.sleep(0.3)",
    )
    set_up = (
        "import ctypes, os, signal, struct, threading, time\nlibc = ctypes.CDLL(None)\n"
        "event = struct.pack('Qii', 0, 9, 0) + bytes(48)\ntimer = ctypes.create_string_buffer(8)\n"
        "soon = struct.pack('4q', 0, 0, 0, 10**7)\n"
    )
    for way in ways:
        with box.session() as session:
            assert session.run(set_up + way, timeout_s=5).status in ("crashed", "error", "ok"), way


def test_a_stopped_fork_server_hangs_nobody_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolenvs.sandbox.cell.COME_UP_LIMIT_S", 1.0)
    with LocalBox() as box:
        box.run("print(1)")
        for pid in box.server_pids:
            for below in (pid, *_children(pid)):
                os.kill(below, signal.SIGSTOP)
        failures = 0
        until_s = time.monotonic() + 60
        while time.monotonic() < until_s:
            try:
                if box.run("print(2)").stdout == "2\n" and failures:
                    break
            except SandboxError:
                failures += 1
        assert failures
        assert box.run("print(3)").stdout == "3\n"


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
