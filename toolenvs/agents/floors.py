"""Agents that understand nothing: what a score is worth is what it is above theirs."""

import re
from dataclasses import replace

from toolenvs.agents.calls import write_call
from toolenvs.blueprint import Blueprint
from toolenvs.rollout.agent import Action, Request
from toolenvs.tasks.seeding import Draws
from toolenvs.tasks.task import Task

_WORD = re.compile(r"\w+")
_GUESSES = {"maths": "0", "sql": "SELECT 1", "retrieval": "", "rewrites": ""}
"""What is answered without knowing anything, by the judge's name; "" for the question itself, as a query."""
_UNKNOWN = "unknown"
_CONTENTS = {"python": "print(1)", "sql": "SELECT 1"}
"""What a tool is called with that wants no question, by its name in the page."""


class NoTool:
    """Answers at once and calls nothing: "0" in maths, "SELECT 1" for a query, else "unknown"; where the answer is what
    to search for, the question itself.

    Args:
        blueprint: the environment, whose protocol it writes in.
    """

    def __init__(self, blueprint: Blueprint) -> None:
        self._blueprint = blueprint

    async def act(self, request: Request) -> Action:
        """The guess."""
        if request.reading:
            return Action(text=request.stop[0])
        guess = _GUESSES.get(str(self._blueprint.page.judge.get("name")), _UNKNOWN)
        return Action(text=write_answer(self._blueprint, request.task, guess or request.task.question))

    def release(self, key: str) -> None:
        """Nothing is kept."""


class Random:
    """At each turn either calls a tool with random words of what it read last, or answers with some, by the throw of a
    coin that the request's seed gives.

    Args:
        blueprint: the environment.
    """

    def __init__(self, blueprint: Blueprint) -> None:
        self._blueprint = blueprint

    async def act(self, request: Request) -> Action:
        """A random turn; equal seeds give equal ones."""
        if request.reading:
            return Action(text=request.stop[0])
        draws = Draws("random agent", request.seed)
        words = _WORD.findall(request.last_result) or _WORD.findall(request.task.question) or [_UNKNOWN]
        first, count = draws.below(len(words)), draws.between(1, 4)
        some = " ".join(words[first : first + count])
        targets = self._blueprint.protocol.targets
        if targets and draws.below(2):
            return Action(text=write_call(self._blueprint, some, target=draws.below(len(targets))))
        return Action(text=write_answer(self._blueprint, request.task, some))

    def release(self, key: str) -> None:
        """Nothing is kept."""


class AlwaysCall:
    """Calls the page's first tool at every turn, and never answers: what budgets allow, and what it costs. A page that
    has nothing to call gets the answers of `NoTool`.

    Args:
        blueprint: the environment.
    """

    def __init__(self, blueprint: Blueprint) -> None:
        self._blueprint = blueprint
        self._answers = NoTool(blueprint)

    async def act(self, request: Request) -> Action:
        """A call."""
        targets = self._blueprint.protocol.targets
        if request.reading or not targets:
            return await self._answers.act(request)
        content = _CONTENTS.get(targets[0][0], request.task.question)
        return Action(text=write_call(self._blueprint, content))

    def release(self, key: str) -> None:
        """Nothing is kept."""


def write_answer(blueprint: Blueprint, task: Task, text: str) -> str:
    """A turn that answers `text` in the form that the page's judge reads; `task` without what only its author knows."""
    solution = getattr(blueprint.judge, "solution", None)
    if solution is not None:
        blind = replace(task, golds=(text,), extra={"queries": (text,)})
        return str(solution(blind))
    boxed = f"\\boxed{{{text}}}" if blueprint.page.judge.get("name") == "maths" else text
    return blueprint.protocol.write_answer(boxed)
