"""The reward of environment-aware retrieval: nDCG of what the rewritten queries find, and a little for the format.

Paid once, at the end (arXiv:2606.16817 and its released `reward_function`). In one turn `gain` * nDCG + `format`, and
nothing where the format fails. In two turns

    gain * (first * nDCG of the first turn + nDCG of the second) + format

or, where either turn wrote no rewrite, `format` times the half that is there.
"""

from dataclasses import dataclass

from toolenvs.rewards.moment import Moment
from toolenvs.rewards.retrieval.searched import searched


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "rewrites"; the judge is "rewrites"."""

    gain: float = 0.9
    format: float = 0.1
    first: float = 0.5
    """Weight of the first turn of two."""


class Term:
    """The reward."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn.

        Raises:
            PageError: the judge does not search, or measures something else than nDCG.
        """
        verdict = searched(moment, "rewrites", "ndcg")
        if verdict is None:
            return 0.0
        *before, last = (measure or 0.0 for measure in verdict.measures or (0.0,))
        gained = self._options.first * sum(before) + last if verdict.sound else 0.0
        return self._options.gain * gained + self._options.format * verdict.format
