"""Search-R1's structured format reward: the outcome, with a little taken off or granted for how it was reached.

The scripts v0.3 of its repository and the study behind them (arXiv:2505.15117) pay, once and at the end:

| format | answer | reward |
|---|---|---|
| valid | right | 1 |
| invalid | right | 1 - structure |
| valid | wrong or none | structure, and retrieval if an observation holds a gold |
| invalid | wrong | final |
| invalid | none | 0 |

The format is valid where the blocks follow one another as think, call, observation, think, ..., answer, with nothing
but white space between them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from toolenvs.rewards.moment import Moment
from toolenvs.rewards.qa.published import squad
from toolenvs.schema import at_least
from toolenvs.transcript import Author


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "search_format"."""

    structure: float = 0.2
    final: float = 0.1
    retrieval: float = 0.0
    think: str = "think"
    """The tag of a thought."""
    call: str = "search"
    """The tag of a call."""
    observation: str = "information"
    """The tag around feedback."""
    answer: str = "answer"
    """The tag of the answer."""

    def __post_init__(self) -> None:
        at_least(0, structure=self.structure, final=self.final, retrieval=self.retrieval)


class Term:
    """The format reward, the outcome included."""

    def __init__(self, options: Options) -> None:
        self._options = options
        names = "|".join(map(re.escape, (options.think, options.call, options.observation, options.answer)))
        self._tags = re.compile(f"<(/?)({names})>")

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn."""
        if moment.verdict is None:
            return 0.0
        options, valid = self._options, self.is_valid(moment)
        if moment.verdict.correct:
            return 1.0 if valid else 1.0 - options.structure
        if valid:
            return options.structure + (options.retrieval if holds_gold(moment) else 0.0)
        return 0.0 if moment.answer is None else options.final

    def is_valid(self, moment: Moment) -> bool:
        """Whether the whole response is in the format.

        An observation tag counts only where the environment wrote it, any other only where the policy did (or the
        environment for it, a stop string that the engine had dropped).
        """
        steps: list[str] = []
        opened = ""
        for author, text in self._pieces(moment):
            tag = self._tags.fullmatch(text)
            closes, name = (tag[1] == "/", tag[2]) if tag else (False, "")
            if opened == self._options.observation and not (closes and name == opened and author is Author.TOOL):
                continue  # what a passage or a note says is not the policy's
            if tag is None:
                if not opened and text.strip():
                    return False
                continue
            foreign = (author is Author.TOOL) != (name == self._options.observation)
            if foreign or closes != bool(opened) or (closes and name != opened):
                return False
            if closes:
                steps.append(name)
            opened = "" if closes else name
        return not opened and self._is_sequence(steps)

    def _pieces(self, moment: Moment) -> Iterator[tuple[Author, str]]:
        """The response taken apart at its tags, in order, each piece with its author."""
        for segment in moment.transcript.segments:
            if segment.author is not Author.PROMPT and not segment.verbatim:
                position = 0
                for tag in self._tags.finditer(segment.text):
                    yield segment.author, segment.text[position : tag.start()]
                    yield segment.author, tag[0]
                    position = tag.end()
                yield segment.author, segment.text[position:]

    def _is_sequence(self, steps: list[str]) -> bool:
        """Whether they are think, then any number of call, observation, think, then answer."""
        options = self._options
        if len(steps) < 2 or steps[0] != options.think or steps[-1] != options.answer:
            return False
        rounds, cycle = steps[1:-1], [options.call, options.observation, options.think]
        return len(rounds) % 3 == 0 and all(step == cycle[place % 3] for place, step in enumerate(rounds))


def holds_gold(moment: Moment) -> bool:
    """Whether an observation holds a gold answer, on SQuAD's normalisation."""
    golds = [gold for gold in map(squad, moment.task.golds) if gold]
    shown = [squad(segment.text) for segment in moment.transcript.by(Author.TOOL)]
    return any(gold in text for gold in golds for text in shown)
