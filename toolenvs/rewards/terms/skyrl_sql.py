"""SkyRL-SQL's reward, paid once at the end: `right`, `wrong`, or `broken` for a response out of its format.

The format holds where the whole response has the answer's tags once each, none of the other tags between them, at
least one thought, and behind each observation a thought (skyrl-gym, `envs/sql`).
"""

import re
from dataclasses import dataclass

from toolenvs.rewards.moment import Moment
from toolenvs.transcript import Author


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "skyrl_sql"."""

    right: float = 1.0
    wrong: float = 0.0
    broken: float = -1.0
    think: str = "think"
    """The tag of a thought."""
    call: str = "sql"
    """The tag of a call."""
    observation: str = "observation"
    """The tag around feedback."""
    answer: str = "solution"
    """The tag of the answer."""


class Term:
    """The reward."""

    def __init__(self, options: Options) -> None:
        self._options = options
        tags = "|".join(re.escape(tag) for tag in (options.think, options.call, options.observation))
        self._foreign = re.compile(rf"</?(?:{tags})\b", re.IGNORECASE)
        think = re.escape(options.think)
        self._thought = re.compile(rf"<{think}>.*?</{think}>", re.DOTALL)
        self._begins = re.compile(rf"\s*<{think}>", re.IGNORECASE)

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn."""
        if moment.verdict is None:
            return 0.0
        if not self.is_sound(moment):
            return self._options.broken
        return self._options.right if moment.verdict.correct else self._options.wrong

    def is_sound(self, moment: Moment) -> bool:
        """Whether the response is in the format. Only what the policy wrote is read: a result may hold any text."""
        turns = _turns(moment)
        said = "".join(turns)
        opening, closing = f"<{self._options.answer}>", f"</{self._options.answer}>"
        if said.count(opening) != 1 or said.count(closing) != 1 or said.index(opening) > said.index(closing):
            return False
        answer = said.partition(opening)[2].partition(closing)[0]
        if self._foreign.search(answer) or not self._thought.search(said):
            return False
        return all(self._begins.match(turn) for turn in turns[1:])


def _turns(moment: Moment) -> list[str]:
    """What the policy wrote before the first observation, and behind each one; a stop string put back is its own."""
    turns = [""]
    for segment in moment.transcript.segments:
        if segment.author is Author.TOOL:
            if turns[-1]:  # feedback may be in several pieces
                turns.append("")
        elif segment.author is Author.POLICY or (segment.author is Author.HARNESS and segment.text.startswith("</")):
            turns[-1] += segment.text
    return turns
