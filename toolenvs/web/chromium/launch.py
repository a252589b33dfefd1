"""Starts Chromium where nothing else can be reached, and sees that nothing of it is left; run as a program of its own.

Playwright starts it in the browser's stead and talks through the descriptors 3 and 4, which are handed on. What it puts
around the browser, in this order:

- a parent-death signal, so that it ends with Playwright's driver however that ends;
- namespaces: a network without any interface that is up, processes, mounts, IPC; where the caller is not root, a user
  namespace to make them in;
- a /proc of these processes, and a /tmp and a /dev/shm of their own, of bounded size;
- an unprivileged user, and no way back;
- limits of memory for each process, and of files.

With the isolation "flags" only the first and the last of these; its temporary files are removed when the browser ends.
"""

import os
import resource
import shutil
import signal
import tempfile
from collections.abc import Callable
from typing import TypedDict

from toolenvs.sandbox import kernel

_NAMESPACES = kernel.CLONE_NEWNET | kernel.CLONE_NEWPID | kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC
_OPEN_FILES = 8192
_PRIVATE = ("/tmp", "/dev/shm")
_CHANNEL = (3, 4)


class Plan(TypedDict):
    """What the caller asks for."""

    executable: str
    isolation: str
    unprivileged_uid: int
    memory_mb: int
    files_mb: int


def main(plan: Plan, arguments: list[str]) -> None:
    """Never returns.

    Raises:
        OSError: the kernel refuses a step.
    """
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
    if plan["isolation"] == "flags":
        home = tempfile.mkdtemp(prefix="toolenvs-chromium-")
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        _go_on_in_child(lambda: shutil.rmtree(home, ignore_errors=True), reap=True)
    else:
        home = "/tmp/home"
        _enter_namespaces(plan["files_mb"], home, plan["unprivileged_uid"])
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    for kind, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_DATA, plan["memory_mb"] << 20),
        (resource.RLIMIT_NOFILE, _OPEN_FILES),
        (resource.RLIMIT_FSIZE, plan["files_mb"] << 20),
    ):
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
    os.chdir("/")
    os.umask(0o077)
    environment = {"PATH": os.defpath, "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8", "TZ": "UTC"}
    os.execve(plan["executable"], [plan["executable"], f"--user-data-dir={home}/profile", *arguments], environment)


def _enter_namespaces(files_mb: int, home: str, uid: int) -> None:
    was_root = os.geteuid() == 0
    if was_root:
        kernel.unshare(_NAMESPACES)
    else:
        kernel.enter_user_namespace(_NAMESPACES, os.getuid(), os.getgid())
    _go_on_in_child()
    _go_on_in_child(reap=True)  # the first process of a pid namespace is every orphan's parent
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    safe = kernel.MS_NOSUID | kernel.MS_NODEV
    kernel.mount("proc", "/proc", "proc", safe | kernel.MS_NOEXEC)
    for folder in _PRIVATE:
        kernel.mount("tmpfs", folder, "tmpfs", safe, f"size={files_mb}m,mode=1777")
    os.mkdir(home, 0o700)
    if was_root:
        os.chown(home, uid, uid)
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # or the files of /proc/self belong to root
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)  # the change of identity cleared it


def _go_on_in_child(afterwards: Callable[[], None] = lambda: None, *, reap: bool = False) -> None:
    """Fork; the caller goes on in the child, and this process waits for its end and shares it."""
    child = os.fork()
    if not child:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        return
    for descriptor in _CHANNEL:  # the other side sees the browser's end when nobody else holds it
        os.close(descriptor)
    while True:
        pid, status = os.waitpid(-1 if reap else child, 0)
        if pid == child:
            afterwards()
            os._exit(os.waitstatus_to_exitcode(status) & 0xFF)
