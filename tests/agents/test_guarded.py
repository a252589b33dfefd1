"""Whose fault it is: every kind of misbehaviour, in an episode."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

import toolenvs
from toolenvs.agents.callable import FromCallable
from toolenvs.agents.guarded import MAX_TURN_CHARS, Guarded
from toolenvs.errors import ConfigError, EngineError, SandboxError, TaskError
from toolenvs.rollout import Action, Trajectory, collect, run_episode

RIGHT = "\\boxed{%s}"


async def _play(function: Callable[..., Any], *, timeout_s: float | None = 60.0) -> Trajectory:
    blueprint = toolenvs.load("ReTool-v0")
    agent = Guarded(FromCallable(function, blueprint), timeout_s=timeout_s)
    (trajectory,) = await collect(blueprint, agent, [blueprint.tasks[0]], retries=0)
    return trajectory


def _raises(error: BaseException) -> Callable[[str], str]:
    def act(text: str) -> str:
        raise error

    return act


@pytest.mark.parametrize(
    ("function", "fault"),
    [
        (_raises(KeyError("x")), "it raised KeyError: 'x' (test_guarded.py, line"),
        (_raises(StopIteration()), "it raised RuntimeError: StopIteration"),
        (_raises(SystemExit(3)), "it raised RuntimeError: SystemExit: 3"),
        (_raises(RecursionError("deep")), "it raised RecursionError: deep"),
        (_raises(MemoryError()), "it raised MemoryError"),
        (lambda text: None, "it gave NoneType, not a str"),
        (lambda text: b"bytes", "it gave bytes, not a str"),
        (lambda text: Action(text="x"), "it gave Action, not a str"),
        (lambda text: "x" * (MAX_TURN_CHARS + 1), "it wrote 1,048,577 characters in one turn"),
    ],
)
async def test_the_agents_own_failures(function: Callable[..., Any], fault: str) -> None:
    trajectory = await _play(function)
    assert (trajectory.ending, trajectory.success, trajectory.failed) == ("agent", 0.0, False)
    assert trajectory.fault is not None
    assert trajectory.fault.startswith(fault)


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        (EngineError("the model is away"), "the model is away"),
        (SandboxError("gone"), "gone"),
        (ConnectionResetError("by peer"), "the agent raised ConnectionResetError: by peer"),
        (TimeoutError("read"), "the agent raised TimeoutError: read"),
    ],
)
async def test_what_is_not_its_fault_is_infrastructure(error: Exception, fault: str) -> None:
    trajectory = await _play(_raises(error))
    assert (trajectory.ending, trajectory.success) == ("infrastructure", None)
    assert trajectory.fault is not None
    assert trajectory.fault.startswith(fault)


async def test_a_wrong_set_up_is_raised_on() -> None:
    with pytest.raises(ExceptionGroup) as raised:
        await _play(_raises(TaskError("carries no solution")))
    assert isinstance(raised.value.exceptions[0], TaskError)


async def test_functions_that_hang() -> None:
    release = threading.Event()

    def hangs(text: str) -> str:
        release.wait()
        return "late"

    async def sleeps(text: str) -> str:
        await asyncio.Event().wait()
        return "never"

    for function in (hangs, sleeps):
        trajectory = await _play(function, timeout_s=0.05)
        assert (trajectory.ending, trajectory.fault) == ("agent", "it gave no turn within 0.05 s")
    release.set()
    for thread in threading.enumerate():
        if thread.name == "toolenvs-agent":
            thread.join()


async def test_asynchronous_functions_fail_in_the_same_ways() -> None:
    async def cancels(text: str) -> str:
        raise asyncio.CancelledError

    async def exits(text: str) -> str:
        raise SystemExit("bye")

    async def refused(text: str) -> str:
        raise ConnectionRefusedError

    assert (await _play(cancels)).fault == "it cancelled itself"
    assert ((await _play(exits)).fault or "").startswith("it raised SystemExit: bye")
    assert (await _play(refused)).ending == "infrastructure"


async def test_an_evaluation_that_is_given_up_is_no_failure_of_the_agent() -> None:
    asked = asyncio.Event()

    async def waits(text: str) -> str:
        asked.set()
        await asyncio.Event().wait()
        return ""

    job = asyncio.ensure_future(_play(waits))
    await asked.wait()
    job.cancel()
    with pytest.raises(asyncio.CancelledError):
        await job


async def test_an_agents_failure_is_not_tried_again_and_what_it_did_before_stands() -> None:
    blueprint = toolenvs.load("ReTool-v0")
    asked: list[int] = []

    def act(text: str, info: dict[str, Any]) -> str:
        asked.append(info["turn"])
        if info["turn"] == 2:
            raise ValueError("no idea")
        return "<code>\n```python\nprint(6 * 7)\n```\n</code>"

    agent = Guarded(FromCallable(act, blueprint), timeout_s=60)
    (trajectory,) = await collect(blueprint, agent, [blueprint.tasks[0]], retries=3)
    assert asked == [1, 2]
    assert (trajectory.ending, trajectory.calls[0].result, len(trajectory.agent_seconds)) == ("agent", "42", 1)
    assert Trajectory.from_json(trajectory.to_json()) == trajectory


async def test_what_an_object_gives_is_checked() -> None:
    class Object:
        def __init__(self, gives: Any) -> None:
            self.gives = gives

        async def act(self, request: Any) -> Any:
            return self.gives

        def release(self, key: str) -> None: ...

    blueprint = toolenvs.load("ReTool-v0")
    for gives, fault in (("text", "it gave str, not an Action"), (Action(text=7), "it gave int, not a str")):  # type: ignore[arg-type]
        trajectory = await run_episode(blueprint, Guarded(Object(gives)), blueprint.tasks[0])
        assert (trajectory.ending, trajectory.fault) == ("agent", fault)


async def test_what_a_function_is_given() -> None:
    blueprint = toolenvs.load("ReTool-v0")
    task = blueprint.tasks[0]
    seen: dict[str, Any] = {}

    def by_text(text: str, info: dict[str, Any]) -> str:
        seen["text"], seen["info"] = text, info
        return RIGHT % task.gold

    async def by_messages(messages: list[dict[str, str]]) -> str:
        seen["messages"] = messages
        return RIGHT % task.gold

    def by_request(request: Any) -> str:
        return RIGHT % request.task.gold

    class Whole:
        async def __call__(self, prompt: str, told: dict[str, Any]) -> str:
            seen["called"] = prompt
            return RIGHT % task.gold

    def plus(text: str, info: dict[str, Any], more: int = 3, *rest: Any, **named: Any) -> str:
        return RIGHT % task.gold

    for function in (by_text, by_messages, by_request, Whole(), plus):
        assert (await _play(function)).success == 1
    assert seen["text"] == seen["called"] == blueprint.render_prompt(task)
    assert seen["messages"][-1]["role"] == "user"
    info = seen["info"]
    assert (info["env"], info["task"], info["turn"], info["stop"]) == ("ReTool-v0", task.id, 1, ["</code>"])
    assert [tool["name"] for tool in info["tools"]] == [tool.name for tool in blueprint.tools.values()]
    assert task.gold not in {str(value) for value in info.values()}


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (7, "is int; an agent is"),
        (lambda: "x", "cannot be called with text and info, ()"),
        (lambda a, b, c: "x", "cannot be called with a and info, (a, b, c)"),
        (lambda request, context: "x", "cannot be called with request and info, (request, context)"),
        (lambda text, *, needed: "x", "cannot be called with text and info"),
    ],
)
def test_what_is_no_agent(function: Any, told: str) -> None:
    with pytest.raises(ConfigError, match="the agent") as raised:
        FromCallable(function, toolenvs.load("ReTool-v0"))
    assert told in str(raised.value)


async def test_plain_functions_run_side_by_side() -> None:
    """Each waits for the other, which one thread could not give them."""
    blueprint = toolenvs.load("ReTool-v0")
    both = threading.Barrier(2, timeout=60)

    def act(text: str) -> str:
        both.wait()
        return RIGHT % 1

    tasks = [blueprint.tasks[0], blueprint.tasks[1]]
    agent = Guarded(FromCallable(act, blueprint), timeout_s=60)
    assert [t.ending for t in await collect(blueprint, agent, tasks)] == ["answer", "answer"]
