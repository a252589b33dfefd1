"""`ColdStartRow`: one verified demonstration."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from toolenvs.tasks.task import Task
from toolenvs.transcript import Author, Segment, Transcript

Outputs = Literal["require", "replace"]
"""What is done with the recorded outputs: they must be the live ones, or are replaced by them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where a row comes from, and what it went through."""

    rewriter: str
    """Name of the rewriter."""
    outputs: Outputs
    replaced: int
    """Calls whose live output took the place of another, or of none."""
    calls: int
    failed_calls: int
    """Calls whose status was not "ok": demonstrations of reading an error."""
    gold: Literal["task", "recorded"]
    """See `toolenvs.coldstart.source.Source`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdStartRow:
    """One demonstration, as the environment itself wrote it down while it was replayed."""

    env: str
    """The page's id."""
    task: Task
    seed: int
    """Seed of the tools in the replay."""
    transcript: Transcript
    """Prompt and response; each segment knows its author, so nothing about masks is ever guessed."""
    messages: tuple[Mapping[str, str], ...]
    """The same in chat form."""
    provenance: Provenance

    @property
    def prompt(self) -> str:
        """What the policy reads first."""
        return self.transcript.segments[0].text

    def to_json(self) -> dict[str, Any]:
        """Plain values for a line of JSON."""
        return {
            "env": self.env,
            "task": asdict(self.task),
            "seed": self.seed,
            "segments": [[s.author.value, s.text, s.turn, s.scored, s.verbatim] for s in self.transcript.segments],
            "messages": [dict(message) for message in self.messages],
            "provenance": asdict(self.provenance),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "ColdStartRow":
        """The inverse of `to_json`; the transcript's invariants are checked again.

        Raises:
            TranscriptError: an invariant is broken.
        """
        task = dict(data["task"])
        segments = [
            Segment(Author(author), text, turn, scored, verbatim)
            for author, text, turn, scored, verbatim in data["segments"]
        ]
        return cls(
            env=data["env"],
            task=Task(**{**task, "golds": tuple(task["golds"]), "messages": tuple(task["messages"])}),
            seed=data["seed"],
            transcript=Transcript().append(segments),
            messages=tuple(data["messages"]),
            provenance=Provenance(**data["provenance"]),
        )
