"""Tools of servers that were made with the official SDK, on standard streams and over HTTP."""

import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import toolenvs
from toolenvs.agents.scripted import Scripted
from toolenvs.env import ToolEnv
from toolenvs.errors import ConfigError, ForkError, InfrastructureError, MissingExtraError, PageError, ToolError
from toolenvs.rollout import run_episode
from toolenvs.tasks.task import Task
from toolenvs.tools._mcp_session import _host
from toolenvs.tools.mcp import Options, Tool

PROGRAM = (sys.executable, str(Path(__file__).with_name("mcp_program.py")))
TASK = Task(id="t", question="q", golds=("1",))
PAGE = """
summary = "Notes"
[paper]
title = "None"
url = "https://modelcontextprotocol.io"
[prompt]
user = "{question}"
[protocol]
kind = "tool_calls"
malformed = "remind"
names = { notes = "mcp" }
[tools.mcp]
command = COMMAND
[budget]
max_turns = 8
max_observation_chars = 200
[judge]
name = "maths"
reads = "policy"
accepts = "boxed"
[[reward]]
term = "outcome"
[tasks]
set = "arithmetic"
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("pages") / "Notes-v0.toml"
    file.write_text(PAGE.replace("COMMAND", json.dumps(PROGRAM)), "utf-8")
    return file


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The same server over HTTP."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with subprocess.Popen([*PROGRAM, str(port)], stderr=subprocess.DEVNULL) as process:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError:
                assert process.poll() is None
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}/mcp"
        process.terminate()


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": name, "arguments": arguments}


def a_turn(name: str, **arguments: Any) -> str:
    written = json.dumps({"name": "notes", "arguments": call(name, **arguments)})
    return f"<tool_call>\n{written}\n</tool_call><|im_end|>"


def children() -> set[int]:
    """Processes of this one that run the program."""
    found = set()
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(OSError):  # a thread that has just ended
            found |= {int(child) for child in Path(f"/proc/self/task/{task}/children").read_text().split()}
    return {child for child in found if _runs_the_program(child)}


def _runs_the_program(pid: int) -> bool:
    try:
        return b"mcp_program" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has just ended
        return False


@pytest.fixture(scope="module")
def tool() -> Tool:
    return Tool(Options(command=PROGRAM, timeout_s=20.0, result_chars=1000))


def test_the_schema_is_the_servers(tool: Tool) -> None:
    assert (tool.name, "divide: Divides a number by another." in tool.description) == ("mcp", True)
    parameters = tool.parameters
    assert parameters["properties"]["tool"]["enum"][:3] == ["add", "table", "divide"]
    (divide,) = [each for each in parameters["oneOf"] if each["properties"]["tool"]["const"] == "divide"]
    assert divide["properties"]["arguments"]["required"] == ["a", "b"]
    one = Tool(Options(command=PROGRAM, tools=("divide",)))
    assert (one.name, one.description) == ("divide", "Divides a number by another.")
    assert set(one.parameters["properties"]) == {"a", "b"}


async def test_results_and_errors(tool: Tool) -> None:
    session = await tool.open(TASK, seed=0, progress=0.0)
    assert (await session.call(call("divide", a=7, b=2))).text == "3"
    assert (await session.call(call("add", text="é漢😀"))).text == "1 notes"
    table = await session.call(call("table"))
    assert json.loads(table.text) == {"notes": ["é漢😀"]}
    assert table.data["structured"] == {"notes": ["é漢😀"]}
    assert (await session.call(call("picture"))).text == "[image/png without text]"
    assert len((await session.call(call("long", size=5000))).text) == 1000
    for wrong, told in (
        (call("divide", a=1, b=0), "by zero"),
        (call("divide", a="x", b=1), "a"),
        (call("divide"), "required"),
        (call("nothing"), "must be one of add, table"),
        ({"tool": 3}, "must be one of"),
        ({}, "must be one of"),
        ({"tool": "divide", "arguments": [1]}, "must be an object"),
    ):
        with pytest.raises(ToolError, match=told):
            await session.call(wrong)
    assert (await session.call(call("add", text="b"))).text == "2 notes"  # it is the same process still
    await session.close()
    await session.close()


@pytest.mark.heavy
async def test_each_episode_has_a_process_and_none_is_left(tool: Tool) -> None:
    before = children()
    sessions = [await tool.open(TASK, seed=0, progress=0.0) for _ in range(2)]
    assert children() == before  # touched by the first call
    for session in sessions:
        assert (await session.call(call("add", text="a"))).text == "1 notes"
    assert len(children() - before) == 2
    for session in sessions:
        await session.close()
    assert children() == before


async def test_a_slow_call_is_told_and_a_dead_server_is_infrastructure() -> None:
    slow = Tool(Options(command=PROGRAM, timeout_s=0.3))
    session = await slow.open(TASK, seed=0, progress=0.0)
    told = await session.call(call("wait", seconds=60))
    assert (told.text, told.status) == ("TimeoutError: the tool took longer than 0.3 s", "timeout")
    for _ in range(2):
        with pytest.raises(InfrastructureError, match="does not answer"):
            await session.call(call("die"))
    await session.close()
    with pytest.raises(InfrastructureError, match="is closed"):
        await session.call(call("table"))


@pytest.mark.parametrize(
    "options",
    [
        Options(command=("/no/such/program",)),
        Options(command=(sys.executable, "-c", "print('hello')")),
        Options(command=(sys.executable, "-c", "import time; time.sleep(60)"), start_s=0.5),
        Options(url="http://127.0.0.1:9/mcp", start_s=2.0),
    ],
    ids=["nothing", "no server", "silent", "nobody"],
)
async def test_what_is_no_server_is_infrastructure(options: Options) -> None:
    with pytest.raises(InfrastructureError, match="does not answer"):
        await Tool(options).check()


async def test_a_forked_child_does_not_use_its_parents_session(monkeypatch: pytest.MonkeyPatch) -> None:
    tool = Tool(Options(command=PROGRAM, state="none"))
    mine = await tool.open(TASK, seed=0, progress=0.0)
    pid = os.getpid()
    monkeypatch.setattr(os, "getpid", lambda: pid + 1)
    with pytest.raises(InfrastructureError, match="the parent process's"):
        await mine.call(call("table"))
    assert (await tool.open(TASK, seed=0, progress=0.0))._session is not mine._session


@pytest.mark.heavy
async def test_forks() -> None:
    kept = await Tool(Options(command=PROGRAM)).open(TASK, seed=0, progress=0.0)
    with pytest.raises(ForkError, match="cannot copy its session"):
        await kept.fork()
    refused = await Tool(Options(command=PROGRAM, on_fork="refuse")).open(TASK, seed=0, progress=0.0)
    with pytest.raises(InfrastructureError, match="forbids to run its calls again"):
        await refused.fork()
    stateless = Tool(Options(command=PROGRAM, state="none"))
    one, other = [await stateless.open(TASK, seed=0, progress=0.0) for _ in range(2)]
    assert await one.fork() is one
    assert (await one.call(call("add", text="a"))).text == "1 notes"
    assert (await other.call(call("add", text="a"))).text == "2 notes"  # it is one server for all
    await one.close()
    await stateless.close()


@pytest.mark.heavy
async def test_many_episodes_begin_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_host(), "opening", asyncio.Semaphore(2))
    tool = Tool(Options(command=PROGRAM))
    sessions = [await tool.open(TASK, seed=0, progress=0.0) for _ in range(5)]
    told = await asyncio.gather(*(session.call(call("add", text="a")) for session in sessions))
    assert [result.text for result in told] == ["1 notes"] * 5
    await asyncio.gather(*(session.close() for session in sessions))


@pytest.mark.heavy
async def test_over_http_each_episode_has_a_session(url: str) -> None:
    tool = Tool(Options(url=url))
    sessions = [await tool.open(TASK, seed=0, progress=0.0) for _ in range(2)]
    for session in sessions:
        assert (await session.call(call("divide", a=7, b=2))).text == "3"
        with pytest.raises(ToolError, match="by zero"):
            await session.call(call("divide", a=7, b=0))
        await session.close()


@pytest.mark.heavy
async def test_the_program_sees_the_variables_that_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIVEN_TO_IT", "yes")
    monkeypatch.setenv("KEPT_FROM_IT", "no")
    session = await Tool(Options(command=PROGRAM, environment=("GIVEN_TO_IT", "NOT_SET"))).open(
        TASK, seed=0, progress=0
    )
    assert (await session.call(call("secret"))).text == "yes None"
    await session.close()


def test_in_a_page_of_its_own(page: Path) -> None:
    before = children()
    env = ToolEnv(str(page))
    text, _ = env.reset(seed=0)
    assert '"const": "divide"' in text
    told, *_, info = env.step(a_turn("divide", a=7, b=2))
    assert "\n3\n" in told
    told, *_, info = env.step(a_turn("forge"))
    assert told.count("</tool_response>") == 1  # what the page wrote is neutralised
    assert "assistant\nforged" in info["calls"][0].result
    assert info["calls"][0].status == "ok"
    told, *_, info = env.step(a_turn("long", size=5000))
    assert len(info["calls"][0].result) <= 203
    told, *_, info = env.step(a_turn("divide", a=7, b=0))
    assert (info["calls"][0].status, info["ending"]) == ("error", None)
    env.step(a_turn("add", text="a"))
    with pytest.warns(UserWarning, match="mcp cannot be copied"):
        (copy,) = env.fork()
    for each in (env, copy):
        assert "2 notes" in each.step(a_turn("add", text="b"))[0]
    *_, info = copy.step(a_turn("die"))
    assert (info["ending"], info["success"]) == ("infrastructure", None)
    assert "does not answer" in info["fault"]
    copy.close()
    env.close()
    assert children() == before


@pytest.mark.heavy
async def test_rollouts(page: Path) -> None:
    blueprint = toolenvs.load(str(page))
    agent = Scripted([a_turn("add", text="a"), "\\boxed{1}<|im_end|>"])
    for _ in range(2):
        trajectory = await run_episode(blueprint, agent, blueprint.tasks[0])
        assert [record.result for record in trajectory.calls] == ["1 notes"]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "say either command"),
        ({"command": ("a",), "url": "http://x"}, "say either command"),
        ({"url": "x"}, "is no address"),
        ({"command": ("a",), "timeout_s": 0.0}, "out of range"),
    ],
)
def test_wrong_options(options: dict[str, Any], told: str, page: Path) -> None:
    with pytest.raises(ValueError, match=told):
        Options(**options)


def test_wrong_names(page: Path) -> None:
    with pytest.raises(ConfigError, match="no tool 'divid'; did you mean 'divide'"):
        toolenvs.load(str(page), **{"tools.mcp.tools": ["divid"]})
    with pytest.raises(PageError, match="say either command"):
        toolenvs.load(str(page), **{"tools.mcp.command": []})


def test_a_missing_sdk_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(MissingExtraError, match=r"toolenvs\[mcp\]"):
        _ = Tool(Options(command=(*PROGRAM, "another"))).parameters
