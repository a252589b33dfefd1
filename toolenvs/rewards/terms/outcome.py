"""Paid once, at the end: `correct` or `wrong`, as the judge says."""

from dataclasses import dataclass

from toolenvs.rewards.moment import Moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "outcome"."""

    correct: float = 1.0
    wrong: float = 0.0
    graded: bool = False
    """Whether a graded verdict earns its part of the way from `wrong` to `correct`."""


class Term:
    """The outcome."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn."""
        if moment.verdict is None:
            return 0.0
        correct, wrong = self._options.correct, self._options.wrong
        if self._options.graded:
            return wrong + (correct - wrong) * moment.verdict.value
        return correct if moment.verdict.correct else wrong
