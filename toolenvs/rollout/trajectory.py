"""`Trajectory`: an episode as training, evaluation and the viewer share it."""

import base64
from dataclasses import dataclass, field
from typing import Any

from toolenvs.tokens import TokenTranscript
from toolenvs.transcript import Segment, Transcript

MAX_FILES_BYTES = 2 << 20
"""Of one episode's figures and files; what would go beyond it is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One tool call."""

    turn: int
    tool: str
    arguments: dict[str, Any]
    result: str
    status: str
    seconds: float
    files: dict[str, bytes] = field(default_factory=dict)
    """Figures and files that a program left, by name, as far as `MAX_FILES_BYTES` reaches."""
    page: dict[str, Any] = field(default_factory=dict)
    """What a browser showed, see `toolenvs.episode.ToolCall.page`; the text of it is `result`."""

    def to_json(self) -> dict[str, Any]:
        """Plain values; files are written in base 64."""
        files = {name: base64.b64encode(content).decode() for name, content in self.files.items()}
        extra = ({"files": files} if files else {}) | ({"page": self.page} if self.page else {})
        return {name: getattr(self, name) for name in _CALL} | extra

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "CallRecord":
        """The inverse of `to_json`."""
        files = {name: base64.b64decode(text, validate=True) for name, text in data.get("files", {}).items()}
        return cls(**{**data, "files": files})


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """A finished episode."""

    key: str
    """Identity of the episode within its run."""
    group: str
    """Shared by the episodes of one task that are compared with one another."""
    env: str
    """The page's id."""
    task: str
    """The task's id."""
    question: str
    golds: tuple[str, ...]
    seed: int
    transcript: Transcript
    tokens: TokenTranscript | None
    """None where the rollout knew no tokenizer. As the policy read them last, where its page lets it forget."""
    turn_rewards: tuple[float, ...]
    """Reward of turn 1, 2, ..."""
    reward_terms: dict[str, float]
    """Sum of each term over the turns; together they are the return."""
    ending: str
    """See `toolenvs.info`; also "agent", where the agent gave no turn by its own fault."""
    success: float | None
    """The task's raw correctness; None after an infrastructure failure."""
    metrics: dict[str, float] = field(default_factory=dict)
    """What the judge measured beside success, by name."""
    fault: str | None = None
    earlier: tuple[TokenTranscript, ...] = ()
    """As it had read them before something was forgotten: a sequence for each time that this happened."""
    sampled_by: tuple[str, ...] = ()
    """Of a branch of a tree: the key of the episode that turn 1, 2, ... was sampled in; () where all were in this."""
    guidance: str = ""
    """What the policy was helped with: "hint", "removed hint" where the prompt here is the one without, or "prefix"; ""
    where it was not."""
    calls: tuple[CallRecord, ...] = ()
    usage: dict[str, float] = field(default_factory=dict)
    """What each budget had used."""
    seconds: float = 0.0
    """Wall-clock time of the episode."""
    agent_seconds: tuple[float, ...] = ()
    """Wall-clock time that the agent took for turn 1, 2, ..."""
    prompt_tokens: int | None = None
    """Tokens that the agent read in all turns together, as it counts them; None where it does not."""
    completion_tokens: int | None = None
    """Tokens that it wrote."""

    @property
    def reward(self) -> float:
        """The return: sum of the rewards."""
        return float(sum(self.turn_rewards))

    @property
    def sequences(self) -> tuple[TokenTranscript, ...]:
        """What is trained on, in order: one sequence, and one more for each time that something was forgotten.

        Each token that was sampled and is scored has mask 1 in one of them, behind what was read when it was sampled.
        """
        return () if self.tokens is None else (*self.earlier, self.tokens)

    @property
    def failed(self) -> bool:
        """True where infrastructure failed, so that nothing may be learned from it."""
        return self.ending == "infrastructure"

    def to_json(self) -> dict[str, Any]:
        """Plain values for a line of JSON."""
        data = {name: getattr(self, name) for name in _PLAIN}
        data |= {name: list(data[name]) for name in _TUPLES}
        data["transcript"] = [segment.to_json() for segment in self.transcript.segments]
        data["tokens"] = self.tokens.to_json() if self.tokens else None
        if self.earlier:
            data["earlier"] = [tokens.to_json() for tokens in self.earlier]
        if self.sampled_by:
            data["sampled_by"] = list(self.sampled_by)
        if self.guidance:
            data["guidance"] = self.guidance
        data["calls"] = [call.to_json() for call in self.calls]
        return data

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> "Trajectory":
        """The inverse of `to_json`; every invariant of the transcripts is checked again.

        Raises:
            TranscriptError: an invariant is broken.
        """
        plain = {name: data[name] for name in _PLAIN if name in data}
        plain |= {name: tuple(data[name]) for name in _TUPLES if name in data}
        return cls(
            **plain,
            transcript=Transcript().append(map(Segment.from_json, data["transcript"])),
            tokens=TokenTranscript.from_json(data["tokens"]) if data["tokens"] else None,
            earlier=tuple(map(TokenTranscript.from_json, data.get("earlier", ()))),
            sampled_by=tuple(data.get("sampled_by", ())),
            guidance=data.get("guidance", ""),
            calls=tuple(map(CallRecord.from_json, data["calls"])),
        )


_CALL = ("turn", "tool", "arguments", "result", "status", "seconds")
_PLAIN = (
    "key",
    "group",
    "env",
    "task",
    "question",
    "golds",
    "seed",
    "turn_rewards",
    "reward_terms",
    "ending",
    "success",
    "metrics",
    "fault",
    "usage",
    "seconds",
    "agent_seconds",
    "prompt_tokens",
    "completion_tokens",
)
_TUPLES = ("golds", "turn_rewards", "agent_seconds")
