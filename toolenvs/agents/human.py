"""A person as an agent: types each turn in a terminal."""

import asyncio
from collections.abc import Callable

from toolenvs.rollout.agent import Action, Request

END = "."


class Human:
    """Reads turns from a terminal; a line that holds a single dot ends a turn, and so does a stop string.

    Args:
        read_line: gives the next line without its newline; raises EOFError at the end.
    """

    def __init__(self, read_line: Callable[[], str] = input) -> None:
        self._read_line = read_line

    async def act(self, request: Request) -> Action:
        """What the person typed.

        Raises:
            EOFError: there is nothing more to read.
        """
        return Action(text=await asyncio.to_thread(self._read_turn, request.stop))

    def _read_turn(self, stop: tuple[str, ...]) -> str:
        lines: list[str] = []
        while (line := self._read_line()) != END:
            lines.append(line)
            if any(marker in line for marker in stop):
                break
        return "\n".join(lines)

    def release(self, key: str) -> None:
        """Nothing is kept."""
