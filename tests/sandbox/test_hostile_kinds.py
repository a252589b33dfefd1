"""Kinds of hostility beyond the attack programs: system calls one by one, the control channel, files, processes."""

import os
import platform
import time

import pytest

from toolenvs.sandbox import Result
from toolenvs.sandbox.local import LocalBox

# Number on x86-64 and arguments, as the program's source; each is refused whatever the arguments.
REFUSED = {
    "bpf": "321, 0, BUFFER, 64",
    "chroot": "161, b'/tmp'",
    "chown": "92, b'/tmp', 0, 0",
    "clock_settime": "227, 0, BUFFER",
    "clone_newuser": "56, 0x10000011, 0, 0, 0, 0",
    "execve": "59, b'/bin/true', 0, 0",
    "execveat": "322, -100, b'/bin/true', 0, 0, 0",
    "fanotify_init": "300, 0, 0",
    "fork": "57",
    "fsopen": "430, b'tmpfs', 0",
    "init_module": "175, 0, 0, b''",
    "inotify_init": "294, 0",
    "io_setup": "206, 10, BUFFER",
    "io_uring_setup": "425, 8, BUFFER",
    "iopl": "172, 3",
    "kcmp": "312, PID, PID, 0, 0, 1",
    "kexec_load": "246, 0, 0, 0, 0",
    "keyctl": "250, 0, -3, 0",
    "kill_everyone": "62, -1, 0",
    "kill_group": "62, 0, 0",
    "kill_parent": "62, PARENT, 0",
    "landlock_create_ruleset": "444, 0, 0, 1",
    "memfd_create": "319, b'x', 0",
    "mlockall": "151, 3",
    "mount": "165, b'x', b'/tmp', b'tmpfs', 0, 0",
    "mq_open": "240, b'x', 0o102, 0o600, 0",
    "msgget": "68, 0, 0o1600",
    "name_to_handle_at": "303, -100, b'/etc/passwd', BUFFER, BUFFER, 0",
    "open_by_handle_at": "304, -100, BUFFER, 0",
    "open_tree": "428, -100, b'/', 0",
    "perf_event_open": "298, BUFFER, 0, -1, -1, 0",
    "personality": "135, 0x0040000",
    "pidfd_open": "434, PID, 0",
    "pivot_root": "155, b'/', b'/'",
    "pkey_alloc": "330, 0, 0",
    "prctl_dumpable": "157, 4, 1, 0, 0, 0",
    "prctl_parent_death": "157, 1, 0, 0, 0, 0",
    "prctl_ptracer": "157, 0x59616d61, -1, 0, 0, 0",
    "prlimit_of_parent": "302, PARENT, 7, 0, BUFFER",
    "process_vm_readv": "310, PARENT, BUFFER, 1, BUFFER, 1, 0",
    "process_vm_writev": "311, PARENT, BUFFER, 1, BUFFER, 1, 0",
    "ptrace_attach": "101, 16, PARENT, 0, 0",
    "ptrace_traceme": "101, 0, 0, 0, 0",
    "reboot": "169, 0, 0, 0, 0",
    "rt_sigqueueinfo": "129, PARENT, 0, BUFFER",
    "sched_setaffinity": "203, 0, 8, BUFFER",
    "seccomp_strict": "317, 0, 0",
    "semget": "64, 0, 1, 0o1600",
    "sethostname": "170, b'x', 1",
    "setns": "308, 0, 0",
    "setpriority": "141, 0, 0, -5",
    "setuid": "105, 0",
    "setxattr": "188, b'/tmp', b'user.x', b'y', 1, 0",
    "shmget": "29, 0, 1 << 20, 0o1600",
    "socket_inet": "41, 2, 1, 0",
    "socket_netlink": "41, 16, 3, 0",
    "socket_unix": "41, 1, 1, 0",
    "socket_vsock": "41, 40, 1, 0",
    "swapon": "167, b'/x', 0",
    "umount": "166, b'/tmp', 2",
    "unshare": "272, 0",
    "userfaultfd": "323, 1",
    "vfork": "58",
    "vmsplice": "278, 1, 0, 0",
}
_CALL = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
BUFFER, PID, PARENT = ctypes.create_string_buffer(4096), os.getpid(), os.getppid()
result = libc.syscall({arguments})
if result == 0 and {forks}:
    os._exit(0)
error = ctypes.get_errno()
print("refused" if result < 0 and error in (1, 13, 22, 25, 38) else f"PWNED {{result}} {{error}}")
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86-64")
def test_system_calls_are_refused(box: LocalBox) -> None:
    answers = {}
    for name, arguments in REFUSED.items():
        result = box.run(_CALL.format(arguments=arguments, forks="fork" in name or "clone" in name))
        answers[name] = (result.status, result.stdout)
    assert {name: answer for name, answer in answers.items() if answer != ("ok", "refused\n")} == {}


CONTROL = {
    "flood": ("import os\nfor _ in range(2000): os.write(3, b'A' * 65536)", {"crashed"}),
    "close": ("import os\nos.close(3)", {"crashed"}),
    "close_and_sleep": ("import os, time\nos.close(3)\ntime.sleep(60)", {"crashed"}),
    "half_close": ("import socket\nsocket.socket(fileno=3).shutdown(1)", {"crashed"}),
    "steal": (
        "import os\nos.set_blocking(3, False)\ntry: os.read(3, 99)\nexcept OSError: pass",
        {"ok", "crashed", "error"},
    ),
    "pass_descriptor": (
        "import array, os, socket\nsocket.socket(fileno=os.dup(3)).sendmsg([b'x'], "
        "[(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0]))])",
        {"error"},
    ),
    "huge_length": (
        "import os, struct\nos.write(3, struct.pack('<IQBBII', 0x54454E41, 0, 0, 2, 2**32 - 1, 2**32 - 1))",
        {"crashed"},
    ),
    "output_on_nowhere": ("import os\nos.close(1); os.close(2)\nprint('x')", {"ok", "error", "crashed"}),
    "segfault": ("import ctypes\nctypes.string_at(0)", {"crashed"}),
    "kill_itself": ("import os\nos.kill(os.getpid(), 9)", {"crashed"}),
    "alarm": ("import signal, time\nsignal.setitimer(signal.ITIMER_REAL, 0.01)\ntime.sleep(5)", {"crashed"}),
    "no_descriptors": ("import os\ntry:\n  while True: os.dup(0)\nexcept OSError: pass", {"ok", "error"}),
    "patched_builtins": (
        "import builtins, sys, traceback\ntraceback.TracebackException = None\nbuiltins.BaseException = int\n"
        "builtins.isinstance = builtins.repr = builtins.compile = None\n1 / 0",
        {"error", "crashed"},
    ),
    "no_modules": ("import sys\nsys.modules.clear()\n1 / 0", {"error", "crashed"}),
    "trace_function": (
        "import sys\ndef f(*_): raise RuntimeError\nsys.settrace(f); sys.setprofile(f)",
        {"error", "ok"},
    ),
    "hostile_exception": (
        "class E(BaseException):\n  def __str__(self): raise self\n  __repr__ = __str__\nraise E()",
        {"error"},
    ),
    "flood_of_errors": ("import os\nwhile True: os.write(2, b'x' * 99999)", {"output"}),
    "map_memory": (
        "import mmap\nkept = []\nwhile True:\n  kept.append(mmap.mmap(-1, 50 << 20)); kept[-1].write(bytes(50 << 20))",
        {"error", "memory", "crashed"},
    ),
}


@pytest.mark.parametrize("name", CONTROL)
def test_disturbances_end_with_their_call(name: str, box: LocalBox) -> None:
    program, allowed = CONTROL[name]
    assert box.run(program, timeout_s=20).status in allowed
    with box.session() as session:
        assert session.run(program, timeout_s=20).status in allowed
        after: Result = session.run("6 * 7", timeout_s=20)
        assert after.status in ("ok", "error", "crashed")  # its own interpreter may stay disturbed; the host does not
    assert box.run("print(6 * 7)").stdout == "42\n"


@pytest.mark.parametrize("end", ["os._exit(7)", "os.close(3); time.sleep(60)", "os.abort()"])
def test_no_name_of_a_process_disturbs_the_fork_server(end: str, box: LocalBox) -> None:
    program = f"""
import ctypes, os, time
ctypes.CDLL(None).prctl(15, bytes([255, 254, 41, 32, 82, 32, 49, 10]), 0, 0, 0)  # no text, and like what follows a name
{end}
"""
    with box.session() as other, box.session() as session:
        other.run("x = 1")
        before = box.server_pids
        assert session.run(program, timeout_s=20).status == "crashed"
        assert box.run(program, timeout_s=20).status == "crashed"
        assert other.run("x").value == "1"
        assert box.server_pids[: len(before)] == before


def test_what_an_alarm_that_was_left_raises_costs_no_state(box: LocalBox) -> None:
    program = """
import signal
def late(*_):
    global rung
    rung = True
    raise TimeoutError
signal.signal(signal.SIGALRM, late)
rung = signal.setitimer(signal.ITIMER_REAL, 0.05) is None
"""
    with box.session() as session:
        while session.run(program).status != "ok":
            pass  # it rang too early
        time.sleep(0.3)  # it rings while nothing runs
        result = session.run("rung")
        assert (result.value, result.state_lost) == ("True", False)


def test_threads_may_print_at_the_same_time(box: LocalBox) -> None:
    program = """
from threading import Thread
def work(name):
    for _ in range(300): print(name * 40)
workers = [Thread(target=work, args=(name,)) for name in "abcd"]
for worker in workers: worker.start()
for worker in workers: worker.join()
"""
    result = box.run(program)
    assert (result.status, result.truncated) == ("ok", False)
    assert {name: result.stdout.count(name) for name in "abcd"} == dict.fromkeys("abcd", 12_000)


def test_a_thread_that_prints_for_ever_ends_with_the_call(box: LocalBox) -> None:
    program = (
        "from threading import Thread\ndef f():\n  while True: print('z' * 50)\nThread(target=f, daemon=True).start()"
    )
    assert box.run(program).status == "ok"
    assert box.run("print(1)").stdout == "1\n"


def test_only_the_private_folder_can_be_written(box: LocalBox) -> None:
    program = """
import os
written = []
library = os.path.dirname(os.__file__)
for folder in ("/", "/etc", "/usr", "/usr/lib", "/dev", "/dev/shm", "/var/tmp", "/proc/sys/kernel", "/tmp", library):
    try:
        os.close(os.open(folder + "/written", os.O_WRONLY | os.O_CREAT))
        written.append(folder)
    except OSError:
        pass
for path in ("/usr", "/", os.__file__):
    for change in (lambda: os.chmod(path, 0o777), lambda: os.utime(path), lambda: os.rename(path, path + "x")):
        try:
            change()
            written.append(path)
        except OSError:
            pass
print(written)
"""
    assert box.run(program).stdout == ("['/tmp']\n" if box.tier != "fork" else "[]\n")


def test_no_folder_is_shared_and_writable(box: LocalBox) -> None:
    program = """
import os, sys
written, seen = [], 0
for root in ("/", *sys.path):
    for folder, inner, _ in os.walk(root):
        inner[:] = [name for name in inner if os.path.join(folder, name) not in ("/proc", "/tmp", "/sys", "/dev")]
        seen += 1
        if seen > 5000:
            break
        try:
            os.close(os.open(folder + "/.written", os.O_WRONLY | os.O_CREAT))
            written.append(folder)
        except OSError:
            pass
print(seen > 50, written)
"""
    assert box.run(program, timeout_s=30).stdout == "True []\n"


def test_only_what_programs_need_can_be_read(box: LocalBox) -> None:
    program = """
import os
read = []
for path in ("/etc/passwd", "/etc/hostname", "/etc/hosts", "/proc/version", "/proc/mounts", "/proc/meminfo",
             "/proc/kallsyms", "/proc/net/tcp", "/proc/1/environ", "/proc/1/maps", "/proc/kcore", "/dev/mem",
             "/dev/vda", "/dev/kmsg", "/dev/tty", "/sys/kernel/notes", "/var/log/dpkg.log", "/bin/sh", "/usr/bin/env"):
    try:
        with open(path, "rb") as file:
            file.read(1)
        read.append(path)
    except OSError:
        pass
print(read)
"""
    assert box.run(program).stdout == "[]\n"


def test_host_processes_cannot_be_asked_for(box: LocalBox) -> None:
    program = f"""
import os
told = []
for pid in ({os.getpid()}, {os.getppid()}, {box.server_pids[0]}):
    for ask in (os.getpgid, os.getsid, os.sched_getaffinity, os.sched_getparam, os.sched_getscheduler,
                lambda pid: os.getpriority(os.PRIO_PROCESS, pid)):
        try:
            told.append((pid, ask(pid)))
        except OSError:
            pass
own = os.getpid()
print(told, os.getpgid(0) == os.getpgid(own), os.sched_getaffinity(0) == os.sched_getaffinity(own))
"""
    assert box.run(program).stdout == "[] True True\n"


def test_native_libraries_can_ask_about_their_threads(box: LocalBox) -> None:
    """For a thread's stack, the C library also asks the kernel for the processors of that one."""
    program = """
import ctypes, threading
libc = ctypes.CDLL(None)
libc.pthread_self.restype = ctypes.c_ulong
told = []
def ask():
    told.append(libc.pthread_getattr_np(ctypes.c_ulong(libc.pthread_self()), ctypes.create_string_buffer(64)))
thread = threading.Thread(target=ask)
thread.start()
thread.join()
told"""
    assert box.run(program).value == "[0]"


def test_siblings_can_neither_be_seen_nor_signalled(box: LocalBox) -> None:
    program = """
import os
try:
    others = [int(name) for name in os.listdir("/proc") if name.isdigit()]
except OSError:
    others = []
reached = []
for pid in range(1, 2000):
    if pid != os.getpid():
        try:
            os.kill(pid, 0)
            reached.append(pid)
        except OSError:
            pass
print([pid for pid in others if pid != os.getpid()], reached)
"""
    with box.session() as sibling:
        sibling.run("x = 1")
        assert box.run(program).stdout == "[] []\n"
        assert sibling.run("x").value == "1"
