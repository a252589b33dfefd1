"""SSRL's reward: the answer, and a graded format for a response that searches its own memory.

Paid once, at the end (arXiv:2508.10874 and its released `reward_manager/naive.py`): `outcome` times the judge's score
and `format` times a number from 0 to 1. That number is 0 where anything of `Term.is_sound` does not hold; else, with T
thoughts and S searches,

    min(T / 2, 1) * min(T, S + 1) / max(T, S + 1),    and 0 where T > 8
"""

import re
from dataclasses import dataclass

from toolenvs.rewards.blocks import blocks
from toolenvs.rewards.moment import Moment
from toolenvs.schema import at_least
from toolenvs.transcript import Author

_TAGS = ("think", "search", "information", "answer")
_ANY_TAG = re.compile(r"</?([A-Za-z_][\w-]*+)[^<>]*+>")
_MIN_BLOCKS = 4
_MAX_THOUGHTS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "self_search"."""

    outcome: float = 0.9
    format: float = 0.1
    placeholders: tuple[str, ...] = ()
    """What the prompt writes between its tags; a block that only copies one makes the format unsound."""

    def __post_init__(self) -> None:
        at_least(0, outcome=self.outcome, format=self.format)


class Term:
    """The reward, the outcome included."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn."""
        if moment.verdict is None:
            return 0.0
        return self._options.outcome * moment.verdict.value + self._options.format * self.grade(_response(moment))

    def grade(self, response: str) -> float:
        """The format of a response, 0 to 1."""
        names = [name for name, _ in blocks(response, _TAGS)]
        thoughts, needed = names.count("think"), names.count("search") + 1
        if not self.is_sound(response) or thoughts > _MAX_THOUGHTS:
            return 0.0
        return float(min(thoughts / 2, 1.0) * min(thoughts, needed) / max(thoughts, needed))

    def is_sound(self, response: str) -> bool:
        """Whether the response begins with a thought and ends with an answer, in at least four blocks and with no tag
        but theirs; none is empty or copied from the prompt; each search has one line, and its information behind it.
        """
        response = response.strip()
        found = [(name, text.strip()) for name, text in blocks(response, _TAGS)]
        names = [name for name, _ in found]
        tags = [tag[1].lower() for tag in _ANY_TAG.finditer(response)]
        return (
            response.startswith("<think>")
            and response.endswith("</answer>")
            and len(found) >= _MIN_BLOCKS
            and set(tags) <= set(_TAGS)
            and len(tags) == 2 * len(found)
            and all(text and text not in self._options.placeholders for _, text in found)
            and not any(name == "search" and "\n" in text for name, text in found)
            and names.count("search") == names.count("information")
            and all(names[place + 1 : place + 2] == ["information"] for place, n in enumerate(names) if n == "search")
        )


def _response(moment: Moment) -> str:
    """All that was written behind the prompt: the policy's own, and in sim2real the passages that a tool returned."""
    return "".join(s.text for s in moment.transcript.segments if s.author is not Author.PROMPT)
