"""The walls of the three tiers: what the fork server puts around itself, and what each cell adds.

fork        Landlock, a system call filter, resource limits; nothing is writable; no root and no namespaces needed.
namespace   also user, pid, mount, network, IPC and UTS namespaces: its own small root, a private /tmp of bounded size.
hardened    also a user of its own for each cell, and a control group, into which the host puts it before anything else.
"""

import contextlib
import errno
import os
import resource
import signal
import socket
from typing import TypedDict

from toolenvs.sandbox import kernel, landlock, processes, seccomp, view

_WRITABLE_DEVICES_NEED_ABI = landlock.TRUNCATE_SINCE_ABI
_NAMESPACES = (
    kernel.CLONE_NEWNS
    | kernel.CLONE_NEWPID
    | kernel.CLONE_NEWNET
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWUTS
    | kernel.CLONE_NEWCGROUP
)
_MB = 1 << 20


class Plan(TypedDict):
    """What the host asks of a fork server; JSON on its command line."""

    tier: str
    readable: list[str]
    hidden: list[str]
    packages: list[str]
    sites: list[str]
    importable: list[str]
    preload: list[str]
    warm_up: str
    output_chars: int
    memory_mb: int
    files_mb: int
    files: int
    open_files: int
    processes: int
    sessions: int
    unprivileged_uid: int
    users: tuple[int, int]
    subprocesses: bool
    executable: str
    seed: int


class Walls:
    """The walls of one fork server and of its cells."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.private = plan["tier"] != "fork"
        self.users = range(plan["users"][0], sum(plan["users"])) if plan["tier"] == "hardened" else range(0)
        self._was_root = os.geteuid() == 0
        self.rules = 0
        self._limits: list[tuple[int, tuple[int, int]]] = []
        self._threads = plan["processes"]
        self._statm = -1
        self._filters: dict[bool, seccomp.ProcessFilter] = {}

    def around_server(self) -> None:
        """Enter the namespaces and the view; called before anything is imported for programs.

        The process forks: the caller goes on as the first process of a pid namespace, or below a guardian.

        Raises:
            OSError: the kernel refuses a step.
        """
        plan = self.plan
        uid = plan["unprivileged_uid"] if self._was_root else os.getuid()
        gid = uid if self._was_root else os.getgid()
        shown = plan["readable"], plan["hidden"], plan["packages"]
        if self.users and not self._was_root:
            raise OSError(errno.EPERM, "only root can give each session a user of its own")
        if self.private:
            if self._was_root:
                kernel.unshare(_NAMESPACES)
            else:
                kernel.enter_user_namespace(_NAMESPACES, uid, gid)
            socket.sethostname("sandbox")
            _become_first_process()
            self._statm = os.open("/proc/self/statm", os.O_RDONLY)
            view.enter(*shown)
            if self._was_root:
                if self.users:
                    os.setgroups([])
                    kernel.enter_mapped_user_namespace(uid, self.users.stop - uid)
                    _become(uid, groups=False)
                else:
                    _become(uid)
                    kernel.enter_user_namespace(0, uid, gid)
            kernel.prctl(kernel.PR_SET_DUMPABLE, 1)
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)  # the change of identity cleared it
            return
        _go_below_a_guardian()
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        self._statm = os.open("/proc/self/statm", os.O_RDONLY)
        if self._was_root:
            if not all(_open_to_others(path) for path in (*shown[0], *shown[2])):
                kernel.unshare(kernel.CLONE_NEWNS)  # Python below a folder of mode 700: show it elsewhere
                view.enter(*shown)
        else:
            # The limit counts everything that this user runs, and a copied interpreter is made under it.
            self._threads += _threads_of(uid) + plan["sessions"]

    def measure(self) -> None:
        """Take the size of the warm server and build the rule set; called when everything is imported."""
        pages = int(os.pread(self._statm, 64, 0).split()[0])
        plan = self.plan
        shown = (path.split("/") for path in (*plan["readable"], *plan["packages"]) if path.startswith("/tmp/"))
        self._below_tmp = sorted({"/".join(parts[:3]) for parts in shown})  # an environment that a cell's /tmp covers
        self._plan_limits(pages * os.sysconf("SC_PAGE_SIZE") + plan["memory_mb"] * _MB)
        for every_cell in (seccomp.ask_before_forking(), seccomp.only_signal_nobody()):
            seccomp.prepared(every_cell)
        # These need not wait for the cell: a child has its parent's. Nothing here executes another program.
        os.umask(0o077)
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        template = seccomp.template(
            private_files=self.private,
            refuse_writing=not self.private and landlock.abi() < _WRITABLE_DEVICES_NEED_ABI,
            subprocesses=plan["subprocesses"],
        )
        self._filters = {forkable: seccomp.ProcessFilter(template, forkable=forkable) for forkable in (False, True)}
        if self.private and plan["subprocesses"]:
            self.rules = landlock.ruleset((), files=False)
        elif not self.private:  # else Landlock would add nothing, and costs each cell 0.3 ms: see `around_cell`
            if not landlock.abi():
                raise OSError("this kernel has no Landlock (Linux 5.13, with landlock among its security modules)")
            self.rules = landlock.ruleset(view.rules(plan["readable"], plan["hidden"], plan["packages"]))

    def around_cell(self, slot: int, ask: socket.socket | None = None, user: int = 0) -> None:
        """Confine this process for good.

        Args:
            slot: a number that no other living cell has.
            ask: where the listener for forks goes; None: every fork is refused, unless `subprocesses` allows them.
            user: its user in the hardened tier, one that no other living cell has.
        """
        plan = self.plan
        if self.private:
            # No Landlock here unless there are subprocesses: files are for the mount namespace to show, the network
            # namespace is empty, and the filter refuses sockets other than pairs and signals to others. No IPC
            # namespace beyond the fork server's: the filter refuses every call on System V and POSIX queues, shared
            # memory and semaphores. No parent-death signal: the fork server is the first process of the pid namespace.
            if self.users:
                _become(user, groups=False)
            # A control group namespace too: the path of the cell's group names the host's containers and processes.
            own = kernel.CLONE_NEWCGROUP if self.users else 0  # else the fork server's group, in its namespace
            kernel.enter_user_namespace(kernel.CLONE_NEWNS | own, os.getuid(), os.getgid())
            size = f"size={plan['files_mb']}m,nr_inodes={plan['files']},mode=700"
            covered = [(folder, os.open(folder, os.O_PATH)) for folder in self._below_tmp]
            kernel.mount("tmpfs", "/tmp", "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC, size)
            for folder, under in covered:
                os.mkdir(folder, 0o755)
                os.fchdir(under)
                kernel.mount(".", folder, "", kernel.MS_BIND | kernel.MS_REC)  # keeps its mounts read-only
                os.close(under)
            os.chdir("/tmp")
        else:
            if self._was_root:
                _become(plan["unprivileged_uid"] + 1 + slot)
            os.chdir("/")
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)  # after the change of identity, which clears it
        for kind, values in self._limits:
            resource.setrlimit(kind, values)
        kernel.drop_capabilities()
        if self.rules:
            landlock.enter(self.rules)
            os.close(self.rules)
        if ask is not None:
            listener = seccomp.install(seccomp.ask_before_forking(), listener=True)
            socket.send_fds(ask, [b"+"], [listener])
            os.close(listener)
            ask.close()
        if self.private:  # or copies of one session, which are of one user, could write to each other's memory
            kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        forkable = ask is not None or plan["subprocesses"]
        self._filters[forkable].install(os.getpid())

    def _plan_limits(self, address_space: int) -> None:
        plan = self.plan
        for kind, value in (
            (resource.RLIMIT_AS, address_space),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_FSIZE, plan["files_mb"] * _MB),
            (resource.RLIMIT_NOFILE, plan["open_files"]),
            (resource.RLIMIT_NPROC, self._threads),
            (resource.RLIMIT_MEMLOCK, 0),
            (resource.RLIMIT_MSGQUEUE, 0),
            (resource.RLIMIT_SIGPENDING, 256),
        ):
            hard = resource.getrlimit(kind)[1]
            value = value if hard == resource.RLIM_INFINITY else min(value, hard)
            self._limits.append((kind, (value, value)))


def _become_first_process() -> None:
    """Fork into the new pid namespace; the outer process waits and shares the inner one's end."""
    inner = os.fork()
    if inner:
        os.closerange(0, 1024)
        _, status = os.waitpid(inner, 0)
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)


def _go_below_a_guardian() -> None:
    """Fork; the outer process shares the inner one's end, and first ends all that this leaves.

    By themselves cells end with the fork server, but a copy of one does so because it asks the kernel for that, and it
    is a program's.
    """
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    inner = os.fork()
    if inner:
        os.closerange(0, 1024)
        _, status = os.waitpid(inner, 0)
        with contextlib.suppress(ChildProcessError):
            while True:
                os.waitpid(-1, os.WNOHANG)
                for _ in range(_kill_children()):
                    os.wait()
        os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)


def _kill_children() -> int:
    """How many there were."""
    count = 0
    for pid in processes.numbers():
        with contextlib.suppress(OSError):
            if int(processes.fields(pid)[1]) == os.getpid():
                os.kill(pid, signal.SIGKILL)
                count += 1
    return count


def _become(uid: int, *, groups: bool = True) -> None:
    """Change to an unprivileged user for good."""
    if groups:
        os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # or the files of /proc/self belong to root


def _open_to_others(path: str) -> bool:
    """Whether any user may reach and read `path` (what is not there is not asked for either)."""
    path = os.path.realpath(path)
    if not os.path.exists(path):
        return True
    wanted = 0o5 if os.path.isdir(path) else 0o4
    if os.stat(path).st_mode & wanted != wanted:
        return False
    while path != "/":
        path = os.path.dirname(path)
        if not os.stat(path).st_mode & 0o1:
            return False
    return True


def _threads_of(uid: int) -> int:
    """How many threads the user runs now, plus room for what else they start."""
    count = 0
    for name in os.listdir("/proc"):
        try:
            if name.isdigit():  # whose folder is root's where the process may not be looked into
                with open(f"/proc/{name}/status", "rb") as status:
                    told = dict(line.split(b":", 1) for line in status.read().splitlines() if b":" in line)
                count += int(told[b"Threads"]) * (int(told[b"Uid"].split()[0]) == uid)
        except (OSError, KeyError):
            continue
    return count + 128
