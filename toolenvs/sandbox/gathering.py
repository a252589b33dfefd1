"""With many runs at once, an event loop lets cells get on before it takes up what they answered.

A loop that each answer wakes takes the processor from a cell in the middle of its turn, for one answer. Each of the two
then finds its memory gone from the caches. Where few runs are under way, somebody waits for the loop, and it goes on.
"""

import time
from collections.abc import Callable, Sequence

MANY = 24
"""Runs under way at one time from which on answers are gathered."""
REST = 20
"""Times that they are not, after a pause that was not worth it."""
WORTH = 3
"""Answers that come in a pause that was."""
_PAUSE_S = 8e-6  # for each run: half a millisecond for 64
_LONGEST_PAUSE_S = 0.001

Ready = Sequence[tuple[int, int]]


class Gathering:
    """Of one event loop, which takes up many answers at a time."""

    def __init__(self) -> None:
        self._rest = 0

    def more(self, ready: Ready, running: int, poll: Callable[[float], Ready]) -> Ready:
        """What is ready of so many runs: `ready`, or where that is less than half, what `poll` gives a moment later."""
        if running < MANY or len(ready) >= running // 2:
            return ready
        if self._rest:
            self._rest -= 1
            return ready
        time.sleep(min(running * _PAUSE_S, _LONGEST_PAUSE_S))
        gathered = poll(0)
        if len(gathered) < len(ready) + WORTH:
            self._rest = REST
        return gathered
