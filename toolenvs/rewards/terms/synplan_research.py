"""SynPlanResearch-R1's reward, and the random plan of tools that its cold start puts into the prompt.

Paid once, at the end (arXiv:2603.07853 and its released reward), with F the best F1 over the golds and 0.2 as `format`:

    every turn in the format:      F + 0.2 where F > 0, else 0
    some turn not in the format:   0 where F >= 0.8, else -0.2

A turn is in the format where it holds one `<think>` block, not empty, and behind it one `<tool_call>` block, or one
`<answer>` block in the last turn.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from toolenvs.rewards.moment import Moment
from toolenvs.rewards.qa.published import f1
from toolenvs.schema import at_least
from toolenvs.tasks.seeding import Draws
from toolenvs.tasks.task import Task
from toolenvs.transcript import Author


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "synplan_research"."""

    format: float = 0.2
    """What the format is worth."""
    good: float = 0.8
    """F1 from which on a broken format is not punished."""
    plan: bool = False
    """Whether `{plan}` in the prompt is a plan, for those who write demonstrations; it is empty otherwise."""
    min_steps: int = 3
    """Steps of a plan, at least."""
    max_steps: int = 6
    """Steps of a plan, at most."""
    plan_tools: tuple[str, ...] = ("web_search", "crawl_webpage")
    """What the steps are drawn from; the first step is always the first of them."""
    plan_seed: int = 0
    """Chooses other plans for the same tasks."""
    plan_text: str = "Go about it by these steps, in this order, one call each, and answer after the last: {steps}."
    """How a plan is told."""

    def __post_init__(self) -> None:
        at_least(0, format=self.format, good=self.good)
        at_least(1, min_steps=self.min_steps)
        if self.max_steps < self.min_steps or not self.plan_tools:
            raise ValueError("a plan needs plan_tools, and max_steps of at least min_steps")


class Term:
    """The reward, the outcome included."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.context: Mapping[str, Callable[[Task], str]] = {"plan": self._told}

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn."""
        if moment.verdict is None:
            return 0.0
        score = f1(moment.task.golds, moment.answer) if moment.answer else 0.0
        if well_formed(moment):
            return score + self._options.format if score > 0 else 0.0
        return 0.0 if score >= self._options.good else -self._options.format

    def plan(self, task: Task) -> tuple[str, ...]:
        """The steps that a task's plan has."""
        options = self._options
        draws = Draws("synplan_research", options.plan_seed, task.id)
        steps = draws.between(options.min_steps, options.max_steps)
        tools = options.plan_tools
        return (tools[0], *(tools[draws.below(len(tools))] for _ in range(steps - 1)))

    def _told(self, task: Task) -> str:
        if not self._options.plan:
            return ""
        return self._options.plan_text.replace("{steps}", ", ".join(self.plan(task)))


def well_formed(moment: Moment) -> bool:
    """Whether every turn of the policy keeps the format; what stands behind a first call is not looked at."""
    last = len(moment.said)
    turns = dict.fromkeys(range(1, last + 1), "")
    for segment in moment.transcript.by(Author.POLICY):
        turns[segment.turn] += segment.text
    return bool(turns) and all(_keeps_format(text, final=number == last) for number, text in turns.items())


def _keeps_format(text: str, *, final: bool) -> bool:
    tag = "answer" if final else "tool_call"
    if not final:
        called, closing, _ = text.partition("</tool_call>")
        text = called + closing
    marks = ["<think>", "</think>", f"<{tag}>", f"</{tag}>"]
    places = [text.find(mark) for mark in marks]
    return (
        [text.count(mark) for mark in marks] == [1] * 4
        and places == sorted(places)
        and bool(text[places[0] + len(marks[0]) : places[1]].strip())
    )
