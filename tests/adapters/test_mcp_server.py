"""Our tools through the official SDK's client: in this process, on standard streams, and over HTTP."""

import asyncio
import base64
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import mcp
import pytest
from mcp.types import INTERNAL_ERROR

from tests.serve.serving import in_thread
from toolenvs.adapters.mcp_server import ClientTools, Offered, application, serve_http
from toolenvs.errors import ConfigError, MissingExtraError, TaskError
from toolenvs.serve import run as runner

COMMAND = [sys.executable, "-c", "from toolenvs.cli import main; main()", "serve", "mcp"]
STATEFUL = {"tools.python.session": "stateful", "max_observation_chars": 400, "tools.python.timeout_s": 60.0}


@contextlib.asynccontextmanager
async def in_process(page: str, **options: Any) -> AsyncIterator[mcp.Client]:
    offered = Offered(page, **options)
    only = ClientTools(offered.tools)

    @contextlib.asynccontextmanager
    async def sessions(_: Any) -> AsyncIterator[ClientTools]:
        yield only

    async with mcp.Client(offered.server(sessions)) as client:
        yield client
    await only.aclose()


@contextlib.contextmanager
def served(**limits: Any) -> Iterator[str]:
    """A server over HTTP, in a thread."""
    app = application(
        Offered("ReTool-v0", overrides=STATEFUL), host="127.0.0.1", **{"max_sessions": 8, "idle_s": 60.0} | limits
    )
    listener = runner.bind("127.0.0.1", 0)
    url = f"{runner.url(listener)}/mcp"
    with in_thread(runner.config(app, head_s=30, grace_s=1), listener):
        yield url


async def text(client: mcp.Client, code: str) -> str:
    told = await client.call_tool("python", {"code": code})
    assert told.content[0].type == "text"
    return told.content[0].text


async def test_results_and_errors() -> None:
    async with in_process("ReTool-v0", overrides=STATEFUL) as client:
        (tool,) = (await client.list_tools()).tools
        assert (tool.name, tool.input_schema["required"]) == ("python", ["code"])
        assert await text(client, "x = 40") == ""
        assert await text(client, "print(x + 2)") == "42"
        failed = await client.call_tool("python", {"code": "1 / 0"})
        assert (failed.is_error, failed.content[0].text) == (True, "ZeroDivisionError: division by zero")
        for wrong in ({}, {"code": 3}):
            failed = await client.call_tool("python", wrong)
            assert failed.is_error
            assert "'code' must be a string" in failed.content[0].text
        failed = await client.call_tool("pyton", {"code": ""})
        assert "did you mean 'python'?" in failed.content[0].text
        assert len(await text(client, "print('x' * 10_000)")) == 403
        assert await text(client, "print(x)") == "40"


async def test_figures_are_images() -> None:
    from toolenvs.adapters.mcp_server import _images
    from toolenvs.tools.base import ToolResult

    files = {"a.png": b"\x89PNG", "b.JPG": b"\xff\xd8", "c.txt": b"text", "d.png": b"0" * (2 << 20), "e": b""}
    images = _images(ToolResult(text="", data={"files": files}))
    assert images == [("image/png", base64.b64encode(b"\x89PNG").decode()), ("image/jpeg", "/9g=")]
    async with in_process("ReTool-v0", overrides=STATEFUL) as client:
        told = await client.call_tool("python", {"code": "open('a.png', 'wb').write(b'PNG')\nprint('drawn')"})
        kinds = [(block.type, getattr(block, "data", None)) for block in told.content]
        assert told.is_error or kinds == [("text", None), ("image", base64.b64encode(b"PNG").decode())]


async def test_calls_of_one_client_run_one_after_another() -> None:
    async with in_process("ReTool-v0", overrides=STATEFUL) as client:
        await text(client, "order = []")
        await asyncio.gather(*(text(client, f"order.append({number})") for number in range(5)))
        assert sorted(eval(await text(client, "print(order)"))) == [0, 1, 2, 3, 4]


async def test_other_pages() -> None:
    async with in_process("Search-v0") as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["search"]
        assert "mayor" in (await client.call_tool("search", {"query": "a mayor"})).content[0].text
    async with in_process("SQL-v0", task=1) as client:
        (tool,) = (await client.list_tools()).tools
        told = await client.call_tool(tool.name, {tool.input_schema["required"][0]: "SELECT 6 * 7"})
        assert "42" in told.content[0].text


async def test_a_tool_that_failed_is_an_error_of_the_protocol() -> None:
    class Broken:
        name, description = "python", "broken"
        parameters: dict[str, Any] = {"type": "object"}

        async def open(self, task: Any, **_: Any) -> Any:
            raise OSError("no device")

    offered = Offered("ReTool-v0")
    offered.tools.blueprint.tools["python"] = Broken()  # type: ignore[assignment]

    @contextlib.asynccontextmanager
    async def alone(_: Any) -> AsyncIterator[ClientTools]:
        yield ClientTools(offered.tools)

    async with mcp.Client(offered.server(alone)) as client:
        with pytest.raises(mcp.MCPError, match="no device") as told:
            await client.call_tool("python", {"code": "1"})
        assert told.value.code == INTERNAL_ERROR


async def test_over_http_each_client_has_its_own_session() -> None:
    opening = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "third", "version": "1"},
        },
    }  # fmt: skip
    accepted = {"Accept": "application/json, text/event-stream"}
    with served(max_sessions=2) as url:
        for mode in ("auto", "legacy"):
            async with mcp.Client(url, mode=mode) as one, mcp.Client(url, mode=mode) as other:
                await text(one, "x = 1")
                await text(other, "x = 2")
                assert [await text(client, "print(x)") for client in (one, other)] == ["1", "2"]
                async with httpx.AsyncClient(trust_env=False) as third:
                    assert (await third.post(url, json=opening, headers=accepted)).status_code == 503
        async with mcp.Client(url) as again:
            assert "NameError" in await text(again, "print(x)")
        async with mcp.Client(url, mode="2026-07-28") as sessionless:
            await text(sessionless, "x = 1")
            assert "NameError" in await text(sessionless, "print(x)")
        async with httpx.AsyncClient(trust_env=False) as web:
            for header, status in ({"Host": "evil.example"}, 421), ({"Origin": "http://evil.example"}, 403):
                assert (await web.post(url, json=opening, headers=accepted | header)).status_code == status


async def test_on_standard_streams() -> None:
    arguments = [*COMMAND[1:], "ReTool-v0", "--set", "tools.python.session=stateful", "--tool", "python"]
    program = mcp.StdioServerParameters(command=COMMAND[0], args=arguments)
    with Path(os.devnull).open("w") as nowhere:
        async with mcp.Client(mcp.stdio_client(program, errlog=nowhere)) as client:
            assert await text(client, "x = 40") == ""
            assert await text(client, "print(x + 2)") == "42"


def test_what_cannot_be_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="has no tool 'pyton'; did you mean 'python'"):
        Offered("ReTool-v0", tools=("pyton",))
    with pytest.raises(TaskError):
        Offered("ReTool-v0", task="nothing")
    offered = Offered("ReTool-v0")
    with pytest.raises(ConfigError, match=r"listen on 127\.0\.0\.1"):
        serve_http(offered, host="0.0.0.0")
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(MissingExtraError, match=r"toolenvs\[mcp\]"):
        offered.server(lambda _: contextlib.AsyncExitStack())
