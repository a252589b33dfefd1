"""What a sandbox could leave on the machine, counted before and after by `chaos.py`, `attack_soak.py` and `soak.py`."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

_TICKS = os.sysconf("SC_CLK_TCK")


def parents() -> dict[int, int]:
    """Every process and its parent."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = Path(f"/proc/{name}/stat").read_bytes()
            except OSError:
                continue
            found[int(name)] = int(stat.rpartition(b")")[2].split()[1])
    return found


def descendants(root: int | None = None) -> set[int]:
    """Every process below `root` (default: this one)."""
    root = os.getpid() if root is None else root
    known = parents()
    found: set[int] = set()
    new = {root}
    while new:
        found |= new
        new = {child for child, parent in known.items() if parent in found} - found
    return found - {root}


def cpu_s() -> float:
    """CPU time of this process, of all below it, and of what these have reaped."""
    total = 0.0
    for pid in {os.getpid(), *descendants()}:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += sum(int(field) for field in fields[11:15]) / _TICKS
    return total


def memory_mb(pids: set[int]) -> float:
    """Proportional set size of `pids`."""
    total_kb = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total_kb += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total_kb / 1024


def snapshot() -> dict[str, Any]:
    """Things that must be the same afterwards: each a set of names or a number."""
    own = os.getpid()
    ipc = {}
    for kind in ("shm", "sem", "msg"):
        try:
            ipc[kind] = len(Path(f"/proc/sysvipc/{kind}").read_text().splitlines())
        except OSError:
            continue
    return {
        "processes": descendants(),
        "descriptors": {name for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")},
        "mounts": {line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()},
        "cgroups": {
            f"{folder}/{name}"
            for folder, inner, _ in os.walk("/sys/fs/cgroup")
            for name in inner
            if name.startswith(f"toolenvs-{own}-")
        },
        "sockets": _sockets_of(own),
        "shared memory": _shared_memory(),
        "System V objects": ipc,
        "files of cells": _files_of_cells(),
    }


def _sockets_of(pid: int) -> int:
    count = 0
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            count += os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:")
        except OSError:
            continue
    return count


def _shared_memory() -> set[str]:
    """Names in /dev/shm; as root those of other users, since no cell is root."""
    if not os.path.isdir("/dev/shm"):
        return set()
    found = set()
    for entry in os.scandir("/dev/shm"):
        try:
            if os.geteuid() != 0 or entry.stat(follow_symlinks=False).st_uid != 0:
                found.add(entry.name)
        except OSError:
            continue
    return found


def _files_of_cells() -> set[str]:
    """Files that belong to the sandbox's users, where any user may write."""
    found = set()
    for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run"):
        if os.path.isdir(folder):
            for entry in os.scandir(folder):
                try:
                    if 64_000 <= entry.stat(follow_symlinks=False).st_uid < 65_534:
                        found.add(entry.path)
                except OSError:
                    continue
    return found


def differences(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What is there now and was not, by kind."""
    out: dict[str, Any] = {}
    for kind, then in before.items():
        now = after[kind]
        if kind == "descriptors":
            if len(now) > len(then):
                out[kind] = len(now) - len(then)
        elif isinstance(then, set):
            if now - then:
                out[kind] = sorted(now - then)
        elif now != then:
            out[kind] = f"{then} -> {now}"
    return out


def settle(before: dict[str, Any], limit_s: float = 20.0) -> dict[str, Any]:
    """`differences`, once they have gone away or after `limit_s`."""
    return wait_for(lambda: differences(before, snapshot()), limit_s)


def wait_for(left: Callable[[], dict[str, Any]], limit_s: float) -> dict[str, Any]:
    """Call `left` until it gives nothing, or `limit_s` have passed."""
    until_s = time.monotonic() + limit_s
    while (found := left()) and time.monotonic() < until_s:
        time.sleep(0.05)
    return found
