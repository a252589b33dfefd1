"""The page under audit: its tasks, ways to write in its protocol, and episodes that are played to see what they pay."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

from toolenvs import loop
from toolenvs.agents.calls import write_call
from toolenvs.agents.scripted import Oracle
from toolenvs.audit.parrot import Parrot
from toolenvs.blueprint import Blueprint
from toolenvs.episode import Episode, Turn
from toolenvs.errors import TaskError, ToolenvsError
from toolenvs.rollout import Request
from toolenvs.tasks.task import Task
from toolenvs.tools.base import Tool

NONSENSE = "qzxv wkjy"
"""An answer that is right for no task."""
PROGRAM = "import random\nprint(random.random(), hash('x'), {'a', 'b', 'c'})"
"""What a tool is called with where the task does not say: a program, and as good a query as any that finds nothing."""
_LEADS = ("", "<think>\nI have what I need.\n</think>\n", "I have what I need.\n</think>\n")
"""What may have to stand before an answer: a thought, or one that the environment has begun."""
_SEED = 11
_MOST_TURNS = 64
"""Turns that a script gets to solve a task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """An episode as far as it came."""

    episode: Episode
    actions: tuple[str, ...]
    turns: tuple[Turn, ...]
    error: str = ""
    """What was raised, where something was."""
    refused: bool = False
    """Whether that was an error of the package's own tree: told, and not a crash."""

    @property
    def reward(self) -> float:
        """Of all turns."""
        return float(sum(turn.reward for turn in self.turns))

    @property
    def ending(self) -> str | None:
        """None while it runs."""
        return self.episode.ending

    @property
    def solved(self) -> bool:
        """Whether the judge says that it is right, all of it."""
        verdict = self.episode.verdict
        return verdict is not None and (verdict.correct or verdict.value >= 1)

    @property
    def value(self) -> float:
        """The judge's score, or 1 or 0; 0 without a verdict."""
        return 0.0 if self.episode.verdict is None else self.episode.verdict.value

    @property
    def told(self) -> str:
        """What came of it, in words."""
        if self.error:
            return self.error
        faults = [turn.fault for turn in self.turns if turn.fault]
        fault = f", fault {faults[-1]!r}" if faults else ""
        return f"reward {self.reward:g}, success {self.episode.success!r}, ending {self.ending!r}{fault}"


class Subject:
    """A page under audit.

    Args:
        source: what it was loaded from, a page's id or a file; another process loads it again.
        blueprint: the environment.
        overrides: keys of the page that were overridden.
        tasks: how many of its first tasks are tried.
    """

    def __init__(self, source: str, blueprint: Blueprint, overrides: Mapping[str, Any], tasks: int) -> None:
        self.source, self.overrides = source, dict(overrides)
        self.blueprint, self.page, self.protocol = blueprint, blueprint.page, blueprint.protocol
        self.tasks = [blueprint.tasks[index] for index in range(min(tasks, len(blueprint.tasks)))]
        self._solved: dict[str, Played | None] = {}
        self._solution: Callable[[Task], str] | None = getattr(blueprint.judge, "solution", None)
        self._lead, self._form, self._needs_calls = "", "{}", False
        self._calibrate()

    # what is written

    @cached_property
    def blank_prompt(self) -> str:
        """The prompt of a task that asks nothing: what stands in every one. "" where no such prompt can be made."""
        try:
            return self.blueprint.render_prompt(Task(id="none", question=""))
        except ToolenvsError:
            return ""

    @property
    def says_answers(self) -> bool:
        """Whether an answer's text counts; False where only what was done does."""
        return self.protocol.write_answer("a") != self.protocol.write_answer("b")

    def answer(self, task: Task, text: str) -> str:
        """A turn that answers `text` as a right answer would be written."""
        if self._solution is not None:
            stated = {**task.extra, "queries": (text,)} if "queries" in task.extra else task.extra
            return self._solution(replace(task, golds=(text,), extra=stated))
        return self._lead + self.protocol.write_answer(self._form.replace("{}", text))

    def attempt(self, task: Task, text: str) -> list[str]:
        """The turns of an episode that ends with the answer `text`, what a page wants to be called first included."""
        if not self.says_answers:  # what the last call did is the answer
            return [self.call(text), self.protocol.write_answer("")] if self.protocol.targets else [text]
        return [*(self.preamble(task) if self._needs_calls else []), self.answer(task, text)]

    def preamble(self, task: Task) -> list[str]:
        """The calls of the task's own solution; [] where it has none."""
        solved = self.solution(task)
        return [] if solved is None else list(solved.actions[:-1])

    def call(self, content: str) -> str:
        """A turn that calls the page's first tool with `content`.

        Raises:
            LookupError: the page can call nothing.
        """
        return write_call(self.blueprint, content)

    # what is played

    def play(self, task: Task, actions: Sequence[str], *, on: Blueprint | None = None, exact: bool = False) -> Played:
        """Play `actions` until they or the episode end.

        Args:
            task: what the episode is about.
            actions: the policy's turns.
            on: another blueprint than the page's own, as of `with_tools`.
            exact: a turn stands as it is, whatever stop strings are in it: an engine that did not stop.
        """
        episode = Episode(on or self.blueprint, task, seed=_SEED)
        turns: list[Turn] = []
        written: list[str] = []

        async def run() -> None:
            try:
                for action in actions:
                    while episode.reading and episode.ending is None:  # nothing but reading can be done
                        written.append(episode.stop[0])
                        turns.append(await episode.step(written[-1]))
                    if episode.ending is not None:
                        break
                    written.append(action)
                    turns.append(await episode.step(action, exact=exact))
            finally:
                await episode.close()

        error, refused = "", False
        try:
            loop.run(run())
        except Exception as wrong:  # whatever a judge or a tool of somebody's raises is what came of it
            error, refused = f"{type(wrong).__name__}: {wrong}", isinstance(wrong, ToolenvsError)
        return Played(episode=episode, actions=tuple(written), turns=tuple(turns), error=error, refused=refused)

    def with_tools(self, says: Callable[[Mapping[str, Any]], str]) -> tuple[Blueprint, Callable[[], int]]:
        """The page with parrots for tools, and what tells how often they were called."""
        changed = copy.copy(self.blueprint)
        parrots = {key: Parrot(tool, says) for key, tool in self.blueprint.tools.items()}
        changed.tools = cast("dict[str, Tool]", dict(parrots))  # whose name is each one's own, and not of the class
        return changed, lambda: sum(parrot.calls for parrot in parrots.values())

    def solution(self, task: Task) -> Played | None:
        """What the task's own solution comes to; None where it carries none that can be played."""
        if task.id not in self._solved:
            self._solved[task.id] = self._solve(task)
        return self._solved[task.id]

    def best(self, task: Task) -> Played | None:
        """The best of the task's own solution and its gold, with and without the solution's calls; None for neither."""
        tries = [solved] if (solved := self.solution(task)) is not None else []
        if task.golds:
            tries.append(self.play(task, self.attempt(task, right(task))))
            if self.says_answers and solved is not None:
                tries.append(self.play(task, [*self.preamble(task), self.answer(task, right(task))]))
        return max(tries, key=lambda played: (played.solved, played.reward), default=None)

    def _solve(self, task: Task) -> Played | None:
        oracle, episode = Oracle(self.blueprint), Episode(self.blueprint, task, seed=_SEED)
        turns: list[Turn] = []
        actions: list[str] = []

        async def run() -> None:
            result, calls = "", 0
            try:
                while episode.ending is None and len(turns) < _MOST_TURNS:
                    action = await oracle.act(_request(episode, result, calls))
                    turns.append(await episode.step(action.text))
                    actions.append(action.text)
                    calls += len(turns[-1].calls)
                    result = turns[-1].calls[-1].result if turns[-1].calls else result
            finally:
                await episode.close()

        try:
            loop.run(run())
        except (TaskError, LookupError):  # it carries none
            return None
        except Exception as wrong:
            told = f"{type(wrong).__name__}: {wrong}"
            return Played(episode=episode, actions=tuple(actions), turns=tuple(turns), error=told)
        return Played(episode=episode, actions=tuple(actions), turns=tuple(turns))

    def _calibrate(self) -> None:
        """Find how an answer is written so that it counts and earns most, and whether calls must come before it."""
        prompt = self.page.prompt.system + self.page.prompt.user
        forms = ("\\boxed{{}}", "{}") if "boxed" in prompt else ("{}", "\\boxed{{}}")
        ways = [(lead, form, calls) for calls in (False, True) for form in forms for lead in _LEADS]
        task = next((task for task in self.tasks if task.golds), None)
        best, chosen = (False, 0.0), ("", forms[0], False)
        for way in ways if task is not None else ():
            assert task is not None
            self._lead, self._form, self._needs_calls = way
            played = self.play(task, self.attempt(task, right(task)))
            if played.solved and (played.solved, played.reward) > best:
                if best[0] and way[2]:  # without calls it is right as well
                    break
                best, chosen = (True, played.reward), way
        self._lead, self._form, self._needs_calls = chosen


def right(task: Task) -> str:
    """What is to be answered: the gold, or what a task asks for in its place."""
    queries = task.extra.get("queries") if "relevant" in task.extra else None
    return str(task.extra.get("proposal") or (queries[-1] if queries else task.gold))


def always(text: str) -> Callable[[Mapping[str, Any]], str]:
    """What a parrot says that says `text` whatever it is asked."""
    return lambda arguments: text


def _request(episode: Episode, result: str, calls: int) -> Request:
    return Request(
        key="audit",
        task=episode.task,
        turn=episode.meter.turns + 1,
        text=episode.transcript.text,
        messages=episode.messages,
        last_result=result,
        calls=calls,
        reading=episode.reading,
        ids=None,
        stop=episode.stop,
        max_new_tokens=episode.meter.tokens_left(),
        seed=episode.seed,
    )
