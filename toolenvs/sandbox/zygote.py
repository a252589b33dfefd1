"""The fork server: imports what programs import, then forks a confined cell for each order of the host.

Executed, never forked, from the host: no memory, descriptors or secrets of the trainer are in it. It ends when its
control socket does, and its cells end with it.
"""

import _signal  # type: ignore[import-not-found]  # see `worker`
import atexit
import bisect
import contextlib
import gc
import importlib
import importlib.machinery
import json
import os
import select
import signal
import socket
import struct
import sys
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

from toolenvs.sandbox import kernel, processes, seccomp, wire, worker
from toolenvs.sandbox.walls import Plan, Walls

_CONTROL_FD = 3
_MAX_FDS = 8  # three channels, and the files of as many control groups as there may be
_CREDENTIALS = struct.Struct("3i")  # struct ucred: pid, uid, gid
_HUGE_BYTES = 2 << 20
_MAX_HOLES = 200_000  # of one size
_EXITING = 0x4  # PF_EXITING, of a task's flags
_HELLO_LIMIT_S = 1.0  # for a copy that was ordered to end before it said who it is


class Listed(importlib.machinery.FileFinder):
    """Finds listed packages only, so that others are missing rather than unreadable."""

    names: frozenset[str] = frozenset()

    def find_spec(self, fullname: str, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """The spec of `fullname` when its package is listed."""
        return super().find_spec(fullname, target) if fullname.partition(".")[0] in self.names else None


class Server:
    """The fork server's loop."""

    def __init__(self, walls: Walls, control: socket.socket, cells_worker: worker.Worker) -> None:
        self._walls = walls
        self._worker = cells_worker
        self._control = control
        control.setblocking(False)
        self._cells: dict[int, int] = {}  # cell -> pid
        self._pids: dict[int, int] = {}  # pid -> cell
        self._ended: dict[int, int] = {}  # cell -> wait status, until the host has asked
        self._awaited: set[int] = set()  # cells whose end the host waits for
        self._cut_off: set[int] = set()  # those of them that would have lived on
        self._slots: dict[int, int] = {}  # cell -> slot, the lowest free number; copies share that of the original
        self._families: dict[int, int] = {}  # copies and copied cells -> process that all of them stem from
        self._admitted: dict[int, int] = {}  # family -> forks that may still pass
        self._unknown: dict[int, int] = {}  # family -> forks that passed, less copies that said hello
        self._doomed: dict[int, float] = {}  # copies to be killed when they say hello, or at that time
        self._asks: dict[int, tuple[int, socket.socket]] = {}  # descriptor -> cell whose listener comes there
        self._listeners: dict[int, tuple[int, seccomp.Listener]] = {}  # descriptor -> family and listener
        self._hellos: dict[int, tuple[int, socket.socket]] = {}  # descriptor -> cell that will say hello there
        self._groups: dict[int, list[int]] = {}  # copy that will say hello -> files of its control groups
        self._thread_id_at = kernel.thread_id_address()
        self._poll = select.poll()
        self._wake_read, self._wake_write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def serve(self) -> None:
        """Obey until the control socket ends."""
        signal.signal(signal.SIGCHLD, _nothing)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)
        self._poll.register(self._control, select.POLLIN)
        self._poll.register(self._wake_read, select.POLLIN)
        while True:
            events = self._poll.poll(_HELLO_LIMIT_S * 1000 if self._doomed else None)
            if len(events) == 1 and events[0][0] in self._listeners:  # the common case of a copy, which waits for this
                self._hear(*events[0])
                continue
            ready = dict(events)
            # Sorted before anything is closed or opened, since descriptors' numbers come back.
            asks, hellos, listeners = (
                ready.keys() & known.keys() for known in (self._asks, self._hellos, self._listeners)
            )
            for descriptor in asks:
                self._listen(descriptor)
            for descriptor in hellos:
                self._welcome(descriptor)
            if self._wake_read in ready:
                os.read(self._wake_read, 4096)
                self._bury()
            # Orders before forks: the host admits a fork before it asks for it.
            if self._control.fileno() in ready and not self._obey():
                return
            self._end_doomed()
            for descriptor in listeners:
                self._hear(descriptor, ready[descriptor])

    def _hear(self, descriptor: int, event: int) -> None:
        """Answer a fork that waits at a listener."""
        family, listener = self._listeners[descriptor]
        if event & select.POLLIN:
            if not self._admitted.get(family):  # the order may have come since the loop looked
                self._obey()
            admitted = self._admitted.get(family, 0)
            self._admitted[family] = listener.answer(admitted)
            self._unknown[family] = self._unknown.get(family, 0) + admitted - self._admitted[family]
        elif event & select.POLLHUP:  # nobody is left who could fork
            self._poll.unregister(descriptor)
            del self._listeners[descriptor]
            self._admitted.pop(family, None)
            os.close(descriptor)

    def _obey(self) -> bool:
        """Carry out every order that waits; False when there is nobody left to give any."""
        while True:
            try:
                received = socket.recv_fds(self._control, wire.ORDER.size, _MAX_FDS)
            except BlockingIOError:
                return True
            if not received[0]:
                return False
            self._carry_out(*received[:2])

    def _carry_out(self, message: bytes, descriptors: list[int]) -> None:
        order, cell, other = wire.ORDER.unpack(message)
        if order in (wire.SPAWN, wire.SPAWN_FORKABLE):
            self._spawn(cell, descriptors, forkable=order == wire.SPAWN_FORKABLE, user=other)
        elif order == wire.ADMIT:
            self._groups[cell] = descriptors[1:]
            self._admit(cell, other, descriptors[0])
        elif order == wire.INTERRUPT:
            if cell in self._cells:
                _send_signal(self._cells[cell], signal.SIGINT)
        else:
            if order == wire.REAP:
                self._awaited.add(cell)
            if cell in self._cells:
                if order == wire.REAP and not _is_ending(self._cells[cell]):
                    self._cut_off.add(cell)
                _send_signal(self._cells[cell], signal.SIGKILL)
                if cell not in self._awaited:  # a session that is closed while its cell's end is awaited
                    self._forget(cell)
            elif any(cell == expected for expected, _ in self._hellos.values()):
                self._doomed[cell] = time.monotonic() + _HELLO_LIMIT_S
            else:
                self._end_unborn(cell)

    def _spawn(self, cell: int, descriptors: list[int], *, forkable: bool, user: int) -> None:
        slot = min(set(range(len(self._slots) + 1)) - set(self._slots.values()))
        ask, asked = socket.socketpair() if forkable else (None, None)
        try:
            pid = kernel.fork(self._thread_id_at) if self._thread_id_at else os.fork()
        except OSError as refused:  # no memory or processes are left: the host sees the channels end, and asks how
            self._ended[cell] = os.EX_OSERR << 8
            with contextlib.suppress(OSError):  # the host has gone
                os.write(descriptors[2], f"no process for it: {refused.strerror}".encode())
            for end in (ask, asked):
                if end is not None:
                    end.close()
            for descriptor in descriptors:
                os.close(descriptor)
            return
        if pid == 0:
            self._become_cell(slot, descriptors, asked, user)
        if ask is not None and asked is not None:
            asked.close()
            self._asks[ask.fileno()] = cell, ask
            self._poll.register(ask, select.POLLIN)
        for descriptor in descriptors:
            os.close(descriptor)
        self._cells[cell] = pid
        self._pids[pid] = cell
        self._slots[cell] = slot

    def _become_cell(self, slot: int, descriptors: list[int], asked: socket.socket | None, user: int) -> None:
        code = 0
        try:
            for group in descriptors[3:]:
                os.write(group, b"0")
            _fresh_process(descriptors[:3], keep=[self._walls.rules, asked.fileno() if asked else 0])
            self._walls.around_cell(slot, asked, user)
            worker.start(self._worker)
        except BaseException:
            traceback.print_exc()
            code = 70
        finally:
            os._exit(code)

    def _listen(self, descriptor: int) -> None:
        """Take the listener of a cell that is being confined."""
        cell, ask = self._asks.pop(descriptor)
        self._poll.unregister(descriptor)
        _, descriptors, _, _ = socket.recv_fds(ask, 1, 1)
        ask.close()
        for passed in descriptors:
            self._listeners[passed] = self._cells.get(cell, 0), seccomp.Listener(passed)
            self._poll.register(passed, select.POLLIN)

    def _admit(self, cell: int, parent: int, descriptor: int) -> None:
        """Let `parent` fork once."""
        hello = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, fileno=descriptor)
        hello.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._hellos[descriptor] = cell, hello
        self._poll.register(descriptor, select.POLLIN)
        family = self._families.get(parent) or self._cells.get(parent)
        if family is None:
            return  # it ended; nobody will say hello
        self._families[parent] = self._families[cell] = family
        if parent in self._slots:
            self._slots[cell] = self._slots[parent]
        self._admitted[family] = self._admitted.get(family, 0) + 1

    def _welcome(self, descriptor: int) -> None:
        """Learn from the kernel which process a copy is."""
        cell, hello = self._hellos.pop(descriptor)
        self._poll.unregister(descriptor)
        _, extra, _, _ = hello.recvmsg(1, socket.CMSG_SPACE(_CREDENTIALS.size))
        hello.close()
        for _, kind, data in extra:
            if kind == socket.SCM_CREDENTIALS:
                pid = _CREDENTIALS.unpack(data)[0]
                if pid and pid not in self._pids:
                    self._cells[cell] = pid
                    self._pids[pid] = cell
                    family = self._families.get(cell, 0)
                    self._unknown[family] = self._unknown.get(family, 0) - 1
                    self._enter_groups(cell, pid)
        self._leave_groups(cell)
        self._settle(self._families.get(cell, 0))
        if cell in self._doomed:
            self._doomed[cell] = 0.0

    def _welcome_all(self) -> None:
        """Hear every copy that has said hello by now."""
        for descriptor, (_, hello) in list(self._hellos.items()):
            waiting = select.poll()
            waiting.register(hello, select.POLLIN)
            if waiting.poll(0):
                self._welcome(descriptor)

    def _enter_groups(self, cell: int, pid: int) -> None:
        try:
            for group in self._groups.get(cell, ()):
                os.write(group, b"%d" % pid)
        except OSError:
            _send_signal(pid, signal.SIGKILL)

    def _leave_groups(self, cell: int) -> None:
        for group in self._groups.pop(cell, ()):
            os.close(group)

    def _end_doomed(self) -> None:
        """Kill the copies that were ordered to end before they were known, now that they are or should be."""
        now_s = time.monotonic()
        for cell in [cell for cell, at_s in self._doomed.items() if at_s <= now_s]:
            del self._doomed[cell]
            for descriptor, (expected, hello) in list(self._hellos.items()):
                if expected == cell:
                    del self._hellos[descriptor]
                    self._poll.unregister(descriptor)
                    hello.close()
                    self._leave_groups(cell)
                    self._settle(self._families.get(cell, 0))
            if cell in self._cells:
                _send_signal(self._cells[cell], signal.SIGKILL)
                if cell not in self._awaited:
                    self._forget(cell)
            else:
                self._end_unborn(cell)

    def _end_unborn(self, cell: int) -> None:
        self._families.pop(cell, None)
        if cell not in self._pids.values():
            self._slots.pop(cell, None)
        self._tell(cell, self._ended.pop(cell, 0))

    def _settle(self, family: int) -> None:
        """Unless a copy is being made: admit no fork, and kill whatever a family has forked beside ordered copies."""
        if not family or any(self._families.get(cell) == family for cell, _ in self._hellos.values()):
            return
        self._admitted.pop(family, None)
        if not self._unknown.pop(family, 0):
            return  # each fork that passed is a copy that is known
        for pid in processes.numbers():
            if pid not in self._pids and _session(pid) == family:  # no program can leave its own
                with contextlib.suppress(OSError):
                    process = os.pidfd_open(pid)  # whoever has that number next is not meant
                    if _session(pid) == family:
                        signal.pidfd_send_signal(process, signal.SIGKILL)
                    os.close(process)

    def _bury(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid not in self._pids:  # a copy that has said hello since the loop looked, and ended at once?
                self._welcome_all()
            cell = self._pids.pop(pid, None)
            if cell is None:
                continue
            self._slots.pop(cell, None)
            self._settle(self._families.pop(cell, 0))
            if self._cells.pop(cell, None) is None:
                continue  # killed and forgotten
            self._ended[cell] = status
            if cell in self._awaited:
                self._tell(cell, self._ended.pop(cell))

    def _forget(self, cell: int) -> None:
        self._cells.pop(cell, None)

    def _tell(self, cell: int, status: int) -> None:
        if cell in self._awaited:
            self._awaited.discard(cell)
            cut_off = cell in self._cut_off and os.WIFSIGNALED(status)
            self._cut_off.discard(cell)
            self._control.send(wire.REPORT.pack(wire.EXIT, cell, wire.CUT_OFF if cut_off else status))


def _send_signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):  # a copy may have ended before it was known
        os.kill(pid, number)


def _session(pid: int) -> int:
    """The session of a process; 0 when it has gone."""
    try:
        return int(processes.fields(pid)[3])
    except (OSError, IndexError):
        return 0


def _is_ending(pid: int) -> bool:
    """Whether a process has begun to end, whatever is sent to it now."""
    try:
        fields = processes.fields(pid)
    except OSError:
        return False  # without /proc nobody knows
    return fields[0] in (b"Z", b"X") or bool(int(fields[6]) & _EXITING)


def _nothing(*_: object) -> None:
    """A handler, so that the signal wakes the loop."""


def _fresh_process(descriptors: list[int], keep: list[int]) -> None:
    """Put a cell's descriptors in their places, drop all others, leave the server's signals and session."""
    _signal.set_wakeup_fd(-1)
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    os.setsid()
    null = os.open("/dev/null", os.O_RDONLY)
    control, out, err = descriptors
    # All sources lie above 3: the server holds its own 0 to 3.
    for source, target in ((null, 0), (out, 1), (err, 2), (control, worker.CONTROL_FD)):
        os.dup2(source, target)
    low = worker.CONTROL_FD + 1
    for kept in sorted(filter(None, keep)):
        os.closerange(low, kept)
        low = kept + 1
    os.closerange(low, 65_536)


def _prepare_imports(plan: Plan) -> None:
    Listed.names = frozenset(plan["importable"])
    details = [
        (importlib.machinery.ExtensionFileLoader, importlib.machinery.EXTENSION_SUFFIXES),
        (importlib.machinery.SourceFileLoader, importlib.machinery.SOURCE_SUFFIXES),
        (importlib.machinery.SourcelessFileLoader, importlib.machinery.BYTECODE_SUFFIXES),
    ]
    sites = tuple(plan["sites"])

    def hook(path: str) -> importlib.machinery.FileFinder:
        if path not in sites:
            raise ImportError
        return Listed(path, *details)

    sys.path_hooks.insert(0, hook)
    sys.path.extend(sites)
    sys.dont_write_bytecode = True
    if plan["subprocesses"]:  # interpreters that programs start find the same packages
        sys.executable = plan["executable"]
        os.environ["PYTHONPATH"] = os.pathsep.join(sites)
        os.environ["PYTHONDONTWRITEBYTECODE"] = "1"


def _preload(plan: Plan) -> None:
    for name in plan["preload"]:
        try:
            importlib.import_module(name)
        except ImportError:
            continue  # not installed here: programs do without
    exec(compile(plan["warm_up"], "<warm-up>", "exec"), {"__name__": "__warm_up__"})


def _fill_holes() -> list[object]:
    """Occupy what is free between the objects that are there; to be kept for ever.

    Else each cell would put its own objects into holes all over the heap, and have as many pages copied for that.
    """
    with open("/proc/self/maps") as file:
        spans = sorted(tuple(int(end, 16) for end in line.split()[0].split("-")) for line in file)
    starts = [span[0] for span in spans]
    filling: list[object] = []

    def fill(take: Callable[[], int]) -> None:
        """Take memory until some comes that was added for it."""
        for _ in range(_MAX_HOLES):
            at = take()
            if at >= spans[bisect.bisect(starts, at) - 1][1]:
                return

    def making(make: Callable[[], object]) -> Callable[[], int]:
        def take() -> int:
            filling.append(make())
            return id(filling[-1])

        return take

    for size in (*(1 << bits for bits in range(16, 10, -1)), *range(1024, 0, -16)):
        fill(partial(kernel.allocate, size))
    # What Python's own allocator gives out: 16 bytes, 32, and so on to 512.
    fill(making(object))
    fill(making(lambda: float(len(filling))))
    for length in range(15, 480, 16):
        fill(making(partial(bytes, length)))
    return filling


def _collapse_heap() -> None:
    """Put the heap on huge pages where the kernel can: each fork then copies fewer page-table entries."""
    with contextlib.suppress(OSError):
        with open("/proc/self/maps") as file:
            mappings = [line.split() for line in file]
        for span, rights, *_, name in mappings:
            if rights == "rw-p" and name in ("0", "[heap]"):  # "0": the inode number of a mapping without a name
                first, end = (int(number, 16) for number in span.split("-"))
                first, end = -(-first // _HUGE_BYTES) * _HUGE_BYTES, end // _HUGE_BYTES * _HUGE_BYTES
                if first < end:
                    kernel.collapse(first, end - first)


def _trial(walls: Walls) -> str:
    """Confine one process and throw it away; what failed, or ""."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            walls.around_cell(0, user=min(walls.users, default=0))
            os.write(write, b"+")
        except BaseException as error:
            os.write(write, f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    os.close(write)
    os.waitpid(pid, 0)
    answer = os.read(read, 4096).decode()
    os.close(read)
    return "" if answer == "+" else answer or "a confined process was killed"


def main() -> None:
    """Boot, report, serve."""
    plan: Plan = json.loads(sys.argv[1])
    passed = int(sys.argv[3])
    if passed != _CONTROL_FD:
        os.dup2(passed, _CONTROL_FD)
        os.close(passed)
    os.set_inheritable(_CONTROL_FD, False)
    control = socket.socket(fileno=_CONTROL_FD)
    try:
        walls = Walls(plan)
        walls.around_server()
        own_allocator = kernel.arenas_on_the_heap()
        _prepare_imports(plan)
        ready = worker.Worker(plan["output_chars"], "/tmp" if walls.private else None, plan["seed"])
        _preload(plan)
        gc.collect()
        sys._clear_type_cache()  # or what is looked up replaces names of all that was imported, and touches these
        filling = _fill_holes()  # so that what is made from here on, for every run, lies together
        for name in [name for name in sys.modules if name.partition(".")[0] == "toolenvs"]:
            del sys.modules[name]
        sys.argv = [""]
        walls.measure()
        ready.rehearse()
        failure = _trial(walls)
    except Exception as error:
        failure = f"{type(error).__name__}: {error}"
    if failure:
        control.send(wire.REPORT.pack(wire.FAILED, 0, 0) + failure.encode()[:4096])
        return
    atexit._clear()
    gc.collect()
    gc.disable()
    own_allocator()
    filling += _fill_holes()  # those that have come since
    gc.freeze()
    _collapse_heap()
    control.send(wire.REPORT.pack(wire.READY, 0, 0))
    Server(walls, control, ready).serve()
    del filling
    os._exit(0)  # nothing here is worth an orderly end; cells go with the namespace or by their parent-death signal
