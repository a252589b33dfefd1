"""SSP's reward of a solver: the outcome, cut where the response is full of answers (arXiv:2510.18821)."""

from dataclasses import dataclass

from toolenvs.rewards.moment import Moment
from toolenvs.rewards.proposals import written
from toolenvs.schema import at_least


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "ssp_solver"."""

    answer: str = "answer"
    """The tag of the answer."""
    max_answers: int = 10
    """Opening or closing tags that cost nothing."""
    beyond: float = 0.25
    """What the outcome is multiplied with where there are more."""

    def __post_init__(self) -> None:
        at_least(0, max_answers=self.max_answers, beyond=self.beyond)


class Term:
    """The reward, the outcome included."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn."""
        if moment.verdict is None:
            return 0.0
        text, options = written(moment.transcript), self._options
        tags = max(text.count(f"<{options.answer}>"), text.count(f"</{options.answer}>"))
        return moment.verdict.value * (options.beyond if tags > options.max_answers else 1.0)
