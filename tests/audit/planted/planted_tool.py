"""A tool that knows a few facts, sound or with one fault."""

import itertools
import random
from dataclasses import dataclass
from typing import ClassVar

from toolenvs.errors import ForkError
from toolenvs.tools.base import ToolResult

FACTS = {"lamp of Ostra": "Pavo Kerem", "height of Velm": "889", "boat of Ibsa": "The Grey Heron"}
_counter = itertools.count()


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    fault: str = ""


class Tool:
    name: ClassVar[str] = "lookup"
    description = "Looks something up."
    parameters: ClassVar = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}

    def __init__(self, options: Options) -> None:
        self.fault = options.fault

    async def open(self, task, *, seed: int, progress: float) -> "Session":
        return Session(self.fault, task, [])

    async def check(self) -> None: ...

    async def close(self) -> None: ...


class Session:
    def __init__(self, fault: str, task, seen: list[str]) -> None:
        self.fault, self.task, self.seen = fault, task, seen

    async def call(self, arguments) -> ToolResult:
        query = str(arguments["query"])
        self.seen.append(query)
        text = f"{FACTS.get(query, 'nothing is known')} (asked {len(self.seen)} times)"
        if self.fault == "answers unasked":
            text += f"; by the way, {self.task.gold}"
        elif self.fault == "draws without the seed":
            text += f" {random.random()}"
        elif self.fault == "keeps a count of the process":
            text += f" {next(_counter)}"
        elif self.fault == "hashes strings":
            text += f" {hash(query)}"
        elif self.fault == "dies":
            raise KeyError(query)
        return ToolResult(text=text)

    async def fork(self) -> "Session":
        if self.fault == "forks share their state":
            return Session(self.fault, self.task, self.seen)
        if self.fault == "forks forget":
            return Session(self.fault, self.task, [])
        if self.fault == "cannot fork":
            raise ForkError("it holds a socket")
        return Session(self.fault, self.task, self.seen[:])

    async def close(self) -> None: ...
