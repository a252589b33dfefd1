"""What a judge and a reward term may look at."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from toolenvs.rewards.verdict import Verdict
from toolenvs.tasks.task import Task
from toolenvs.transcript import Transcript


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
    malformed: bool
    """True where this turn attempted a call that could not be read."""
    verdict: Verdict | None = None
    """The judge's, once the episode has ended."""
