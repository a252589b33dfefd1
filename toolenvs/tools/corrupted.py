"""A tool whose answers are wrong, for ablations: does a policy use what its tool says?"""

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from toolenvs import plugins, schema
from toolenvs.tasks.task import Task
from toolenvs.tools.base import Tool as Interface
from toolenvs.tools.base import ToolResult, ToolSession

_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[tools.corrupted]`."""

    tool: str = "python"
    """The tool that is asked."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Its options."""


class Tool:
    """Asks another tool and replaces every number in its answer by a different one of the same length."""

    name: ClassVar[str] = "corrupted"

    def __init__(self, options: Options) -> None:
        found = plugins.find("toolenvs.tools", options.tool, "Options", "tools.corrupted.tool")
        made = plugins.find("toolenvs.tools", options.tool, "Tool", "tools.corrupted.tool")
        self._inner: Interface = made(schema.read(found, options.options, "tools.corrupted.options"))
        self.description = self._inner.description
        self.parameters = self._inner.parameters

    async def check(self) -> None:
        """The other tool's check."""
        await self._inner.check()

    async def open(self, task: Task, *, seed: int, progress: float) -> "Session":
        """A session of the other tool, corrupted."""
        return Session(await self._inner.open(task, seed=seed, progress=progress), seed)

    async def close(self) -> None:
        """Close the other tool."""
        await self._inner.close()


class Session:
    """One corrupted session."""

    def __init__(self, inner: ToolSession, seed: int) -> None:
        self._inner = inner
        self._seed = seed

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """The other tool's answer with other numbers; the same seed and answer give the same numbers."""
        result = await self._inner.call(arguments)
        rng = random.Random(f"{self._seed} {result.text}")
        text = _NUMBER.sub(lambda match: _other(match[0], rng), result.text)
        return ToolResult(text=text, status=result.status, data=result.data, seconds=result.seconds)

    async def fork(self) -> "Session":
        """A copy, as the other tool copies.

        Raises:
            ForkError: the other tool cannot.
        """
        return Session(await self._inner.fork(), self._seed)

    async def close(self) -> None:
        """Close the other session."""
        await self._inner.close()


def _other(number: str, rng: random.Random) -> str:
    """A different number with as many digits."""
    low = 10 ** (len(number) - 1) if len(number) > 1 else 0
    other = str(rng.randrange(low, 10 ** len(number))).zfill(len(number))
    return other if other != number else number[:-1] + str((int(number[-1]) + 1) % 10)
