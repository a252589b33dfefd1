"""What a cell may read, and the private root file system that shows just that.

`readable` paths are shown except for what `hidden` names beneath them; `packages` are shown even there.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence

from toolenvs.sandbox import kernel, processes
from toolenvs.sandbox.landlock import READ_DIR, READ_FILE, WRITE_FILE

DEVICES = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_OLD_ROOT = "/.host"


def rules(readable: Sequence[str], hidden: Sequence[str], packages: Sequence[str]) -> Iterator[tuple[str, int]]:
    """The Landlock rules of the view: paths, and what is allowed beneath them."""
    for path in readable:
        yield from _around(path, hidden)
    for site in {os.path.dirname(path) for path in packages}:
        yield site, READ_DIR
    for path in packages:
        yield path, READ_FILE | READ_DIR
    for path in DEVICES:
        yield path, READ_FILE | WRITE_FILE


def _around(path: str, hidden: Sequence[str]) -> Iterator[tuple[str, int]]:
    if path in hidden:
        return
    if not any(item.startswith(path + "/") for item in hidden):
        yield path, READ_FILE | READ_DIR
        return
    yield path, READ_DIR
    for name in os.listdir(path):
        yield from _around(f"{path}/{name}", hidden)


def enter(readable: Sequence[str], hidden: Sequence[str], packages: Sequence[str]) -> None:
    """Make the view this process's root. Needs CAP_SYS_ADMIN over a mount namespace of its own.

    Raises:
        OSError: the kernel refuses a mount.
    """
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    base = next(folder for folder in ("/tmp", "/mnt", "/run", "/var") if os.path.isdir(folder))
    kernel.mount("tmpfs", base, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=1m,mode=755")
    os.mkdir(base + _OLD_ROOT)
    kernel.pivot_root(base, base + _OLD_ROOT)
    os.chdir("/")
    for path in sorted(readable, key=len):
        _show(path, hidden)
    for path in packages:
        _show(path, ())
    for path in DEVICES:
        _show(path, (), writable_device=True)
    os.symlink("/proc/self/fd/0", "/dev/stdin")
    for folder in ("/tmp", "/proc"):
        os.makedirs(folder, mode=0o755, exist_ok=True)
    _mount_proc()
    kernel.unmount(_OLD_ROOT)
    os.rmdir(_OLD_ROOT)
    # Only now, when everything has its place: what stays writable would be shared by all cells.
    for folder in (*(item for item in hidden if os.path.ismount(item)), "/"):
        kernel.mount("none", folder, "", _READ_ONLY | kernel.MS_NOSUID | kernel.MS_NODEV)


_READ_ONLY = kernel.MS_REMOUNT | kernel.MS_BIND | kernel.MS_RDONLY


def _show(path: str, hidden: Sequence[str], *, writable_device: bool = False) -> None:
    source = _OLD_ROOT + path
    if not os.path.exists(source) or os.path.lexists(path):
        return
    os.makedirs(os.path.dirname(path), mode=0o755, exist_ok=True)
    if os.path.islink(source):  # /lib -> usr/lib and the like; the target is shown on its own
        os.symlink(os.readlink(source), path)
        return
    if os.path.isdir(source):
        os.mkdir(path, 0o755)
    else:
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o644))
    kernel.mount(source, path, "", kernel.MS_BIND)
    # A less privileged mount namespace may not clear what the host set.
    kept = os.statvfs(path).f_flag & (kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC)
    flags = kept | kernel.MS_NOSUID | (0 if writable_device else kernel.MS_NODEV)
    kernel.mount("none", path, "", _READ_ONLY | flags)
    for item in hidden:
        if item.startswith(path + "/") and os.path.isdir(item):
            kernel.mount("tmpfs", item, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=1m,mode=755")


def _mount_proc() -> None:
    flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    with contextlib.suppress(OSError):  # in which cells that cannot be looked into are not hidden: see `around_cell`
        kernel.mount("proc", "/proc", "proc", flags)
        processes.look_through(os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        kernel.unmount("/proc")
    for options in ("hidepid=invisible,subset=pid", "hidepid=2"):
        try:
            kernel.mount("proc", "/proc", "proc", flags, options)
        except OSError:
            continue  # refused where the host's own /proc is partly covered, as in containers: programs do without
        return
