"""Control groups: a slot for each cell, made ahead below this process's own group, bounds memory, processes and CPU.

A slot is one folder in every hierarchy that is needed: v1 has one for each controller, v2 one for all. A cell enters
its slot as the first thing it does, by files that the host opened for it; it never sees the folders.
"""

import contextlib
import fcntl
import os
import secrets
import signal
import subprocess
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from toolenvs.errors import SandboxError
from toolenvs.sandbox.limits import Limits
from toolenvs.sandbox.users import Users

CONTROLLERS = ("memory", "pids", "cpu")
_PREFIX = "toolenvs-"
_INTERPRETER_MB = 128  # what a cell copies of its fork server's memory, and its page tables
_PERIOD_US = 100_000
_EMPTYING_LIMIT_S = 10.0
_MB = 1 << 20

# Whoever uses a box may be killed: this waits for its end and removes the folders, which are empty by then.
_JANITOR = """
read -r _
tries=0
while [ $tries -lt 100 ]; do
    left=
    for base do rmdir "$base"/*/ "$base"; [ -d "$base" ] && left=1; done
    [ $left ] || exit 0
    tries=$((tries + 1))
    sleep 0.1
done
"""


class Hierarchy(NamedTuple):
    """One tree of control groups that this process can see."""

    version: int
    controllers: frozenset[str]
    """For v1 those that are mounted here, for v2 those that its groups may hand on."""
    own: Path
    """This process's own group."""


class CgroupError(Exception):
    """Why there are no control groups to be had here."""


def hierarchies(memberships: str, mounts: str) -> list[Hierarchy]:
    """The trees that this process is in and can see.

    Args:
        memberships: the text of /proc/self/cgroup.
        mounts: the text of /proc/self/mountinfo.
    """
    groups: dict[str, str] = {}
    for line in memberships.splitlines():
        _, names, path = line.split(":", 2)
        groups[names] = path
    found = []
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        root, mounted = before.split()[3:5]
        kind, _, options = [*after.split(), "", ""][:3]
        if kind == "cgroup2":
            names, version = "", 2
        elif kind == "cgroup":
            known = set(options.split(","))
            names, version = next((item for item in groups if item and set(item.split(",")) <= known), ""), 1
        else:
            continue
        if names not in groups or (version == 1 and not names):
            continue
        path = groups[names]
        if path.startswith("/.."):  # outside this process's control group namespace
            continue
        if root != "/":  # part of a tree: what lies above is not to be seen
            if path != root and not path.startswith(root + "/"):
                continue
            path = path[len(root) :]
        own = Path(mounted + path.rstrip("/"))
        controllers = frozenset(names.split(",")) if version == 1 else _handed_on(own)
        if own.is_dir() or not mounted.startswith("/sys"):
            found.append(Hierarchy(version, controllers, own))
    return found


def _handed_on(group: Path) -> frozenset[str]:
    try:
        return frozenset((group / "cgroup.controllers").read_text().split())
    except OSError:
        return frozenset()


class Slot:
    """The control groups of one cell."""

    def __init__(self, slots: "Slots", number: int, user: int, folders: dict[str, Path]) -> None:
        self.user = user
        """The user of the cell that is spawned into it."""
        self._slots = slots
        self._folders = folders  # controller, or "kill" for a v2 group that serves to end the cell alone
        self._name = f"{slots.name}/{number}"
        self._holders = 0
        self._oom_kills = 0
        # Names in full, since every cell begins with these files: a Path for each costs more than the kernel's work.
        groups = [str(folder) for folder in dict.fromkeys(folders.values())]
        self._procs = [f"{group}/cgroup.procs" for group in groups]
        # In v1 the one thread's file: it takes no lock that every fork on the machine waits for.
        self._tasks = [f"{group}/{'tasks' if os.path.exists(f'{group}/tasks') else 'cgroup.procs'}" for group in groups]
        self._current = f"{folders['pids']}/pids.current"
        self._events = f"{folders['memory']}/memory.events"
        if not os.path.exists(self._events):
            self._events = f"{folders['memory']}/memory.oom_control"

    def entrances(self, *, for_others: bool = False) -> list[int]:
        """Descriptors of files: writing "0" puts the writing process into these groups, a process id that process.

        Args:
            for_others: whole processes will be put, not the writer itself, which has one thread.

        Raises:
            SandboxError: they cannot be opened.
        """
        opened: list[int] = []
        try:
            for path in self._procs if for_others else self._tasks:
                opened.append(os.open(path, os.O_WRONLY | os.O_CLOEXEC))
        except OSError as error:
            for descriptor in opened:
                os.close(descriptor)
            raise SandboxError(f"a control group of the local sandbox cannot be entered: {error}") from error
        return opened

    def sibling(self) -> "Slot":
        """Another free slot of the same box."""
        return self._slots.take()

    def hold(self) -> "Slot":
        """Keep it from being used again."""
        with self._slots.lock:
            self._holders += 1
        return self

    def let_go(self) -> None:
        """Undo one `hold`; after the last, every process in it is ended and it may be used again."""
        with self._slots.lock:
            self._holders -= 1
            if self._holders:
                return
        self._slots.take_back(self)

    def ran_out_of_memory(self) -> bool:
        """Whether the kernel has ended a process in it for memory since it was taken."""
        return self._count_oom_kills() > self._oom_kills

    def begin(self) -> bool:
        """Prepare it for a new cell; False while it is not empty."""
        if any(map(_content, self._procs)):
            return False
        if _content(self._current) not in (b"0\n", b""):
            return False  # dead, and not yet buried
        self._oom_kills = self._count_oom_kills()
        return True

    def processes(self) -> list[int]:
        """The processes in it."""
        found: set[int] = set()
        for folder in dict.fromkeys(self._folders.values()):
            with contextlib.suppress(OSError):
                found.update(map(int, (folder / "cgroup.procs").read_text().split()))
        return sorted(found - {0})

    def end(self) -> None:
        """Send SIGKILL to every process in it."""
        switch = self._folders.get("kill", self._folders["pids"]) / "cgroup.kill"
        try:
            switch.write_text("1")
            return
        except OSError:
            pass  # v1, or a kernel before 5.14
        for pid in self.processes():
            with contextlib.suppress(OSError):
                process = os.pidfd_open(pid)
                try:  # the number may have a new owner
                    if f"{self._name}\n" in Path(f"/proc/{pid}/cgroup").read_text():
                        signal.pidfd_send_signal(process, signal.SIGKILL)
                finally:
                    os.close(process)

    def remove(self) -> bool:
        """Remove its folders; whether all are gone."""
        left = [folder for folder in dict.fromkeys(self._folders.values()) if not _remove(folder)]
        return not left

    def _count_oom_kills(self) -> int:
        for line in _content(self._events).splitlines():
            key, _, count = line.partition(b" ")
            if key == b"oom_kill":
                return int(count)
        return 0


class Slots:
    """The slots of one box. Thread-safe."""

    def __init__(self, limits: Limits, *, ready: int = 4, trees: bool = False) -> None:
        """Make a group of its own below this process's, and the first slots in it.

        Args:
            limits: of each slot.
            ready: slots that are made at once.
            trees: cells may start other programs, which have to end with them.

        Raises:
            CgroupError: it is not possible here; the message says what is missing.
        """
        self.lock = threading.Lock()
        self.name = ""
        self._limits = limits
        self._users = Users(limits.unprivileged_uid)
        self._trees = trees
        self._free: deque[Slot] = deque()
        self._all: list[Slot] = []
        self._closed = False
        self._janitor: subprocess.Popen[bytes] | None = None
        self._locks: list[int] = []
        self._parents: dict[str, Path] = {}
        self._bases: dict[Path, Path] = {}
        try:
            self._parents = self._find()
            self._make_bases()
            self._free.extend(self._make() for _ in range(ready))
        except OSError as error:
            self.close()
            where = error.filename or "a control group"
            raise CgroupError(
                f"control groups: {error.strerror} at {where}: root or a delegated group is needed"
            ) from error
        except SandboxError as error:
            self.close()
            raise CgroupError(str(error)) from error
        self._start_janitor()
        _OPEN.add(self)

    def take(self) -> Slot:
        """An empty slot, with one hold on it.

        Raises:
            SandboxError: no further one can be made.
        """
        with self.lock:
            if self._closed:
                raise SandboxError("this sandbox is closed")
            for _ in range(min(len(self._free), 4)):
                slot = self._free.popleft()
                if slot.begin():
                    break
                slot.end()
                self._free.append(slot)
            else:
                try:
                    slot = self._make()
                except OSError as error:
                    raise SandboxError(f"no further control group for the local sandbox: {error}") from error
            slot._holders = 1
            return slot

    def take_back(self, slot: Slot) -> None:
        """End what is in a slot that nobody holds."""
        if self._trees:
            slot.end()
        with self.lock:
            if not self._closed:
                self._free.append(slot)

    def close(self) -> None:
        """End what is in any slot, and remove all. Closing twice is fine."""
        with self.lock:
            if self._closed:
                return
            self._closed = True
        until_s = time.monotonic() + _EMPTYING_LIMIT_S
        left = self._all
        while left := [slot for slot in left if not slot.remove()]:
            for slot in left:
                slot.end()
            if time.monotonic() > until_s:
                break
            time.sleep(0.002)
        for base in self._bases.values():
            _remove(base)
        self._users.close()
        for descriptor in self._locks:
            os.close(descriptor)
        self._locks = []
        if self._janitor is not None and self._janitor.stdin is not None:
            self._janitor.stdin.close()
            self._janitor.wait()

    def abandon(self) -> None:
        """In a forked child of the host: let go of what belongs to the parent."""
        self._closed = True
        self._users.close()
        for descriptor in self._locks:
            os.close(descriptor)
        self._locks = []
        if self._janitor is not None and self._janitor.stdin is not None:
            self._janitor.stdin.close()
            self._janitor = None

    @property
    def folders(self) -> list[Path]:
        """The groups that hold the slots, one for each hierarchy."""
        return list(self._bases.values())

    def _find(self) -> dict[str, Path]:
        """Controller -> the group below which slots are made; "kill" -> one that can end a whole slot at once.

        Raises:
            CgroupError: a controller is missing.
        """
        seen = hierarchies(Path("/proc/self/cgroup").read_text(), Path("/proc/self/mountinfo").read_text())
        parents: dict[str, Path] = {}
        reasons = []
        for name in CONTROLLERS:
            holders = [item for item in seen if name in item.controllers]
            if not holders:
                reasons.append(f"no {name} controller is mounted here")
                continue
            holder = holders[0]
            parents[name] = holder.own if holder.version == 1 else _branching_point(holder.own)
        if reasons:
            raise CgroupError("control groups: " + ", ".join(reasons))
        unified = next((item.own for item in seen if item.version == 2), None)
        if self._trees and unified is not None and unified not in parents.values():
            parents["kill"] = unified
        return parents

    def _make_bases(self) -> None:
        for parent in dict.fromkeys(self._parents.values()):
            _remove_abandoned(parent)
        self.name = f"{_PREFIX}{os.getpid()}-{secrets.token_hex(4)}"
        for controller, parent in self._parents.items():
            base = parent / self.name
            try:
                base.mkdir()
            except OSError:
                if controller == "kill":
                    continue  # a help, not a need
                raise
            self._bases[parent] = base
            lock = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            self._locks.append(lock)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if "cgroup.subtree_control" in os.listdir(base) and controller != "kill":
                (base / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in CONTROLLERS))

    def _make(self) -> Slot:
        number = len(self._all)
        folders = {
            controller: self._bases[parent] / str(number)
            for controller, parent in self._parents.items()
            if parent in self._bases
        }
        for folder in dict.fromkeys(folders.values()):
            folder.mkdir(exist_ok=True)
        limits = self._limits
        memory = (limits.memory_mb + limits.files_mb + _INTERPRETER_MB) * _MB
        quota = int(limits.cpus * _PERIOD_US)
        _write(folders["memory"], {"memory.max": memory, "memory.swap.max": 0}, {"memory.limit_in_bytes": memory})
        if (folders["memory"] / "memory.memsw.limit_in_bytes").exists():
            (folders["memory"] / "memory.memsw.limit_in_bytes").write_text(str(memory))
        _write(folders["pids"], {"pids.max": limits.processes + 1}, {"pids.max": limits.processes + 1})
        _write(
            folders["cpu"],
            {"cpu.max": f"{quota} {_PERIOD_US}"},
            {"cpu.cfs_period_us": _PERIOD_US, "cpu.cfs_quota_us": quota},
        )
        slot = Slot(self, number, self._users.number(number), folders)
        self._all.append(slot)
        slot.begin()
        return slot

    def _start_janitor(self) -> None:
        with contextlib.suppress(OSError):  # without a shell the next box removes what a killed one left
            self._janitor = subprocess.Popen(
                ["/bin/sh", "-c", _JANITOR, "sh", *map(str, self._bases.values())],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={"PATH": "/usr/bin:/bin"},
                cwd="/",
                start_new_session=True,
            )


_OPEN: "weakref.WeakSet[Slots]" = weakref.WeakSet()


def _abandon_all() -> None:
    for slots in list(_OPEN):
        slots.abandon()


os.register_at_fork(after_in_child=_abandon_all)


def _branching_point(own: Path) -> Path:
    """The v2 group below which slots can be made: this process's own, or that above it when nothing bounds its own.

    Raises:
        CgroupError: neither may hand its controllers on.
    """
    wanted = set(CONTROLLERS)
    reason = ""
    for group in (own, own.parent):
        if group != own and not all(_unbounded(own / name) for name in ("memory.max", "pids.max", "cpu.max")):
            break
        try:
            control = group / "cgroup.subtree_control"
            missing = wanted - set(control.read_text().split())
            if missing:
                control.write_text(" ".join(f"+{name}" for name in sorted(missing)))
            if os.access(group, os.W_OK):
                return group
            reason = reason or f"{group} is not this user's to write to"
        except OSError as error:
            reason = reason or f"{group} hands no controllers on ({error.strerror})"
    raise CgroupError(f"control groups: {reason}; start this process in a group below a delegated one")


def _unbounded(file: Path) -> bool:
    try:
        return file.read_text().startswith("max")
    except OSError:
        return True  # the root has no such file


def _content(path: str) -> bytes:
    """The first page of a control group's file, which is more than all that is asked of it; b"" when there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _write(folder: Path, v2: dict[str, int | str], v1: dict[str, int | str]) -> None:
    """Set those limits that this version of control groups has."""
    values = v2 if (folder / "cgroup.subtree_control").exists() else v1
    for name, value in values.items():
        if name != "memory.swap.max" or (folder / name).exists():
            (folder / name).write_text(str(value))


def _remove(folder: Path) -> bool:
    try:
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False  # not empty
    return True


def _remove_abandoned(parent: Path) -> None:
    """Remove the groups of boxes whose processes were killed."""
    for base in _bases(parent):
        with contextlib.suppress(OSError):
            lock = os.open(base, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while its owner lives
                for folder in base.iterdir():
                    if folder.is_dir():
                        _remove(folder)
                _remove(base)
            finally:
                os.close(lock)


def _bases(parent: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from (path for path in parent.iterdir() if path.name.startswith(_PREFIX) and path.is_dir())
