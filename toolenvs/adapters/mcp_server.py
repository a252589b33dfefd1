"""Our tools for clients of the Model Context Protocol: those of a page, on standard streams or streamable HTTP.

Each client has tool sessions of its own: its interpreter, its browser, its database session. On standard streams that
is the process; over HTTP it is the protocol's session, which a client opens by its handshake. Revisions from 2026 on
have no sessions over HTTP. A client that asks for such a one is told that there is no `server/discover` here, whereupon
it makes the handshake; calls that come without a session get fresh tool sessions, closed behind them.
"""

import asyncio
import base64
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from toolenvs import __version__, blueprint
from toolenvs.blueprint import Blueprint
from toolenvs.budget import cut
from toolenvs.errors import ConfigError, InfrastructureError, MissingExtraError, ToolError, did_you_mean
from toolenvs.serve.sessions import Sessions
from toolenvs.tools.base import ToolResult, ToolSession

_IMAGES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}
_MAX_IMAGE_BYTES = 1 << 20
_SESSION = b"mcp-session-id"
_GRACE_S = 5.0
_HEAD_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tools:
    """Tools by the name that clients call, and what their sessions are opened with."""

    blueprint: Blueprint
    by_name: Mapping[str, str]
    task: Any
    seed: int


class Offered:
    """The tools of a page that are offered.

    Args:
        page: a bundled page's id or a TOML file.
        overrides: keys of the page.
        tools: names of those that are offered; () for all.
        task: id or index of the task that sessions are about: what some tools need, such as the database of SQL.
        seed: of the tools.

    Raises:
        PageError: the page cannot be used.
        ConfigError: it has no such tool.
        TaskError: it has no such task.
    """

    def __init__(
        self,
        page: str,
        *,
        overrides: Mapping[str, Any] | None = None,
        tools: tuple[str, ...] = (),
        task: str | int = 0,
        seed: int = 0,
    ) -> None:
        built = blueprint.load(page, **(overrides or {}))
        names = {tool.name: key for key, tool in built.tools.items()}
        for name in tools:
            if name not in names:
                raise ConfigError(f"{built.page.id} has no tool {name!r}; {did_you_mean(name, names)}")
        by_name = {name: names[name] for name in tools or names}
        if not by_name:
            raise ConfigError(f"{built.page.id} has no tools that could be offered")
        self.tools = _Tools(blueprint=built, by_name=by_name, task=built.task(task), seed=seed)

    def server(self, sessions: "Callable[[Any], contextlib.AbstractAsyncContextManager[ClientTools]]") -> Any:
        """A server of the SDK.

        Args:
            sessions: gives the tools of the client that a request comes from.

        Raises:
            MissingExtraError: the SDK is not installed.
        """
        try:
            from mcp import MCPError, types
            from mcp.server.lowlevel import Server
        except ImportError:
            raise MissingExtraError("mcp", "mcp", "toolenvs serve mcp") from None
        offered = [
            types.Tool(name=name, description=tool.description, input_schema=dict(tool.parameters))
            for name, tool in ((name, self.tools.blueprint.tools[key]) for name, key in self.tools.by_name.items())
        ]

        async def list_tools(ctx: Any, params: Any) -> Any:
            return types.ListToolsResult(tools=offered)

        async def call_tool(ctx: Any, params: Any) -> Any:
            try:
                async with sessions(ctx) as client:
                    told = await client.call(params.name, params.arguments or {})
            except InfrastructureError as error:
                raise MCPError(types.INTERNAL_ERROR, str(error)) from error
            content: list[Any] = [types.TextContent(text=told.text, type="text")]
            content += [types.ImageContent(data=data, mime_type=kind, type="image") for kind, data in told.images]
            return types.CallToolResult(content=content, is_error=told.failed)

        return Server("toolenvs", version=__version__, on_list_tools=list_tools, on_call_tool=call_tool)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a client is told of a call."""

    text: str
    failed: bool = False
    images: list[tuple[str, str]] = field(default_factory=list)
    """Kind and content, in base64, of the figures that a program left."""


class ClientTools:
    """One client's tool sessions, each opened by its first call.

    Args:
        tools: what is offered.
    """

    def __init__(self, tools: _Tools) -> None:
        self._tools = tools
        self._sessions: dict[str, ToolSession] = {}
        self._turn = asyncio.Lock()

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Told:
        """Run a call; calls of one client run one after another.

        Raises:
            InfrastructureError: the tool itself failed.
        """
        if name not in self._tools.by_name:
            return Told(
                text=f"there is no tool {name[:64]!r}; {did_you_mean(name[:64], self._tools.by_name)}", failed=True
            )
        async with self._turn:
            try:
                result = await (await self._session(name)).call(arguments)
            except ToolError as error:
                return Told(text=self._cut(str(error)), failed=True)
            except InfrastructureError:
                raise
            except Exception as error:  # of a tool from elsewhere
                raise InfrastructureError(f"the tool {name!r} failed: {type(error).__name__}: {error}") from error
        return Told(text=self._cut(result.text), failed=result.status != "ok", images=_images(result))

    async def _session(self, name: str) -> ToolSession:
        key = self._tools.by_name[name]
        if key not in self._sessions:
            tool = self._tools.blueprint.tools[key]
            session = await tool.open(self._tools.task, seed=self._tools.seed, progress=0.0)
            self._sessions[key] = session
            if hasattr(session, "sessions"):
                session.sessions = self._sessions
        return self._sessions[key]

    def _cut(self, text: str) -> str:
        limits = self._tools.blueprint.page.budget
        if limits.max_observation_chars is None:
            return text
        return cut(text, limits.max_observation_chars, limits.keep, limits.ellipsis)

    async def aclose(self) -> None:
        """Close the tools' sessions."""
        async with self._turn:
            sessions, self._sessions = self._sessions, {}
            for session in sessions.values():
                await session.close()


def _images(result: ToolResult) -> list[tuple[str, str]]:
    found, room = [], _MAX_IMAGE_BYTES
    for name, content in result.data.get("files", {}).items():
        kind = _IMAGES.get(name[name.rfind(".") :].lower())
        if kind is not None and len(content) <= room:
            room -= len(content)
            found.append((kind, base64.b64encode(content).decode("ascii")))
    return found


def serve_stdio(offered: Offered) -> None:
    """Speak on standard input and output until the input ends; nothing else may be written there."""
    asyncio.run(_on_streams(offered))


async def _on_streams(offered: Offered) -> None:
    client = ClientTools(offered.tools)

    @contextlib.asynccontextmanager
    async def the_only(_: Any) -> AsyncIterator[ClientTools]:
        yield client

    server = offered.server(the_only)
    from mcp.server.stdio import stdio_server

    await offered.tools.blueprint.check()
    try:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
    finally:
        await client.aclose()


def application(offered: Offered, *, host: str, max_sessions: int, idle_s: float) -> Any:
    """The ASGI application of the streamable HTTP transport, at the path /mcp.

    Args:
        offered: the tools.
        host: that it is served on: requests that name another one are refused, as those of rebound names in browsers.
        max_sessions: clients at one time.
        idle_s: after so long without a request a client's session is ended.
    """
    clients: Sessions[ClientTools] = Sessions(most=max_sessions, idle_s=idle_s)

    @contextlib.asynccontextmanager
    async def of_client(ctx: Any) -> AsyncIterator[ClientTools]:
        key = None if ctx.request is None else ctx.request.headers.get(_SESSION.decode())
        if key is None:
            alone = ClientTools(offered.tools)
            try:
                yield alone
            finally:
                await alone.aclose()
            return

        async def make() -> ClientTools:
            return ClientTools(offered.tools)

        yield await clients.create(key, make)
        clients.touch([key])

    server = offered.server(of_client)
    from mcp import MCPError, types

    async def no_discovery(ctx: Any, params: Any) -> Any:
        raise MCPError(types.METHOD_NOT_FOUND, "this server keeps sessions: open one by the handshake")

    server.add_request_handler("server/discover", types.RequestParams, no_discovery)
    inner = server.streamable_http_app(host=host, max_sessions=max_sessions, session_idle_timeout=idle_s)

    async def outer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await offered.tools.blueprint.check()
        try:
            await inner(scope, receive, send)
        finally:
            if scope["type"] == "lifespan":
                await clients.aclose()
            elif scope["type"] == "http" and scope["method"] == "DELETE":
                for name, value in scope["headers"]:
                    if name == _SESSION:
                        await clients.end(value.decode("ascii", "replace"))

    return outer


def serve_http(
    offered: Offered,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    max_sessions: int = 64,
    idle_s: float = 1800.0,
    ready: Callable[[str], None] = lambda url: None,
) -> None:
    """Serve streamable HTTP on loopback until SIGTERM or SIGINT.

    Args:
        offered: the tools.
        host: a loopback address.
        port: to listen on; 0 takes a free one.
        max_sessions: clients at one time.
        idle_s: after so long without a request a client's session is ended.
        ready: told the address once it listens.

    Raises:
        ConfigError: the address is taken, or other machines could reach it: the protocol's authorization is not here.
    """
    try:
        from toolenvs.serve import run
    except ImportError as error:
        raise MissingExtraError(error.name or "uvicorn", "serve", "toolenvs serve mcp --http") from None
    app = application(offered, host=host, max_sessions=max_sessions, idle_s=idle_s)
    with contextlib.closing(run.bind(host, port)) as listener:
        if not run.is_loopback(listener):
            raise ConfigError(f"{run.url(listener)} can be reached from other machines: listen on 127.0.0.1")
        ready(f"{run.url(listener)}/mcp")
        run.serve(app, listener, head_s=_HEAD_S, grace_s=_GRACE_S)
