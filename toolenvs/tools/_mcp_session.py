"""`McpSession`: a connection to a server of the Model Context Protocol, held open by a task of its own.

The SDK wants a connection to be opened and closed by one task; callers come from any loop, or from none. So all
connections of a process live on the loop of one thread, and each is held by a task that waits there for its end.
"""

import asyncio
import contextlib
import importlib
import os
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from toolenvs import bearer
from toolenvs.errors import InfrastructureError, MissingExtraError
from toolenvs.loop_thread import LoopThread
from toolenvs.per_process import PerProcess

T = TypeVar("T")
_ALIVE_S = 5.0
"""How long a server that failed a call may take to show that it is alive."""
_CLOSE_S = 10.0
_READ_S = 300.0
_PAGES = 100
_OPENING = 16
"""Connections that are opened at one time: hundreds of programs that start together would all be too slow."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """How a server is reached; see `toolenvs.tools.mcp.Options`."""

    command: tuple[str, ...] = ()
    url: str = ""
    environment: tuple[str, ...] = ()
    token_env: str = ""
    start_s: float = 30.0

    def __str__(self) -> str:
        return self.url or " ".join(self.command)[:80]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What became of a call."""

    status: Literal["ok", "error", "timeout"]
    content: Sequence[Mapping[str, Any]] = field(default_factory=list)
    """Blocks as the protocol has them."""
    structured: Any = None


class McpSession:
    """One connection, opened by its first use; a stdio server is a process of its own.

    Args:
        where: the server.
    """

    def __init__(self, where: Where) -> None:
        self._where = where
        self._holding: asyncio.Task[None] | None = None
        self._client: asyncio.Future[Any] | None = None
        self._end = asyncio.Event()
        self._ended = False
        self.owner = os.getpid()
        """The process that it belongs to; a forked child cannot use it."""

    async def call(self, name: str, arguments: Mapping[str, Any], *, timeout_s: float) -> Answered:
        """What the server answers to a call; to be awaited on any loop.

        Raises:
            InfrastructureError: it is dead, or does not come up.
        """
        if self.owner != os.getpid():
            raise InfrastructureError(f"this session with the MCP server {self._where} is the parent process's")
        return await _host().arun(self._call(name, dict(arguments), timeout_s))

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """What a coroutine of this session gives, for callers without a loop."""
        return _host().run(work)

    async def list_tools(self) -> list[dict[str, Any]]:
        """Name, description and schema of each tool. To be run by `wait`.

        Raises:
            InfrastructureError: it is dead, or does not come up.
        """
        client, found, cursor = await self._connected(), list[dict[str, Any]](), None
        try:
            for _ in range(_PAGES):
                listed = await client.list_tools(cursor=cursor)
                found += [
                    {"name": tool.name, "description": tool.description or "", "parameters": dict(tool.input_schema)}
                    for tool in listed.tools
                ]
                cursor = listed.next_cursor
                if not cursor:
                    break
        except Exception as error:
            raise self._dead(error) from error
        return found

    async def _call(self, name: str, arguments: dict[str, Any], timeout_s: float) -> Answered:
        from mcp import MCPError
        from mcp.types import REQUEST_TIMEOUT

        client = await self._connected()
        try:
            async with asyncio.timeout(timeout_s + _ALIVE_S):  # where the SDK itself does not come back
                told = await client.call_tool(name, arguments, read_timeout_seconds=timeout_s)
        except MCPError as error:  # a server that goes on answering has refused the call, or is slow with it
            if not await self._alive(client):
                raise self._dead(error) from error
            if error.code == REQUEST_TIMEOUT:
                return Answered(status="timeout")
            return Answered(status="error", content=[{"type": "text", "text": error.message}])
        except Exception as error:
            raise self._dead(error) from error
        content = [block.model_dump(by_alias=True, mode="json") for block in told.content]
        status: Literal["ok", "error"] = "error" if told.is_error else "ok"
        return Answered(status=status, content=content, structured=told.structured_content)

    async def _alive(self, client: Any) -> bool:
        try:
            async with asyncio.timeout(_ALIVE_S):
                await client.list_tools()
        except Exception:
            return False
        return True

    def _dead(self, error: BaseException) -> InfrastructureError:
        told = f"{type(error).__name__}: {error}".rstrip(": ")
        return InfrastructureError(f"the MCP server {self._where} does not answer: {told}")

    async def _connected(self) -> Any:
        if self._ended:
            raise InfrastructureError(f"the session with the MCP server {self._where} is closed")
        if self._client is None:
            self._client = asyncio.get_running_loop().create_future()
            self._holding = asyncio.create_task(self._hold(self._client))
        return await asyncio.shield(self._client)

    async def _hold(self, ready: "asyncio.Future[Any]") -> None:
        """Open the connection, and close it at the end."""
        try:
            async with contextlib.AsyncExitStack() as stack:
                async with _host().opening:
                    client = await self._open(stack)
                ready.set_result(client)
                await self._end.wait()
        except MissingExtraError as error:
            ready.set_exception(error)
        except BaseException as error:
            if not ready.done():
                ready.set_exception(self._dead(_innermost(error)))
                ready.exception()  # who asked is told; nobody else has to be
            if not isinstance(error, Exception):
                raise

    async def _open(self, stack: contextlib.AsyncExitStack) -> Any:
        try:
            mcp = importlib.import_module("mcp")
        except ImportError:
            raise MissingExtraError("mcp", "mcp", "a tool of an MCP server") from None
        from mcp.types import UNSUPPORTED_PROTOCOL_VERSION

        # The handshake first: what came after it has no sessions over HTTP, so that a server could keep no state.
        for mode in ("legacy", "auto"):
            client = mcp.Client(self._transport(mcp), mode=mode, read_timeout_seconds=self._where.start_s, cache=None)
            try:
                return await stack.enter_async_context(client)
            except mcp.MCPError as error:
                if mode == "auto" or error.code != UNSUPPORTED_PROTOCOL_VERSION:
                    raise
        raise AssertionError

    def _transport(self, mcp: Any) -> Any:
        where = self._where
        if where.command:
            named = {name: os.environ[name] for name in where.environment if name in os.environ}
            program = mcp.StdioServerParameters(command=where.command[0], args=list(where.command[1:]), env=named)
            return _quiet(mcp, program)
        return _over_http(where)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.wait(self._finish())

    async def aclose(self) -> None:
        """End the connection, and the program that was started for it. Closing twice is allowed."""
        if not self._ended and self.owner == os.getpid():
            await _host().arun(self._finish())

    async def _finish(self) -> None:
        self._ended = True
        self._end.set()
        holding = self._holding
        if holding is not None and not (await asyncio.wait((holding,), timeout=_CLOSE_S))[0]:
            holding.cancel()
            await asyncio.wait((holding,), timeout=_CLOSE_S)


@contextlib.asynccontextmanager
async def _quiet(mcp: Any, program: Any) -> AsyncIterator[Any]:
    """The streams of a program; what it says on its standard error is nobody's observation."""
    with open(os.devnull, "w") as nowhere:
        async with mcp.stdio_client(program, errlog=nowhere) as streams:
            yield streams


@contextlib.asynccontextmanager
async def _over_http(where: Where) -> AsyncIterator[Any]:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    headers = bearer.headers(bearer.token(None, where.token_env))
    timeout = httpx2.Timeout(where.start_s, read=_READ_S)
    # Nothing of the environment: calls go where the address says, through no proxy that a variable names.
    async with (
        httpx2.AsyncClient(headers=headers, timeout=timeout, trust_env=False) as client,
        streamable_http_client(where.url, http_client=client) as streams,
    ):
        yield streams


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error


class _Host(LoopThread):
    """The thread whose loop all connections of this process live on."""

    def __init__(self) -> None:
        super().__init__("toolenvs-mcp", owner="the host of the MCP servers", error=InfrastructureError)
        self.opening = asyncio.Semaphore(_OPENING)


_hosts: PerProcess[_Host] = PerProcess()


def _host() -> _Host:
    return _hosts.get("host", _Host)
