"""`Transcript`: one growing text whose every part knows its author.

Masks, budgets, rewards and replay are all statements about who wrote which part, so authorship is recorded when a
part is appended and never derived from the text afterwards.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from toolenvs.errors import TranscriptError


class Author(StrEnum):
    """Who wrote a segment."""

    PROMPT = "prompt"
    """The rendered prompt that an episode begins with."""
    POLICY = "policy"
    """The policy: its reasoning, its call markers, its end-of-turn token."""
    TOOL = "tool"
    """A tool's feedback, the wrapper around it included."""
    HARNESS = "harness"
    """The environment itself: budget notes, reminders, forced prefixes, stop strings that an engine had dropped."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of text by one author."""

    author: Author
    text: str
    turn: int = 0
    """The policy's turn, from 1, that it belongs to or answers; 0 for what stands before the first one."""
    scored: bool = True
    """False for what the policy wrote but must not be trained on or judged by: a forged observation, a replayed
    prefix. Has no meaning for other authors."""
    verbatim: bool = False
    """True for text from outside (a program's output, a page): no string in it is ever encoded as a special token."""
    kept: str | None = None
    """What stands in its place once the turn after it has read it: ASearcher's read-then-forget. None for all of it."""

    def __post_init__(self) -> None:
        if not self.text:
            raise TranscriptError(f"empty {self.author} segment at turn {self.turn}: leave it out instead")

    def to_json(self) -> list[Any]:
        """A row of plain values."""
        kept = [] if self.kept is None else [self.kept]
        return [self.author.value, self.text, self.turn, self.scored, self.verbatim, *kept]

    @classmethod
    def from_json(cls, row: Sequence[Any]) -> "Segment":
        """The inverse of `to_json`.

        Raises:
            ValueError, TypeError: it is no row of a segment.
        """
        author, *rest = row
        return cls(Author(author), *rest)

    def read(self, turn: int) -> str:
        """What the policy reads of it when it writes `turn`."""
        return self.text if self.kept is None or turn <= self.turn + 1 else self.kept


@dataclass(frozen=True, slots=True)
class Transcript:
    """The segments of one episode in order. Immutable: `append` gives a new one."""

    segments: tuple[Segment, ...] = ()

    def append(self, segments: Iterable[Segment]) -> "Transcript":
        """This transcript with `segments` behind it.

        Raises:
            TranscriptError: a turn number goes backwards, or a prompt follows the first turn.
        """
        turn = self.turn
        added = tuple(segments)
        for segment in added:
            if segment.turn < turn:
                raise TranscriptError(f"a segment of turn {segment.turn} cannot follow turn {turn}")
            if segment.author is Author.PROMPT and segment.turn > 0:
                raise TranscriptError(f"the prompt belongs to turn 0, not to turn {segment.turn}")
            turn = segment.turn
        return Transcript(self.segments + added)

    def read(self, turn: int) -> "Transcript":
        """What the policy reads, or would read, when it writes `turn`: of what was forgotten stands what is kept."""
        for segment in self.segments:
            if segment.kept is not None:
                break
        else:
            return self
        shown = [(segment, segment.read(turn)) for segment in self.segments]
        return Transcript(
            tuple(segment if text == segment.text else replace(segment, text=text) for segment, text in shown if text)
        )

    @property
    def turn(self) -> int:
        """Number of the latest turn; 0 before the first one."""
        return self.segments[-1].turn if self.segments else 0

    @property
    def text(self) -> str:
        """All of it, as the policy would read it."""
        return "".join(segment.text for segment in self.segments)

    @property
    def response(self) -> str:
        """All of it after the prompt."""
        return "".join(segment.text for segment in self.segments if segment.author is not Author.PROMPT)

    def policy_text(self, turn: int | None = None) -> str:
        """What the policy wrote and is scored on, in every turn or in one; the only text that a judge may read."""
        return "".join(
            segment.text
            for segment in self.segments
            if segment.author is Author.POLICY and segment.scored and turn in (None, segment.turn)
        )

    def by(self, author: Author) -> Iterator[Segment]:
        """The segments of one author, in order."""
        return (segment for segment in self.segments if segment.author is author)
