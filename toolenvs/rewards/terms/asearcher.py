"""ASearcher's reward: the answer's F1, if every turn keeps the format; less for calling a question invalid unasked.

Paid once, at the end (arXiv:2508.07976 and its released workflow):

    s = F1, and with an augmented answer (the task's `aug_answer`) 0.7 F1 + 0.3 max(F1, F1 of that one)
    times 1 where each turn opens and closes <search>, <access> and <answer> equally often, opens at most one of them,
    closes at most one <think>, and does not hold "Assistant" or "assistant"; else times 0
    but -0.5 where a best guess was asked for and the answer says that the question is invalid

The prompt tells what to do about a question that is not valid: where it holds `{on_invalid}`, a share of the tasks is
asked for a best guess instead.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from toolenvs.rewards.moment import Moment
from toolenvs.rewards.qa.published import METRICS
from toolenvs.schema import at_least
from toolenvs.tasks.seeding import Draws
from toolenvs.tasks.task import Task
from toolenvs.transcript import Author

_TAGS = ("search", "access", "answer")
_DRAWS = 1 << 53


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "asearcher"."""

    metric: Literal["f1", "em"] = "f1"
    """How an answer is compared with the golds."""
    guess_share: float = 0.3
    """Share of the tasks that are asked for a best guess; the same tasks in every run."""
    claims: tuple[str, ...] = ("question", "invalid", "appropriate", "valid")
    """An answer that holds one of these says that the question is invalid. They are the released code's, where an
    answer that only happens to hold one is punished too."""
    penalty: float = 0.5
    """What that costs where a best guess was asked for."""
    invalid: str = "If the question cannot be answered because it is not valid, write that it is an invalid question."
    """What the prompt says otherwise."""
    guess: str = "If you are not sure of the answer, write your best guess."
    """What it says where a best guess is asked for."""

    def __post_init__(self) -> None:
        at_least(0, guess_share=self.guess_share, penalty=self.penalty)


class Term:
    """The reward, the outcome included."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.context: Mapping[str, Callable[[Task], str]] = {"on_invalid": self._told}

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn."""
        if moment.verdict is None:
            return 0.0
        if moment.answer is None:
            return 0.0
        if self.wants_guess(moment.task) and any(claim in moment.answer for claim in self._options.claims):
            return -self._options.penalty
        return self._score(moment.task, moment.answer) if well_formed(moment) else 0.0

    def wants_guess(self, task: Task) -> bool:
        """Whether a task is asked for a best guess."""
        drawn = Draws("asearcher", task.id).below(_DRAWS)
        return drawn < self._options.guess_share * _DRAWS

    def _told(self, task: Task) -> str:
        return self._options.guess if self.wants_guess(task) else self._options.invalid

    def _score(self, task: Task, answer: str) -> float:
        metric = METRICS[self._options.metric]
        own = metric(task.golds, answer)
        augmented = _texts(task.extra.get("aug_answer"))
        return 0.7 * own + 0.3 * max(own, metric(augmented, answer)) if augmented else own


def well_formed(moment: Moment) -> bool:
    """Whether every turn of the policy keeps the format."""
    turns: dict[int, str] = {}
    for segment in moment.transcript.segments:
        own = segment.author is Author.POLICY
        if own or (segment.author is Author.HARNESS and segment.text.startswith("</")):  # a stop string, written again
            turns[segment.turn] = turns.get(segment.turn, "") + segment.text
    return all(map(_turn_is_well_formed, turns.values()))


def _turn_is_well_formed(text: str) -> bool:
    opened = [text.count(f"<{tag}>") for tag in _TAGS]
    return (
        opened == [text.count(f"</{tag}>") for tag in _TAGS]
        and sum(opened) <= 1
        and text.count("</think>") <= 1
        and "Assistant" not in text
        and "assistant" not in text
    )


def _texts(value: object) -> tuple[str, ...]:
    """The augmented answers of a row, which holds one, several or none."""
    listed = [value] if isinstance(value, str) else value if isinstance(value, Sequence) else []
    return tuple(one for one in listed if isinstance(one, str) and one.strip())
