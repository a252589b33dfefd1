"""Any server of the Model Context Protocol as a tool: a program that is started for each episode, or an address.

The server is the page author's choice. Whatever it answers is told to the model, errors included; a server that does
not answer, or died, is infrastructure. Results are cut and neutralised as every observation is.
"""

import functools
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from toolenvs import address
from toolenvs.errors import ConfigError, ForkError, InfrastructureError, ToolError, did_you_mean
from toolenvs.schema import at_least
from toolenvs.tasks.task import Task
from toolenvs.tools._mcp_session import Answered, McpSession, Where
from toolenvs.tools.base import ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[tools.mcp]`."""

    command: tuple[str, ...] = ()
    """A program that speaks on its standard input and output, and its arguments; or else `url`."""
    url: str = ""
    """Of a server with streamable HTTP, such as "http://127.0.0.1:8000/mcp"."""
    environment: tuple[str, ...] = ()
    """Names of environment variables that the program is given; of the others it sees only PATH, HOME and the like."""
    token_env: str = ""
    """Name of the environment variable that holds the bearer token for `url`; "" for none."""
    tools: tuple[str, ...] = ()
    """Those of the server's tools that are offered; () for all."""
    name: str = "mcp"
    """What the policy calls, where several tools are offered: one function whose argument `tool` chooses. A single tool
    keeps its own name, description and schema."""
    state: Literal["session", "none"] = "session"
    """Whether calls change what later ones find. With "session" each episode has a connection of its own, and a fork
    runs its calls again; with "none" all share one, and a fork goes on with it."""
    on_fork: Literal["replay", "refuse"] = "replay"
    """Whether a fork may run the calls again, where there is state."""
    timeout_s: float = 30.0
    """Wall-clock seconds that one call may take."""
    start_s: float = 30.0
    """Wall-clock seconds that the server may take to come up."""
    on_timeout: str = "TimeoutError: the tool took longer than {timeout_s} s"
    """What a call that took too long gives, where the server is still alive."""
    result_chars: int = 65_536
    """Characters of a result that are kept; the budget cuts further."""
    empty: str = ""
    """What a call without a result gives."""
    description: str = "Calls a tool of a server."
    """Shown to models that choose functions by their schema, where several tools are offered."""

    def __post_init__(self) -> None:
        if bool(self.command) == bool(self.url):
            raise ConfigError("say either command, the program and its arguments, or url, the server's address")
        if self.url:
            address.http(self.url, "url", 8000)
        at_least(0.001, timeout_s=self.timeout_s, start_s=self.start_s)
        at_least(1, result_chars=self.result_chars)


class Tool:
    """A server's tools; each episode has a session of its own, or all share one."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self._where = Where(
            command=options.command,
            url=options.url,
            environment=options.environment,
            token_env=options.token_env,
            start_s=options.start_s,
        )
        self._offered: dict[str, Any] | None = None
        self._common: McpSession | None = None

    @property
    def offered(self) -> Mapping[str, Any]:
        """Name, description and input schema of each tool that is offered; a process asks a server once.

        Raises:
            InfrastructureError: it cannot be reached.
            ConfigError: it lacks a tool of `tools`.
        """
        if self._offered is None:
            found = listed(self._where)
            wanted = self.options.tools or tuple(found)
            for name in wanted:
                if name not in found:
                    raise ConfigError(f"mcp: the server has no tool {name!r}; {did_you_mean(name, found)}")
            if not wanted:
                raise ConfigError("mcp: the server has no tools")
            self._offered = {name: found[name] for name in wanted}
        return self._offered

    @property
    def _only(self) -> Mapping[str, Any] | None:
        """The single tool, where there is one."""
        return next(iter(self.offered.values())) if len(self.offered) == 1 else None

    @property
    def name(self) -> str:
        """What the policy calls."""
        return str(self._only["name"]) if self._only else self.options.name

    @property
    def description(self) -> str:
        """Of what the policy calls."""
        if self._only:
            return str(self._only["description"] or self.options.description)
        listed = "\n".join(
            f"{tool['name']}: {tool['description'] or 'no description'}" for tool in self.offered.values()
        )
        return f"{self.options.description}\n{listed}"

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The JSON schema of the arguments: the tool's own, or a choice among them."""
        if self._only:
            return dict(self._only["parameters"])
        return {
            "type": "object",
            "properties": {
                "tool": {"type": "string", "enum": list(self.offered), "description": "Which tool to call."},
                "arguments": {"type": "object", "description": "Its arguments."},
            },
            "required": ["tool", "arguments"],
            "oneOf": [
                {"properties": {"tool": {"const": name}, "arguments": dict(tool["parameters"])}}
                for name, tool in self.offered.items()
            ],
        }

    async def check(self) -> None:
        """Ask the server for its tools.

        Raises:
            InfrastructureError: it cannot be reached.
            ConfigError: it lacks a tool of `tools`.
        """
        _ = self.offered

    async def open(self, task: Task, *, seed: int, progress: float) -> "Session":
        """A session; the server is touched by its first call."""
        if self.options.state == "session":
            return Session(self, McpSession(self._where))
        if self._common is None or self._common.owner != os.getpid():
            self._common = McpSession(self._where)
        return Session(self, self._common, shared=True)

    async def close(self) -> None:
        """End the session that episodes share."""
        common, self._common = self._common, None
        if common is not None:
            await common.aclose()


class Session:
    """The calls of one episode."""

    def __init__(self, tool: Tool, session: McpSession, *, shared: bool = False) -> None:
        self._tool = tool
        self._session = session
        self._shared = shared

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Call a tool of the server.

        Raises:
            ToolError: there is no such tool, or what the server says of the call.
            InfrastructureError: the server is dead.
        """
        options, name, given = self._tool.options, *self._chosen(arguments)
        started_s = time.perf_counter()
        answered = await self._session.call(name, given, timeout_s=options.timeout_s)
        seconds = time.perf_counter() - started_s
        if answered.status == "timeout":
            text = options.on_timeout.replace("{timeout_s}", f"{options.timeout_s:g}")
            return ToolResult(text=text, status="timeout", seconds=seconds)
        text = shown(answered)[: options.result_chars] or options.empty
        if answered.status == "error":
            raise ToolError(text or "the tool failed, and does not say why")
        data = {"tool": name, "structured": answered.structured}
        return ToolResult(text=text, data=data, seconds=seconds)

    def _chosen(self, arguments: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        offered = self._tool.offered
        if len(offered) == 1:
            return next(iter(offered)), dict(arguments)
        name, given = arguments.get("tool"), arguments.get("arguments", {})
        if not isinstance(name, str) or name not in offered:
            known = ", ".join(offered)
            raise ToolError(f"the argument 'tool' must be one of {known}" + (f", not {name!r:.40}" if name else ""))
        if not isinstance(given, Mapping):
            raise ToolError("the argument 'arguments' must be an object")
        return name, dict(given)

    async def fork(self) -> "Session":
        """The same session, where calls change nothing.

        Raises:
            ForkError: they may, and the protocol has no copies: the calls are run again.
            InfrastructureError: and the page forbids it.
        """
        if self._shared:
            return self
        told = "a server of the Model Context Protocol cannot copy its session"
        if self._tool.options.on_fork == "refuse":
            raise InfrastructureError(f"{told}, and tools.mcp.on_fork forbids to run its calls again")
        raise ForkError(told)

    async def close(self) -> None:
        """End the session, and the program that was started for it."""
        if not self._shared:
            await self._session.aclose()


@functools.lru_cache(maxsize=64)
def listed(where: Where) -> dict[str, dict[str, Any]]:
    """The tools of a server by their names, as it listed them when this process first asked.

    Raises:
        InfrastructureError: it cannot be reached.
    """
    with McpSession(where) as session:
        return {tool["name"]: tool for tool in session.wait(session.list_tools())}


def shown(answered: Answered) -> str:
    """What the model reads of a result: its texts; of anything else that it is there."""
    parts = [_part(block) for block in answered.content]
    if not any(parts) and answered.structured is not None:
        return json.dumps(answered.structured, ensure_ascii=False)
    return "\n".join(part for part in parts if part)


def _part(block: Mapping[str, Any]) -> str:
    kind = block.get("type")
    if kind == "text":
        return str(block.get("text", ""))
    if kind == "resource":
        resource: Mapping[str, Any] = block.get("resource") or {}
        return (
            str(resource["text"]) if isinstance(resource.get("text"), str) else f"[{resource.get('uri', 'a resource')}]"
        )
    if kind == "resource_link":
        return f"[{block.get('uri', 'a resource')}]"
    return f"[{block.get('mimeType', kind or 'something')} without text]"
