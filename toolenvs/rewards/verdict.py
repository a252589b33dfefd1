"""What a judge says of an answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Reason(StrEnum):
    """Why a judge decided as it did."""

    MATCH = "match"
    MISMATCH = "mismatch"
    NO_ANSWER = "no_answer"
    """Nothing to judge was found in the response."""
    NOT_CITED = "not_cited"
    """A right answer that does not count: the page that it stands on was not opened."""
    REFUSED_BUDGET = "refused_budget"
    """The answer is too large or too deep to be looked at; counts as wrong."""
    TIMEOUT = "timeout"
    """Comparing spent the CPU budget; counts as wrong."""
    JUDGE_ERROR = "judge_error"
    """The judge itself failed or the gold is unusable: infrastructure, never a zero."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of judging one answer."""

    correct: bool
    reason: Reason
    extracted: str | None = None
    """The answer as it was found in the response, before normalisation; None where there was none."""
    seconds: float = 0.0
    """Wall-clock time that judging took."""
    score: float | None = None
    """A graded judge's score, 0 to 1, such as the share of tests passed; None where there is only right and wrong."""
    metrics: Mapping[str, float] = field(default_factory=dict, hash=False, kw_only=True)
    """What was measured beside, by name; it is reported, and earns nothing by itself."""

    @property
    def value(self) -> float:
        """The score, or 1 or 0."""
        return float(self.correct) if self.score is None else self.score

    @property
    def failed(self) -> bool:
        """True where the judge failed, so that no reward may be drawn from this verdict."""
        return self.reason is Reason.JUDGE_ERROR
