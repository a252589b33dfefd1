"""A tool that answers with a text of ours and counts its calls, to see what an environment makes of a tool."""

from collections.abc import Callable, Mapping
from typing import Any

from toolenvs.tasks.task import Task
from toolenvs.tools.base import Piece, Tool, ToolResult


class Parrot:
    """Stands in for a tool of a page.

    Args:
        tool: the tool, whose name and schema it keeps.
        says: what a call returns, or raises.
    """

    def __init__(self, tool: Tool, says: Callable[[Mapping[str, Any]], str]) -> None:
        self.name = tool.name
        self.description, self.parameters = tool.description, tool.parameters
        if hasattr(tool, "context"):
            self.context = tool.context
        self._says = says
        self.calls = 0
        """How often it was called, in all episodes."""

    async def open(self, task: Task, *, seed: int, progress: float) -> "Parrot":
        """Itself: there is no state but the count."""
        return self

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """What it says."""
        self.calls += 1
        text = self._says(arguments)
        return ToolResult(text=text, pieces=(Piece(text),))

    async def fork(self) -> "Parrot":
        """Itself."""
        return self

    async def close(self) -> None:
        """Nothing is held."""

    async def check(self) -> None:
        """It works."""
