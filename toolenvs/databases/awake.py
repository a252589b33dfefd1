"""Staying awake for a message: to be woken takes longer than most queries, above all on a virtual machine.

Worth it where messages come one right after the other, and where there is a processor to spare. So both sides of a
channel do it as long as most of the last ones came soon, and sleep otherwise. Between two looks each lets others have
its processor. Linux puts who is woken beside who woke it, where the two then hinder one another: one of them moves.
"""

import os
import socket
import time
from pathlib import Path

_PIECE_BYTES = 1 << 16
_PATIENCE = 4
"""Waits in vain, one after the other, until nothing is expected any more."""
_CROWDED_S = 0.00005
"""Between two looks that lie so far apart someone else had the processor."""
_CROWD = 3
"""After so many of them in one wait, processors are too few to stay awake."""
_MOVE_AGAIN_S = 0.001
"""Nobody moves more often."""
_KNOWS_PROCESSORS = hasattr(os, "sched_getaffinity")  # Linux


class Awake:
    """One side of a channel."""

    def __init__(self, channel: socket.socket, awake_s: float, *, moves: bool = False) -> None:
        """`awake_s`: how long it stays awake; `moves`: whether this side gives way."""
        self._receive = channel.recv
        self._awake_s = awake_s
        self._moves = moves and _KNOWS_PROCESSORS
        self._patience = 0
        self._spare = (len(os.sched_getaffinity(0)) if _KNOWS_PROCESSORS else os.cpu_count() or 1) > 1
        self._began_s = 0.0
        self._moved_s = 0.0
        self._crowded = False

    def receive(self) -> bytes | None:
        """What comes while it is awake; None where nothing did, or is expected: sleep, and tell by `came`."""
        clock, receive, let_others = time.perf_counter, self._receive, os.sched_yield
        if self._crowded:
            self._crowded = False
            _move()
        now_s = self._began_s = clock()
        if self._patience:
            until_s = now_s + self._awake_s
            crowded = 0
            while now_s < until_s and crowded < _CROWD:
                before_s = now_s
                try:
                    piece = receive(_PIECE_BYTES, socket.MSG_DONTWAIT)
                except BlockingIOError:
                    let_others()
                    now_s = clock()
                    crowded += now_s - before_s > _CROWDED_S
                    continue
                self._patience = _PATIENCE
                if crowded and self._moves and now_s - self._moved_s > _MOVE_AGAIN_S:
                    self._crowded, self._moved_s = True, now_s  # when this message is answered
                return piece
            self._patience -= 1
        return None

    def came(self) -> None:
        """Something came after a sleep."""
        if self._spare and time.perf_counter() - self._began_s < self._awake_s:
            self._patience = _PATIENCE


def _move() -> None:
    """Go on on another processor."""
    allowed = os.sched_getaffinity(0)
    here = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[36])
    if others := allowed - {here}:
        os.sched_setaffinity(0, others)
        os.sched_setaffinity(0, allowed)
