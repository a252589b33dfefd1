"""A disposable machine within this one, for attacks: what happens in it ends with it.

Processes, mounts, network, IPC and /tmp of its own, and no more than a throw-away user's rights in it. It is no sandbox
that would hold a determined program: it bounds what a known set of attacks does to whoever measures them. Needs root.
"""

import contextlib
import fcntl
import os
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

from toolenvs.sandbox import kernel

USER = 64_901
MAX_MEMORY_BYTES = 6 << 30
"""Of all together, where control groups of version 1 can be made; else of the address space of each process."""
MAX_PROCESSES = 700
MAX_FILE_BYTES = 1 << 30
SECRET = "HOST-SECRET-42"
_FOLDER = Path("/tmp/host")
_group: Path | None = None


def enter(site: Path | None, engine: str) -> None:
    """Go on as the first process of a fresh machine; the caller's process waits for its end, and ends as it did.

    Args:
        site: a folder of packages to show as the user's own: what is written there is lost.
        engine: path of an engine's socket to keep in view, or "".
    """
    new = kernel.CLONE_NEWNS | kernel.CLONE_NEWPID | kernel.CLONE_NEWNET | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS
    global _group
    _group = _memory_group()
    kernel.unshare(new)
    child = os.fork()
    if child:
        signal.signal(signal.SIGTERM, lambda *_: os.kill(child, signal.SIGKILL))
        _, status = os.waitpid(child, 0)
        for _ in range(50 if _group else 0):
            with contextlib.suppress(OSError):
                for path in sorted((path for path in _group.rglob("*") if path.is_dir()), reverse=True):
                    path.rmdir()
                _group.rmdir()
                break
            time.sleep(0.1)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if _group:
        (_group / "cgroup.procs").write_text("0")
    held = os.open(engine, os.O_PATH) if engine else -1
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("tmpfs", "/mnt", "tmpfs", 0, "size=256m,mode=755")
    if site is not None:
        for name in ("upper", "work"):
            os.mkdir(f"/mnt/{name}")
        os.chown("/mnt/upper", USER, USER)
        kernel.mount("overlay", str(site), "overlay", 0, f"lowerdir={site},upperdir=/mnt/upper,workdir=/mnt/work")
    for folder, options in (("/tmp", "size=2g"), ("/var/tmp", "size=64m"), ("/dev/shm", "size=256m")):
        kernel.mount("tmpfs", folder, "tmpfs", kernel.MS_NOSUID, f"{options},mode=1777")
    _open_python()
    kernel.mount("proc", "/proc", "proc", kernel.MS_NOSUID)
    if engine:
        Path(engine).parent.mkdir(parents=True, exist_ok=True)
        Path(engine).touch()
        kernel.mount(f"/proc/self/fd/{held}", engine, "", kernel.MS_BIND)
        os.close(held)
    with socket.socket() as loopback:  # flags: up, running
        fcntl.ioctl(loopback, 0x8914, struct.pack("16sH14x", b"lo", 0x41))


def _memory_group() -> Path | None:
    """A fresh control group that bounds memory, or None."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        own = next(line.split(":")[2] for line in lines if "memory" in line.split(":")[1].split(","))
        group = Path(f"/sys/fs/cgroup/memory{own}/enclosure-{os.getpid()}")
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(MAX_MEMORY_BYTES))
    except (OSError, StopIteration):
        return None
    return group


def _open_python() -> None:
    """Python may lie below a folder that only root can enter: show it to the user."""
    prefix = sys.base_prefix
    parts = prefix.split("/")
    paths = ["/".join(parts[:count]) for count in range(2, len(parts) + 1)]
    closed = [path for path in paths if not os.stat(path).st_mode & 1]
    if closed:
        held = os.open(prefix, os.O_PATH)
        kernel.mount("tmpfs", closed[0], "tmpfs", 0, "mode=755")
        os.makedirs(prefix)
        kernel.mount(f"/proc/self/fd/{held}", prefix, "", kernel.MS_BIND)
        os.close(held)


def bound() -> None:
    """The limits of the user's processes; called in the child."""
    for kind, value in (
        (resource.RLIMIT_AS, resource.RLIM_INFINITY if _group else MAX_MEMORY_BYTES),
        (resource.RLIMIT_NPROC, MAX_PROCESSES),
        (resource.RLIMIT_FSIZE, MAX_FILE_BYTES),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (value, value))


class Host:
    """What is worth attacking: secrets, another process, services."""

    def __init__(self, user: int) -> None:
        self._user = user
        _FOLDER.mkdir()
        self.proof = _FOLDER / "proof"
        self._path = _FOLDER / "socket"
        for name, mode in (("secret", 0o600), ("readable", 0o644)):
            (_FOLDER / name).write_text(SECRET)
            (_FOLDER / name).chmod(mode)
        self._listeners = [socket.socket(), socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)]
        self._listeners[0].bind(("127.0.0.1", 0))
        self._listeners[1].bind(str(self._path))
        self._listeners[2].bind("\0tenv-decoy")
        self._path.chmod(0o777)
        for listener in self._listeners:
            listener.listen()
            threading.Thread(target=_welcome, args=(listener,), daemon=True).start()
        for path in (_FOLDER, *_FOLDER.iterdir()):
            os.chown(path, user, user)
        self.victim = self._another()

    def _another(self) -> int:
        code = "import time; time.sleep(3600)"
        return subprocess.Popen(
            [sys.executable, "-c", code, "tenv-victim"],
            env={"TENV_TOKEN": "hunter2"},
            user=self._user,
            group=self._user,
            extra_groups=[],
        ).pid

    def harmed(self) -> str:
        """What has happened to it, or ""; it is mended."""
        found = []
        state = state_of(self.victim)
        if state in ("", "Z", "T", "t", "X"):
            found.append("another process was stopped or killed")
            with contextlib.suppress(OSError):
                os.kill(self.victim, signal.SIGKILL)
            self.victim = self._another()
        if self.proof.exists():
            found.append("a file of the host was written")
            self.proof.unlink()
        return "; ".join(found)

    def fill_in(self, text: str, caller: int, helper: int) -> str:
        """A program with its placeholders replaced."""
        filled = {
            "@PORT@": self._listeners[0].getsockname()[1],
            "@SOCK@": self._path,
            "@VICTIM@": self.victim,
            "@HOSTPID@": caller,
            "@ZYGPID@": helper,
            "@SECRET@": _FOLDER / "secret",
            "@SECRETW@": _FOLDER / "readable",
            "@PROOF@": self.proof,
        }
        for placeholder, value in filled.items():
            text = text.replace(placeholder, str(value))
        return text


def _welcome(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            connection.sendall(b"welcome")


def state_of(pid: int) -> str:
    """The kernel's letter for a process's state; "" when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def running() -> set[int]:
    """The processes of this machine that have not ended."""
    return {int(name) for name in os.listdir("/proc") if name.isdigit() and state_of(int(name)) not in ("", "Z", "X")}


def busy_s(seconds: float) -> float:
    """CPU time that all but this process use within so many seconds."""

    def ticks() -> dict[int, int]:
        found = {}
        for pid in running() - {os.getpid()}:
            with contextlib.suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
                found[pid] = int(fields[11]) + int(fields[12])
        return found

    before = ticks()
    time.sleep(seconds)
    after = ticks()
    return sum(count - before.get(pid, 0) for pid, count in after.items()) / os.sysconf("SC_CLK_TCK")


def folder_of_caller(user: int) -> Path:
    """A fresh home for whoever runs the programs."""
    folder = Path("/tmp/caller")
    shutil.rmtree(folder, ignore_errors=True)
    for path in (folder, *(folder / name for name in ("home", "tmp", "cwd"))):
        path.mkdir()
        os.chown(path, user, user)
    return folder


def reap() -> None:
    """Take note of what has ended: this is the first process."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
