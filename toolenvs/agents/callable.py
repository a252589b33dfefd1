"""Functions as agents:

    def agent(text, info): return "..."           # text: all that the policy reads; returned: what it writes this turn
    def agent(messages, info): return "..."       # a first parameter of that name gets the same as chat messages
    async def agent(messages, info): return "..." # on the event loop; a plain function gets a thread for each turn
    def agent(request): return "..."              # a `toolenvs.rollout.Request`, gold answers included: for scripts
    # info: episode, env, task, turn, stop, tools, last_result, reading, max_new_tokens, seed; it may be left out

Plain functions are called from several threads at once, as many as episodes run. A thread cannot be killed: one that
hangs is left behind, and its episode ends. Where an agent may hang for good, make it a command (`agents.command`).
"""

import asyncio
import contextlib
import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolenvs.agents.guarded import checked_text
from toolenvs.blueprint import Blueprint
from toolenvs.errors import ConfigError
from toolenvs.rollout.agent import Action, Request

WANTED = (
    "an agent is a function (text, info) or (messages, info) that returns a str, or an object with act() and release()"
)


def describe(blueprint: Blueprint, request: Request) -> dict[str, Any]:
    """What an agent is told beside the text: plain values, and no gold."""
    return {
        "episode": request.key,
        "env": blueprint.page.id,
        "task": request.task.id,
        "turn": request.turn,
        "stop": list(request.stop),
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": _plain(tool.parameters)}
            for tool in blueprint.tools.values()
        ],
        "last_result": request.last_result,
        "reading": request.reading,
        "max_new_tokens": request.max_new_tokens,
        "seed": request.seed,
    }


class FromCallable:
    """An agent of a function.

    Args:
        function: see the module.
        blueprint: the environment it is to act in.
        name: what to call it in messages.

    Raises:
        ConfigError: it cannot be called so.
    """

    def __init__(self, function: Callable[..., Any], blueprint: Blueprint, *, name: str = "the agent") -> None:
        self._function = function
        self._blueprint = blueprint
        self._first, self._informed = _read_signature(function, name)
        call = getattr(function, "__call__", None)  # noqa: B004 - of an object, whose own may be asynchronous
        self._is_async = inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)

    @staticmethod
    def check(function: Any, name: str) -> None:
        """Whether it can be called as an agent.

        Raises:
            ConfigError: it cannot.
        """
        _read_signature(function, name)

    async def act(self, request: Request) -> Action:
        """What the function returns.

        Raises:
            AgentError: it is no text.
        """
        given: Any = {"request": request, "messages": request.messages}.get(self._first, request.text)
        arguments = [given, describe(self._blueprint, request)] if self._informed else [given]
        if self._is_async:
            return Action(text=checked_text(await self._function(*arguments)))
        return Action(text=checked_text(await _in_thread(self._function, arguments)))

    def release(self, key: str) -> None:
        """Nothing is kept."""


def _read_signature(function: Any, name: str) -> tuple[str, bool]:
    """The name of the first parameter, and whether there is a second one.

    Raises:
        ConfigError: the function takes neither one nor two.
    """
    if not callable(function):
        raise ConfigError(f"{name} is {type(function).__name__}; {WANTED}")
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError):  # some builtins tell none
        return "text", False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = [parameter.name for parameter in signature.parameters.values() if parameter.kind in kinds]
    first = positional[0] if positional else "text"
    for count in (1,) if first == "request" else (2, 1):
        try:
            signature.bind(*[None] * count)
        except TypeError:
            continue
        return first, count == 2
    raise ConfigError(f"{name} cannot be called with {first} and info, {signature}; {WANTED}")


async def _in_thread(function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """What `function` returns in a thread of its own, which does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        if future.done():  # nobody waits any more
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def run() -> None:
        result: Any = None
        failed: BaseException | None = None
        try:
            result = function(*arguments)
        except StopIteration as error:  # a future takes none
            failed = RuntimeError("StopIteration")
            failed.__cause__ = error
        except BaseException as error:
            failed = error if isinstance(error, Exception) else RuntimeError(f"{type(error).__name__}: {error}")
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(settle, result, failed)

    threading.Thread(target=run, name="toolenvs-agent", daemon=True).start()
    return await future


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value
