"""What a judge and a reward term may look at."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from toolenvs.rewards.verdict import Verdict
from toolenvs.tasks.task import Task
from toolenvs.transcript import Transcript


class Result(Protocol):
    """What a call gave, as `toolenvs.tools.base.ToolResult`."""

    @property
    def text(self) -> str:
        """What the tool said."""

    @property
    def status(self) -> str:
        """Its word for how it went."""

    @property
    def data(self) -> Mapping[str, Any]:
        """What it tells programs."""

    @property
    def score(self) -> float | None:
        """How far the world that it acts on says that the task is solved."""

    @property
    def reward(self) -> float:
        """What that world paid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """An episode right after a turn."""

    task: Task
    transcript: Transcript
    answer: str | None
    """The final answer as the protocol read it; None where there is none."""
    said: tuple[str, ...]
    """What the policy wrote in each turn outside its calls, as far as it is scored: where an answer may stand."""
    ending: str | None
    """Why the episode ended; None while it runs."""
    calls: int
    """Tool calls run so far."""
    arguments: tuple[Mapping[str, Any], ...] = ()
    """What each of these calls was given, in order."""
    results: tuple[Result, ...] = ()
    """What each of them gave; `text` is the tool's whole text, of which the policy may have read a part."""
    new: tuple[Result, ...] = ()
    """Those of them that this turn gave."""
    malformed: bool
    """True where this turn attempted a call that could not be read."""
    verdict: Verdict | None = None
    """The judge's, once the episode has ended."""
