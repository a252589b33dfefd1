"""Agents that follow a script: recorded actions, a function, or the program that a generated task carries."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolenvs.blueprint import Blueprint
from toolenvs.errors import ConfigError, TaskError
from toolenvs.protocols.base import Call
from toolenvs.rollout.agent import Action, Request


class Scripted:
    """Writes the same actions in every episode, one a turn; the last one again when they run out.

    Args:
        actions: what to write.

    Raises:
        ConfigError: there are none.
    """

    def __init__(self, actions: Sequence[str]) -> None:
        self._actions = list(actions)
        if not self._actions:
            raise ConfigError("a script of no actions: give at least one")

    async def act(self, request: Request) -> Action:
        """The action of this turn."""
        return Action(text=self._actions[min(request.turn, len(self._actions)) - 1])

    def release(self, key: str) -> None:
        """Nothing is kept."""


class FromFunction:
    """Writes what a function makes of each request.

    Args:
        function: from a request to the policy's text.
    """

    def __init__(self, function: Callable[[Request], str]) -> None:
        self._function = function

    async def act(self, request: Request) -> Action:
        """The function's text."""
        return Action(text=self._function(request))

    def release(self, key: str) -> None:
        """Nothing is kept."""


class Oracle:
    """Solves generated tasks by the program, queries or calls that each of them carries: the most that a tool can give.

    Args:
        blueprint: the environment, whose protocol it writes in.
    """

    def __init__(self, blueprint: Blueprint) -> None:
        self._protocol = blueprint.protocol
        self._tools = blueprint.tools
        self._solution = getattr(blueprint.judge, "solution", None)  # of judges that want something else than a gold

    async def act(self, request: Request) -> Action:
        """The task's program first, then what it printed; or its queries, or calls, in turn, then the gold that they
        led to.

        Raises:
            TaskError: the task carries none of them.
        """
        if request.reading:
            return Action(text=request.stop[0])
        task = request.task
        program, queries = task.extra.get("program"), task.extra.get("calls", task.extra.get("queries"))
        if isinstance(program, str):
            if request.turn == 1:
                return Action(text=self._call(program))
            return Action(text=self._protocol.write_answer(f"\\boxed{{{request.last_result.strip()}}}"))
        if not isinstance(queries, Sequence):
            raise TaskError(
                f"task {task.id!r} carries no extra['program'], extra['queries'] or extra['calls']: "
                "the oracle needs one of them"
            )
        if self._solution is not None and request.calls >= len(queries if self._protocol.targets else ()):
            return Action(text=self._solution(task))
        if not self._protocol.targets:  # nothing can be called
            return Action(text=self._protocol.write_answer(task.gold))
        if request.calls < len(queries):
            return Action(text=self._call(queries[request.calls]))
        found = not queries or task.gold in request.last_result
        answer = task.extra.get("proposal", task.gold)  # a question, where the gold is what one is written for
        return Action(text=self._protocol.write_answer(answer if found else "unknown"))

    def _call(self, content: str | Mapping[str, Any]) -> str:
        tool, argument = self._protocol.targets[0]
        if isinstance(content, Mapping):
            return self._protocol.write_call(Call(tool, content))
        argument = argument or next(iter(self._tools[tool].parameters["properties"]))  # where the policy names it
        return self._protocol.write_call(Call(tool, {argument: content}))

    def release(self, key: str) -> None:
        """Nothing is kept."""
