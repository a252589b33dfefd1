"""What the interpreter tool shows of each kind of result."""

import asyncio
from typing import Any

import pytest

import toolenvs
from toolenvs.errors import ToolError
from toolenvs.tasks.task import Task
from toolenvs.tools.python import Options, Tool

TASK = Task(id="t", question="q")


async def _call(code: str, **options: Any) -> Any:
    session = await Tool(Options(**options)).open(TASK, seed=0, progress=0.0)
    try:
        return await session.call({"code": code})
    finally:
        await session.close()


@pytest.mark.parametrize(
    ("code", "options", "text", "status"),
    [
        ("print(6 * 7)", {}, "42", "ok"),
        ("print(' 42 ')", {"strip": False}, " 42 \n", "ok"),
        ("x = 1", {"empty": "nothing"}, "nothing", "ok"),
        ("6 * 7", {}, "", "ok"),
        ("6 * 7", {"echo": True}, "42", "ok"),
        ("print(1)\n6 * 7", {"echo": True}, "1", "ok"),
        ("print(1)\n1 / 0", {}, "ZeroDivisionError: division by zero", "error"),
        ("import sys\nprint('o')\nprint('e', file=sys.stderr)", {}, "o", "ok"),
        ("while True: pass", {"timeout_s": 0.3, "on_timeout": "after {timeout_s} s"}, "after 0.3 s", "timeout"),
    ],
)
@pytest.mark.parametrize("session", ["stateless", "stateful"])
async def test_shown(code: str, options: dict[str, Any], text: str, status: str, session: Any) -> None:
    result = await _call(code, session=session, **options)
    assert (result.text, result.status) == (text, status)


async def test_tracebacks_are_shown_where_the_page_says_so() -> None:
    result = await _call("print(1)\n1 / 0", on_error="traceback")
    assert result.text.startswith("Traceback")
    assert result.text.endswith("ZeroDivisionError: division by zero")
    both = await _call("print(1)\n1 / 0", on_error="output_and_traceback", shows="stdout_and_stderr")
    assert both.text.startswith("1\nTraceback")


@pytest.mark.parametrize("arguments", [{}, {"code": None}, {"code": 3}, {"cod": "print(1)"}])
async def test_wrong_arguments_are_told_to_the_model(arguments: dict[str, Any]) -> None:
    session = await Tool(Options()).open(TASK, seed=0, progress=0.0)
    with pytest.raises(ToolError, match="'code' must be a string"):
        await session.call(arguments)


async def test_state_lasts_and_forks() -> None:
    session = await Tool(Options(session="stateful")).open(TASK, seed=0, progress=0.0)
    await session.call({"code": "x = 40"})
    fork = await session.fork()
    await session.call({"code": "x += 1"})
    await fork.call({"code": "x += 2"})
    assert (await session.call({"code": "print(x)"})).text == "41"
    assert (await fork.call({"code": "print(x)"})).text == "42"
    for one in (session, fork):
        await one.close()
        await one.close()


async def test_after_a_crash_the_interpreter_is_fresh() -> None:
    session = await Tool(Options(session="stateful")).open(TASK, seed=0, progress=0.0)
    await session.call({"code": "x = 40"})
    assert (await session.call({"code": "import os; os._exit(3)"})).status == "crashed"
    assert "NameError" in (await session.call({"code": "print(x)"})).text
    await session.close()


async def test_the_same_seed_gives_the_same_random_numbers() -> None:
    texts = [(await _call("import random; print(random.random())")).text for _ in range(2)]
    assert texts[0] == texts[1]


def test_the_schema_reaches_a_model_that_chooses_functions() -> None:
    blueprint = toolenvs.load("ReToolChat-v0")
    prompt = blueprint.render_prompt(TASK)
    assert '"name": "code_interpreter"' in prompt
    assert "The Python program to run." in prompt


LOST = "[The interpreter was restarted: what earlier calls defined is gone.]"


async def test_a_lost_state_is_told_once() -> None:
    session = await Tool(Options(session="stateful", timeout_s=0.5)).open(TASK, seed=0, progress=0.0)
    await session.call({"code": "x = 40"})
    assert (await session.call({"code": "while True: pass"})).text.startswith("TimeoutError")
    assert (await session.call({"code": "print(x)"})).text == "40"
    stubborn = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass"
    text = (await session.call({"code": stubborn})).text
    assert text == f"TimeoutError: the program ran longer than 0.5 s\n{LOST}"
    assert (await session.call({"code": "print(x)"})).text == "NameError: name 'x' is not defined"
    assert (await session.call({"code": "import os; os._exit(3)"})).text.endswith("\n" + LOST)
    await session.call({"code": "y = 1"})
    assert (await session.call({"code": "b = bytearray(2 << 30)"})).status == "memory"
    assert (await session.call({"code": "print(y)"})).text == "1"
    await session.close()


async def test_after_a_cancelled_call_the_next_observation_tells_that_the_state_is_lost() -> None:
    session = await Tool(Options(session="stateful")).open(TASK, seed=0, progress=0.0)
    await session.call({"code": "x = 40"})
    call = asyncio.create_task(session.call({"code": "import time; time.sleep(60)"}))
    await asyncio.sleep(0.2)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    fork = await session.fork()
    for one in (session, fork):
        assert (await one.call({"code": "print(5)"})).text == f"5\n{LOST}"
        assert (await one.call({"code": "print(6)"})).text == "6"
        await one.close()
