"""The system call filter of a cell: an allow-list, assembled to BPF by hand.

What is not listed fails with EPERM. What is listed with a condition looks at register arguments only (a filter
cannot follow pointers), so calls whose danger hides behind a pointer are left out: sendmsg (address), clone3 (flags).
"""

import contextlib
import ctypes
import errno
import fcntl
import struct
from collections.abc import Iterable
from functools import cache, lru_cache

from toolenvs.sandbox import kernel, processes
from toolenvs.sandbox.syscalls import AUDIT_ARCH, numbers

# Harmless whatever their arguments: memory, own descriptors, time, own identity, waiting, reading by path (which paths
# is for Landlock or the mount namespace to say).
ALWAYS = """
read write readv writev pread64 pwrite64 preadv pwritev close close_range fstat stat lstat newfstatat statx statfs
fstatfs lseek mmap munmap mprotect mremap madvise brk msync mincore rt_sigaction rt_sigprocmask rt_sigreturn
rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack pause access faccessat faccessat2 pipe pipe2 select pselect6
poll ppoll epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2 eventfd eventfd2 timerfd_create
timerfd_settime timerfd_gettime dup dup2 dup3 nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time
getpid gettid getppid getuid geteuid getgid getegid getgroups getpgrp getpgid getsid getresuid getresgid getrusage
times sysinfo uname umask getcpu fsync fdatasync ftruncate getdents getdents64 getcwd chdir fchdir readlink readlinkat
open openat futex set_robust_list get_robust_list rseq set_tid_address exit exit_group sched_yield sched_getaffinity
sched_getparam sched_getscheduler sched_get_priority_max sched_get_priority_min getpriority getrlimit getrandom
restart_syscall membarrier alarm setitimer getitimer timer_settime timer_gettime timer_delete timer_getoverrun wait4
waitid flock fadvise64 readahead sendfile copy_file_range fallocate recvfrom recvmsg shutdown getsockopt getsockname
getpeername
""".split()  # noqa: SIM905

# Only where the cell has a file system of its own: Landlock does not govern modes and times, and in the fork tier
# the program may own files of the host.
PRIVATE_FILES = """
rename renameat renameat2 mkdir mkdirat rmdir unlink unlinkat link linkat symlink symlinkat chmod fchmod fchmodat
utime utimes utimensat futimesat truncate creat
""".split()  # noqa: SIM905

# Each tells of any process whose number it is given. Where there is no process id namespace, only of the own one.
_ABOUT_PROCESSES = "getpgid getsid sched_getparam sched_getscheduler get_robust_list".split()  # noqa: SIM905

# Only where a cell may start other programs: its control group bounds and ends them, and no other cell is of its user.
SUBPROCESSES = "vfork execve setsid setpgid".split()  # noqa: SIM905
_ARCH_PRCTL = (0x1002, 0x1003)  # ARCH_SET_FS, ARCH_GET_FS
_SIGKILL = 9

FCNTL = (
    0,
    1,
    2,
    3,
    4,
    5,
    6,
    7,
    36,
    37,
    38,
    1030,
    1032,
)  # dup, flags, locks, pipe size; not F_SETOWN: it sends signals
IOCTL = (0x5401, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)  # TCGETS, TIOCGWINSZ, FIONREAD, FIONBIO, FIONCLEX, FIOCLEX
_CLONE_THREAD = 0x00010000
_CLONE_NEW_ANY = 0x7E020080  # every CLONE_NEW* flag
_ACCESS_FOR_WRITING = 0o3 | 0o100 | 0o1000 | 0o20000000  # access mode, O_CREAT, O_TRUNC, the bit of O_TMPFILE
_AF_UNIX = 1

_LOAD, _JUMP, _JUMP_EQUAL, _JUMP_ABOVE, _JUMP_SET, _RETURN = 0x20, 0x05, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _NOTIFY = 0x7FFF0000, 0x80000000, 0x7FC00000
_NUMBER, _ARCH, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_X32_BIT = 0x40000000

# Stand in a template for the process id, for its group, and for the answer to a plain fork.
_PROCESS, _GROUP, _FORK = 0x50494421, 0x47525021, 0x464F524B

_SET_MODE_FILTER = 1
_NEW_LISTENER = 1 << 3


def _fail(code: int) -> int:
    return 0x00050000 | code


def _one(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value & 0xFFFFFFFF)


def _low(index: int) -> bytes:
    return _one(_LOAD, _ARGUMENTS + 8 * index)


def _high(index: int) -> bytes:
    return _one(_LOAD, _ARGUMENTS + 8 * index + 4)


def _one_of(index: int, values: Iterable[int], otherwise: int) -> list[bytes]:
    """Allow when the low half of an argument is one of `values`."""
    code = [_low(index)]
    for value in values:
        code += [_one(_JUMP_EQUAL, value, 0, 1), _one(_RETURN, _ALLOW)]
    return [*code, _one(_RETURN, otherwise)]


def _null(index: int) -> list[bytes]:
    """Go on when a pointer argument is NULL, else EPERM."""
    refuse = _one(_RETURN, _fail(errno.EPERM))
    return [_low(index), _one(_JUMP_EQUAL, 0, 1, 0), refuse, _high(index), _one(_JUMP_EQUAL, 0, 1, 0), refuse]


def _about_itself(argument: int, otherwise: int = errno.ESRCH) -> list[bytes]:
    """Allow a question about the own process; of others there are none."""
    return _one_of(argument, (0, _PROCESS), _fail(otherwise))


def _signal_itself(argument: int) -> list[bytes]:
    """Allow signals to the own process; a cell that wants SIGKILL gets SIGSYS, so that SIGKILL says "from outside"."""
    return [
        _low(0),
        _one(_JUMP_EQUAL, _PROCESS, 1, 0),
        _one(_RETURN, _fail(errno.EPERM)),
        _low(argument),
        _one(_JUMP_EQUAL, _SIGKILL, 0, 1),
        _one(_RETURN, _KILL),
        _one(_RETURN, _ALLOW),
    ]


def _signal_own_processes(argument: int, *, one_thread: bool = False) -> list[bytes]:
    """Allow signals to whatever the kernel allows, but no SIGKILL to the cell itself."""
    code = [_low(argument), _one(_JUMP_EQUAL, _SIGKILL, 1, 0), _one(_RETURN, _ALLOW)]
    if one_thread:  # a thread of the cell's may be meant
        return [*code, _one(_RETURN, _KILL)]
    code.append(_low(0))
    for target in (0, -1, _PROCESS, _GROUP):
        code += [_one(_JUMP_EQUAL, target, 0, 1), _one(_RETURN, _KILL)]
    return [*code, _one(_RETURN, _ALLOW)]


def _die_with_the_parent() -> list[bytes]:
    """Allow prctl to ask for SIGKILL when the parent ends; for whatever else it is asked, go on."""
    return [
        _low(0),
        _one(_JUMP_EQUAL, kernel.PR_SET_PDEATHSIG, 0, 4),
        _low(1),
        _one(_JUMP_EQUAL, _SIGKILL, 0, 1),
        _one(_RETURN, _ALLOW),
        _one(_RETURN, _fail(errno.EPERM)),
    ]


def _conditions() -> dict[str, list[bytes]]:
    allow, refuse = _one(_RETURN, _ALLOW), _one(_RETURN, _fail(errno.EPERM))
    plain_fork, pid = _one(_RETURN, _FORK), _PROCESS
    return {
        "clone": [
            _low(0),
            _one(_JUMP_SET, _CLONE_NEW_ANY & ~0x80, 0, 1),  # 0x80 is CLONE_NEWTIME only in clone3
            refuse,
            _one(_JUMP_SET, _CLONE_THREAD, 0, 1),
            allow,
            plain_fork,
        ],
        "fork": [plain_fork],
        "vfork": [refuse],
        "clone3": [_one(_RETURN, _fail(errno.ENOSYS))],  # glibc then falls back to clone
        "kill": _signal_itself(1),
        "tgkill": _signal_itself(2),
        "tkill": _signal_itself(1),
        "timer_create": [*_null(1), allow],  # a timer may be told to send SIGKILL
        "fcntl": _one_of(1, FCNTL, _fail(errno.EPERM)),
        "ioctl": _one_of(1, IOCTL, _fail(errno.ENOTTY)),
        "prctl": _one_of(0, (kernel.PR_SET_NAME, kernel.PR_GET_NAME), _fail(errno.EPERM)),
        "prlimit64": [
            *_null(2),
            _low(0),
            _one(_JUMP_EQUAL, 0, 1, 0),
            _one(_JUMP_EQUAL, pid, 0, 1),
            allow,
            refuse,
        ],
        "seccomp": [
            *_one_of(0, (_SET_MODE_FILTER,), _fail(errno.EPERM))[:-2],
            _low(1),
            _one(_JUMP_EQUAL, 0, 0, 1),
            allow,
            refuse,
        ],
        "socketpair": _one_of(0, (_AF_UNIX,), _fail(errno.EPERM)),
        "sendto": [*_null(4), allow],
    }


def _no_writing(argument: int) -> list[bytes]:
    return [
        _low(argument),
        _one(_JUMP_SET, _ACCESS_FOR_WRITING, 0, 1),
        _one(_RETURN, _fail(errno.EROFS)),
        _one(_RETURN, _ALLOW),
    ]


def template(*, private_files: bool, refuse_writing: bool = False, subprocesses: bool = False) -> bytes:
    """The filter of a cell, but for its process id; see `ProcessFilter`.

    Args:
        private_files: the cell's file system is its own, so it may be changed.
        refuse_writing: refuse any opening for writing (where Landlock is too old to govern truncation).
        subprocesses: let it start other programs, and signal what the kernel lets it signal.
    """
    table = numbers()
    conditions = _conditions()
    if not private_files:  # nor is there a process id namespace: a copy has to end with the fork server by itself
        conditions["prctl"] = [*_die_with_the_parent(), *conditions["prctl"]]
        conditions |= {name: _about_itself(0) for name in _ABOUT_PROCESSES}
        conditions["getpriority"] = _about_itself(1)
        # Of its threads, which the C library asks about one by one, it has no table: that is no failure to that one.
        conditions["sched_getaffinity"] = _about_itself(0, errno.ENOSYS)
    if refuse_writing:
        conditions |= {"open": _no_writing(1), "openat": _no_writing(2)}
    if subprocesses:
        del conditions["vfork"]
        conditions |= {
            "kill": _signal_own_processes(1),
            "tgkill": _signal_own_processes(2),
            "tkill": _signal_own_processes(1, one_thread=True),
            "arch_prctl": _one_of(0, _ARCH_PRCTL, _fail(errno.EPERM)),
        }
    listed = ALWAYS + (PRIVATE_FILES if private_files else []) + (SUBPROCESSES if subprocesses else [])
    code = [
        _one(_LOAD, _ARCH),
        _one(_JUMP_EQUAL, AUDIT_ARCH[kernel.MACHINE], 1, 0),
        _one(_RETURN, _KILL),
        _one(_LOAD, _NUMBER),
    ]
    if kernel.MACHINE == "x86_64":
        code += [_one(_JUMP_ABOVE, _X32_BIT, 0, 1), _one(_RETURN, _KILL)]
    answers = {table[name]: [_one(_RETURN, _ALLOW)] for name in listed if name in table}
    answers |= {table[name]: block for name, block in conditions.items() if name in table}
    code += _search(_segments(answers, [_one(_RETURN, _fail(errno.EPERM))]))
    return b"".join(code)


class ProcessFilter:
    """The filter of a cell, ready but for its process id."""

    def __init__(self, template: bytes, *, forkable: bool = False) -> None:
        """Take a filter of `template`; `forkable` lets a plain fork pass."""
        answer = struct.pack("I", _ALLOW if forkable else _fail(errno.EPERM))
        code = template.replace(struct.pack("I", _FORK), answer)
        values = [value for (value,) in struct.iter_unpack("4xI", code)]
        self._places = [(8 * at + 4, value) for at, value in enumerate(values) if value in (_PROCESS, _GROUP)]
        self.instructions, self._program = _as_the_kernel_takes_it(code)

    def install(self, pid: int) -> None:
        """Load it for good, for the process that this is."""
        self.aim(pid)
        kernel.syscall("seccomp", _SET_MODE_FILTER, 0, self._program)

    def aim(self, pid: int) -> None:
        """Make this process, the only one that it may signal, the one of `pid`."""
        for place, stand_in in self._places:
            struct.pack_into("i", self.instructions, place, pid if stand_in == _PROCESS else -pid)


@cache
def ask_before_forking() -> bytes:
    """A first filter under which every plain fork waits for the word of whoever holds the listener."""
    table = numbers()
    code = [
        _one(_LOAD, _NUMBER),
        *([_one(_JUMP_EQUAL, table["fork"], 0, 1), _one(_RETURN, _NOTIFY)] if "fork" in table else []),
        _one(_JUMP_EQUAL, table["clone"], 0, 3),
        _low(0),
        _one(_JUMP_SET, _CLONE_THREAD, 1, 0),
        _one(_RETURN, _NOTIFY),
        _one(_RETURN, _ALLOW),
    ]
    return b"".join(code)


@cache
def only_signal_nobody() -> bytes:
    """A second filter for a copied interpreter, whose first one still names the original as its own process."""
    table = numbers()
    code = [_one(_LOAD, _NUMBER)]
    for name in ("kill", "tgkill", "tkill"):
        code += [_one(_JUMP_EQUAL, table[name], 0, 1), _one(_RETURN, _fail(errno.EPERM))]
    return b"".join([*code, _one(_RETURN, _ALLOW)])


def install(filter_code: bytes, *, listener: bool = False) -> int:
    """Load a filter for good; the descriptor of its listener, or 0."""
    _, argument = prepared(filter_code)
    return kernel.syscall("seccomp", _SET_MODE_FILTER, _NEW_LISTENER if listener else 0, argument)


@lru_cache(maxsize=8)
def prepared(filter_code: bytes) -> tuple[ctypes.Array[ctypes.c_char], ctypes.Array[ctypes.c_char]]:
    """A filter that never changes as the kernel takes it; asked for early, it is there."""
    return _as_the_kernel_takes_it(filter_code)


def _as_the_kernel_takes_it(filter_code: bytes) -> tuple[ctypes.Array[ctypes.c_char], ctypes.Array[ctypes.c_char]]:
    """Instructions, and a struct sock_fprog that points to them."""
    instructions = ctypes.create_string_buffer(filter_code, len(filter_code))
    program = struct.pack("HxxxxxxQ", len(filter_code) // 8, ctypes.addressof(instructions))
    return instructions, ctypes.create_string_buffer(program, len(program))


def _segments(answers: dict[int, list[bytes]], otherwise: list[bytes]) -> list[tuple[int, list[bytes]]]:
    """Where the answer changes as call numbers rise, and the code of the answer from there on."""
    segments = [(0, otherwise)]
    for number in sorted(answers):
        for first, code in ((number, answers[number]), (number + 1, otherwise)):
            if segments[-1][0] == first:
                segments.pop()
            if not segments or segments[-1][1] != code:
                segments.append((first, code))
    return segments


def _search(segments: list[tuple[int, list[bytes]]]) -> list[bytes]:
    """Find the segment of a call by halving: when a filter is loaded, the kernel runs it once for every number."""
    if len(segments) == 1:
        return segments[0][1]
    middle = len(segments) // 2
    below, above = _search(segments[:middle]), _search(segments[middle:])
    first = segments[middle][0]
    if len(below) < 256:
        return [_one(_JUMP_ABOVE, first, len(below), 0), *below, *above]
    return [_one(_JUMP_ABOVE, first, 0, 1), _one(_JUMP, len(below)), *below, *above]


def _unlike_its_copy(thread: int) -> int:
    """The error for a fork of a process with further threads, which the copy would not have; 0 for any other."""
    try:
        return errno.EBUSY if processes.threads(thread) > 1 else 0
    except OSError:
        return errno.EOPNOTSUPP  # nobody can tell without /proc


class Listener:
    """Answers the forks that `ask_before_forking` stops, in the fork server."""

    _NOTIFICATION, _RESPONSE = struct.Struct("QII64s"), struct.Struct("QqiI")
    RECEIVE, SEND = 0xC0502100, 0xC0182101  # SECCOMP_IOCTL_NOTIF_RECV, SECCOMP_IOCTL_NOTIF_SEND
    _CONTINUE = 1
    SET_FLAGS = 0x40082104  # SECCOMP_IOCTL_NOTIF_SET_FLAGS
    _SYNC_WAKE_UP = 1  # the asking process rests while this one answers: no other processor has to be woken

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        with contextlib.suppress(OSError):  # before Linux 6.6
            fcntl.ioctl(descriptor, self.SET_FLAGS, struct.pack("Q", self._SYNC_WAKE_UP))

    def answer(self, admitted: int) -> int:
        """Let the fork that waits pass if one is admitted, else fail it; how many may still pass."""
        asked = bytearray(self._NOTIFICATION.size)
        try:
            self._control(self.RECEIVE, asked)
            number, thread, _, _ = self._NOTIFICATION.unpack(asked)
            refusal = _unlike_its_copy(thread) if admitted else errno.EPERM
            answer = (number, 0, -refusal, 0) if refusal else (number, 0, 0, self._CONTINUE)
            self._control(self.SEND, bytearray(self._RESPONSE.pack(*answer)))
            if refusal:
                return admitted
        except OSError:
            return admitted  # the process went away meanwhile
        return max(admitted - 1, 0)

    def _control(self, request: int, data: bytearray) -> None:
        while True:
            try:
                fcntl.ioctl(self.descriptor, request, data)
                return
            except InterruptedError:
                continue  # Python does not repeat an ioctl that the end of some child interrupted
