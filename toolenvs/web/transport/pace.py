"""Least time between two requests to one host."""

import asyncio
import time

MAX_DELAY_S = 10.0
"""Of what a robots.txt may ask for."""


class Pace:
    """The pace of one episode."""

    def __init__(self, pace_s: float) -> None:
        """No two requests to one host within `pace_s`."""
        self._pace_s = pace_s
        self._next_s: dict[str, float] = {}

    def fork(self) -> "Pace":
        """As this one now, then by itself."""
        copy = Pace(self._pace_s)
        copy._next_s = dict(self._next_s)
        return copy

    async def wait(self, host: str, delay_s: float = 0.0) -> None:
        """Until a request to `host` may go out; the next has to wait for at least `delay_s`, as robots.txt asks."""
        now_s = time.monotonic()
        start_s = max(now_s, self._next_s.get(host, now_s))
        self._next_s[host] = start_s + max(self._pace_s, min(delay_s, MAX_DELAY_S))
        if start_s > now_s:
            await asyncio.sleep(start_s - now_s)
