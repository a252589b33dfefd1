"""Believes the tool: how far the world that it acts on, such as a web page or a game, says that the task is solved."""

from dataclasses import dataclass

from toolenvs.rewards.moment import Moment
from toolenvs.rewards.verdict import Reason, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[judge]`, name "tool"."""


class Judge:
    """Reads the last score that a tool gave, which no text of the policy can."""

    def __init__(self, options: Options) -> None:
        self._options = options

    async def __call__(self, moment: Moment) -> Verdict:
        """The verdict: correct for a score of 1; without a score nothing was reached."""
        scores = [result.score for result in moment.results if result.score is not None]
        if not scores:
            return Verdict(False, Reason.NO_ANSWER, score=0.0)
        correct = scores[-1] >= 1
        return Verdict(correct, Reason.MATCH if correct else Reason.MISMATCH, score=scores[-1])
