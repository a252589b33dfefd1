"""The fork server's books, when what it hears comes in an unlucky order."""

import errno
import os
import subprocess
import sys

_EARLY_END = """
import os, select, socket
from toolenvs.sandbox import wire, zygote

host, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server = zygote.Server(None, control, None)
expected, hello = socket.socketpair()
expected.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
family = 1 << 30  # no process is that
server._families[2], server._unknown[family] = family, 1
server._hellos[expected.fileno()] = 2, expected
server._poll.register(expected, select.POLLIN)
pid = os.fork()
if pid == 0:
    hello.send(wire.HELLO)
    os._exit(7)
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
server._bury()
server._carry_out(wire.ORDER.pack(wire.REAP, 2, 0), [])
host.settimeout(5)
print(wire.REPORT.unpack(host.recv(100)) == (wire.EXIT, 2, 7 << 8), server._hellos, server._pids, server._cells)
"""

_LATE_ORDER = """
import select, socket
from toolenvs.sandbox import wire, zygote

host, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server = zygote.Server(None, control, None)
asked = []

class Listener:
    def answer(self, admitted):
        asked.append(admitted)
        return max(admitted - 1, 0)

family = 1 << 30
server._cells[1] = family
server._listeners[99] = family, Listener()
hello, _ = socket.socketpair()
socket.send_fds(host, [wire.ORDER.pack(wire.ADMIT, 2, 1)], [hello.fileno()])
server._hear(99, select.POLLIN)
print(asked)
"""

_KILLED_WHILE_AWAITED = """
import os, signal, socket
from toolenvs.sandbox import wire, zygote

host, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server = zygote.Server(None, control, None)
pid = os.fork()
if pid == 0:
    signal.pause()
server._cells[1], server._pids[pid] = pid, 1
for order in (wire.REAP, wire.KILL):
    server._carry_out(wire.ORDER.pack(order, 1, 0), [])
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
server._bury()
host.settimeout(5)
print(wire.REPORT.unpack(host.recv(100))[:2] == (wire.EXIT, 1), server._cells, server._awaited)
"""

_NO_MORE_PROCESSES = """
import errno, os, socket
from toolenvs.sandbox import wire, zygote

def refused(*_):
    raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

host, control = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
server = zygote.Server(None, control, None)
zygote.kernel.fork = zygote.os.fork = refused
before = len(os.listdir("/proc/self/fd"))
for order in (wire.SPAWN, wire.SPAWN_FORKABLE):
    read, write = os.pipe()
    server._carry_out(wire.ORDER.pack(order, 1, 0), [os.dup(write), os.dup(write), write])
    print(os.read(read, 100), os.read(read, 100))
    os.close(read)
    server._carry_out(wire.ORDER.pack(wire.REAP, 1, 0), [])
    print(wire.REPORT.unpack(host.recv(100)) == (wire.EXIT, 1, os.EX_OSERR << 8))
print(server._cells, server._slots, server._asks, server._ended, len(os.listdir("/proc/self/fd")) - before)
"""


def _run(script: str) -> str:
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()


def test_a_copy_that_ended_before_its_hello_was_heard_is_reported() -> None:
    assert _run(_EARLY_END) == "True {} {} {}"


def test_an_order_to_admit_that_came_late_is_obeyed_before_the_fork_is_refused() -> None:
    assert _run(_LATE_ORDER) == "[1]"


def test_a_cell_that_is_killed_while_its_end_is_awaited_is_reported() -> None:
    assert _run(_KILLED_WHILE_AWAITED) == "True {} set()"


def test_a_cell_that_cannot_be_forked_costs_itself_only() -> None:
    each = [f"b'no process for it: {os.strerror(errno.EAGAIN)}' b''", "True"]
    assert _run(_NO_MORE_PROCESSES).split("\n") == [*each, *each, "{} {} {} {} 0"]
