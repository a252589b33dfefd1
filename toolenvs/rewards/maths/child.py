"""One child process that compares two answers, and can be killed at any time."""

import contextlib
import importlib.util
import json
import os
import select
import signal
import subprocess
import sys
import time
from enum import Enum
from pathlib import Path

from toolenvs.errors import JudgeError, MissingExtraError

CPU_BUDGET_S = 1.0
"""Processor time for one comparison; the kernel ends a child that spends it."""
START_DEADLINE_S = 30.0
"""Wall-clock time for a child to import what it needs; a loaded machine may need most of it."""

_CODE = (
    "import sys; sys.path.insert(0, sys.argv[2]); sys.path.append(sys.argv[3]); "
    "from algebra.serve import main; main(float(sys.argv[1]))"
)
_ENVIRONMENT = {"MPMATH_NOGMPY": "1", "PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "PATH": os.defpath}


class Outcome(Enum):
    """What came of one request."""

    SAME = "same"
    DIFFERENT = "different"
    REFUSED = "refused"
    SPENT = "spent"
    """The processor time was used up, and the child with it."""


class ChildDied(JudgeError):
    """The child ended, or hung without using its processor time: the machine's fault."""


class Child:
    """A running child. Not for use by two threads at once."""

    def __init__(self) -> None:
        """Start the process, without waiting until it is ready.

        Raises:
            MissingExtraError: mpmath is not installed.
            OSError: no process can be started.
        """
        mpmath = importlib.util.find_spec("mpmath")
        if mpmath is None or mpmath.origin is None:
            raise MissingExtraError("mpmath", "maths", "comparing irrational answers")
        folders = str(Path(__file__).parent), str(Path(mpmath.origin).parents[1])
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-c", _CODE, str(CPU_BUDGET_S), *folders],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=_ENVIRONMENT,
            cwd="/",
            start_new_session=True,
            bufsize=0,
        )
        self._ready = False
        self._unread = b""

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def ask(self, gold: str, answer: str, deadline_s: float) -> Outcome:
        """Compare two tidied texts within `deadline_s` of wall-clock time, counted once the child is ready.

        Raises:
            ChildDied: the child did not start, died for no fault of the answer, or got too little processor time.
        """
        if not self._ready:
            self._read_line(START_DEADLINE_S)
            self._ready = True
        request = json.dumps({"gold": gold, "answer": answer}) + "\n"
        try:
            self._write(request.encode("ascii"), time.monotonic() + deadline_s)
            reply = json.loads(self._read_line(deadline_s))
        except ChildDied:
            if self._ended_by(signal.SIGPROF, signal.SIGXCPU):
                return Outcome.SPENT
            raise
        if "refused" in reply:
            return Outcome.REFUSED
        return Outcome.SAME if reply["same"] else Outcome.DIFFERENT

    def kill(self) -> None:
        """End the child's process group, reap it, and close the pipes."""
        if self.alive:
            with contextlib.suppress(ProcessLookupError):  # it ended in between
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self.abandon()

    def disown(self) -> None:
        """In a forked process: let go of a child that is the parent's to reap."""
        self._process.returncode = 0
        self.abandon()

    def abandon(self) -> None:
        """Close this process's ends of the pipes; the child ends by itself when no other process holds them."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _write(self, data: bytes, until: float) -> None:
        descriptor = self._process.stdin.fileno()  # type: ignore[union-attr]
        while data:
            if not _wait(descriptor, select.POLLOUT, until):
                raise ChildDied("the child does not read")
            try:
                data = data[os.write(descriptor, data[:4096]) :]
            except BrokenPipeError:
                raise ChildDied("the child has ended") from None

    def _read_line(self, deadline_s: float) -> bytes:
        descriptor = self._process.stdout.fileno()  # type: ignore[union-attr]
        until = time.monotonic() + deadline_s
        while b"\n" not in self._unread:
            if not _wait(descriptor, select.POLLIN, until):
                raise ChildDied(f"no reply within {deadline_s:g} s of wall-clock time")
            chunk = os.read(descriptor, 65_536)
            if not chunk:
                raise ChildDied("the child has ended")
            self._unread += chunk
        line, _, self._unread = self._unread.partition(b"\n")
        return line

    def _ended_by(self, *signals: int) -> bool:
        """Whether one of these signals ended the child; waits for a child that is about to end."""
        try:
            return -self._process.wait(timeout=0.2) in signals
        except subprocess.TimeoutExpired:
            return False


def _wait(descriptor: int, event: int, until: float) -> bool:
    """Whether the pipe is ready before `until`; `select` itself would refuse descriptors past 1023."""
    poller = select.poll()
    poller.register(descriptor, event)
    return bool(poller.poll(max(0.0, until - time.monotonic()) * 1000))
