"""The system calls that Python lacks, by ctypes: namespaces, mounts, capabilities, prctl, seccomp, Landlock.

Imported by the fork server, so: standard library only, and nothing slow.
"""

import ctypes
import errno
import os
import platform
import resource
from collections.abc import Callable

from toolenvs.sandbox.syscalls import numbers

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWCGROUP = 0x00020000, 0x04000000, 0x08000000, 0x02000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_REMOUNT = 1, 2, 4, 8, 32
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
MNT_DETACH = 2

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP = 1, 4, 24
PR_SET_NAME, PR_GET_NAME = 15, 16
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38

PR_GET_TID_ADDRESS = 40
CLONE_PARENT, CLONE_CHILD_CLEARTID, CLONE_CHILD_SETTID = 0x8000, 0x00200000, 0x01000000

MADV_COLLAPSE = 25

_libc = ctypes.CDLL(None, use_errno=True)
_libc.syscall.restype = ctypes.c_long
_libc.malloc.restype = ctypes.c_size_t
_libc.sbrk.restype, _libc.sbrk.argtypes = ctypes.c_long, [ctypes.c_long]
_locked_libc = ctypes.PyDLL(None, use_errno=True)  # calls that keep Python's lock, as a fork must
_locked_libc.syscall.restype = ctypes.c_long
# Found and made here: else every cell would look the function up, and make types for these arrays.
_capset = _libc.capset
_THIS_THREAD = (2 * ctypes.c_uint32)(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3
_NO_CAPABILITIES = (6 * ctypes.c_uint32)()
_NUMBERS = numbers()
SUPPORTED = bool(_NUMBERS)
MACHINE = platform.machine()


def _check(result: int, what: str) -> int:
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"{what}: {os.strerror(error)}")
    return result


def syscall(name: str, *arguments: int | bytes | ctypes.Array[ctypes.c_char] | None) -> int:
    """Call `name` by number; integers are passed as 64 bits."""
    passed = [ctypes.c_ulong(a & (2**64 - 1)) if isinstance(a, int) else a for a in arguments]
    return _check(int(_libc.syscall(ctypes.c_long(_NUMBERS[name]), *passed)), name)


def prctl(option: int, value: int = 0) -> int:
    """The two-argument form of prctl, the rest 0."""
    return _check(_libc.prctl(option, ctypes.c_ulong(value), *[ctypes.c_ulong(0)] * 3), f"prctl({option})")


def unshare(flags: int) -> None:
    """Leave the namespaces of `flags`."""
    _check(_libc.unshare(flags), f"unshare({flags:#x})")


def mount(source: str, target: str, kind: str = "", flags: int = 0, data: str = "") -> None:
    """mount(2)."""
    result = _libc.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), data.encode())
    _check(result, f"mount {kind or 'bind'} on {target}")


def unmount(target: str) -> None:
    """Detach what is mounted on `target`."""
    _check(_libc.umount2(target.encode(), MNT_DETACH), f"umount {target}")


def pivot_root(new: str, old: str) -> None:
    """Make `new` the root of the mount namespace."""
    syscall("pivot_root", new.encode() + b"\0", old.encode() + b"\0")


def drop_capabilities() -> None:
    """Empty the effective, permitted and inheritable sets."""
    _check(_capset(_THIS_THREAD, _NO_CAPABILITIES), "capset")


def write_file(path: str, text: str) -> None:
    """Write a file of /proc in one call, as the kernel wants it."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def enter_user_namespace(flags: int, uid: int, gid: int) -> None:
    """A new user namespace, with those of `flags`, in which `uid` and `gid` keep their numbers."""
    unshare(CLONE_NEWUSER | flags)
    write_file("/proc/self/setgroups", "deny")
    write_file("/proc/self/uid_map", f"{uid} {uid} 1")
    write_file("/proc/self/gid_map", f"{gid} {gid} 1")


def enter_mapped_user_namespace(first: int, count: int) -> None:
    """A new user namespace in which `count` users and groups from `first` on keep their numbers; for root only."""
    target = os.getpid()
    read, write = os.pipe()
    helper = os.fork()
    if helper == 0:  # only a process outside may map more than one user
        code = 1
        try:
            os.close(write)
            os.read(read, 1)
            for name in ("uid_map", "gid_map"):
                write_file(f"/proc/{target}/{name}", f"{first} {first} {count}")
            code = 0
        finally:
            os._exit(code)
    os.close(read)
    try:
        unshare(CLONE_NEWUSER)
    finally:
        os.close(write)
        _, status = os.waitpid(helper, 0)
    if status:
        raise OSError(errno.EPERM, f"the users {first} to {first + count - 1} cannot be mapped into a user namespace")


def thread_id_address() -> int:
    """Where the C library keeps this thread's id; 0 where the kernel does not tell. The same in forked children."""
    address = ctypes.c_ulong(0)
    failed = _libc.prctl(PR_GET_TID_ADDRESS, ctypes.byref(address), *[ctypes.c_ulong(0)] * 3)
    return 0 if failed else address.value


def fork(thread_id_at: int, flags: int = 0) -> int:
    """Fork; the child's id, 0 in the child. For processes of one thread.

    The child goes on as this process would: no hook of `os.register_at_fork` runs. They make good what a fork does to
    locks of other threads, of which there are none, and reseed `random`; together they cost as much as the fork.

    Args:
        thread_id_at: from `thread_id_address`.
        flags: of clone(2), beside those of a plain fork.

    Raises:
        OSError: the kernel or a filter refuses it.
    """
    settid = CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID if thread_id_at else 0
    last = (0, thread_id_at) if MACHINE == "aarch64" else (thread_id_at, 0)
    arguments = [ctypes.c_ulong(number) for number in (flags | settid | 17, 0, 0, *last)]  # SIGCHLD
    pid = int(_locked_libc.syscall(ctypes.c_long(_NUMBERS["clone"]), *arguments))
    if pid < 0:
        error = ctypes.get_errno()
        raise OSError(error, f"clone: {os.strerror(error)}")
    return pid


def fork_sibling(thread_id_at: int) -> int:
    """As `fork`, but the child is one of this process's own parent."""
    return fork(thread_id_at, CLONE_PARENT)


class _ArenaAllocator(ctypes.Structure):
    """PyObjectArenaAllocator."""

    _fields_ = (("ctx", ctypes.c_void_p), ("alloc", ctypes.c_void_p), ("free", ctypes.c_void_p))


_ARENA_BYTES = 1 << 20  # ARENA_SIZE of CPython since 3.10


def arenas_on_the_heap() -> Callable[[], None]:
    """Have Python's allocator take its memory from the end of the heap; what is returned has it do as before.

    By itself it takes it in small pieces between the libraries, none of which a huge page can hold. Where the heap has
    a limit, or cannot grow (musl), it does as before at once.
    """
    own = _ArenaAllocator()
    ctypes.pythonapi.PyObject_GetArenaAllocator(ctypes.byref(own))
    if resource.getrlimit(resource.RLIMIT_DATA)[0] != resource.RLIM_INFINITY or _libc.sbrk(_ARENA_BYTES) == -1:
        return lambda: None
    sbrk = ctypes.cast(_libc.sbrk, ctypes.c_void_p).value
    # It calls alloc(ctx, size) with the one size that it knows: sbrk(ctx) is that.
    heap = _ArenaAllocator(_ARENA_BYTES, sbrk, own.free)
    ctypes.pythonapi.PyObject_SetArenaAllocator(ctypes.byref(heap))
    return lambda: ctypes.pythonapi.PyObject_SetArenaAllocator(ctypes.byref(own))


def allocate(size: int) -> int:
    """Memory of the C library for ever; its address."""
    return int(_libc.malloc(ctypes.c_size_t(size)))


def collapse(start: int, length: int) -> None:
    """Ask for huge pages under an address range now; silently nothing where the kernel cannot."""
    _libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(length), MADV_COLLAPSE)
