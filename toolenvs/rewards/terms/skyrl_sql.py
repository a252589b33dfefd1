"""SkyRL-SQL's reward, paid once at the end: `right`, `wrong`, or `broken` for a response out of its format.

The format holds where the whole response opens one answer and closes it once behind that, with none of the other tags
between, where it has at least one thought, and where each observation is followed by a thought (skyrl-gym, `envs/sql`).
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
        tail = said.partition(opening)[2]
        if said.count(opening) != 1 or tail.count(closing) != 1:
            return False
        answer = tail.partition(closing)[0]
        if self._foreign.search(answer) or not self._thought.search(said):
            return False
        return all(self._begins.match(turn) for turn in turns[1:])


def _turns(moment: Moment) -> list[str]:
    """What the policy wrote in each turn, behind its observation; a stop string put back is its own."""
    turns: dict[int, str] = {}
    for segment in moment.transcript.segments:
        own = segment.author is Author.HARNESS and segment.text.startswith("</")
        if segment.author is Author.POLICY or own:
            turns[segment.turn] = turns.get(segment.turn, "") + segment.text
        elif segment.author is not Author.PROMPT:
            turns.setdefault(segment.turn + 1, "")
    return [turns[turn] for turn in sorted(turns)] or [""]
