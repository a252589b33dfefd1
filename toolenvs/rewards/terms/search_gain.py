"""DeepRetrieval's reward for classic retrieval: nDCG, and a little for the format where anything was found.

Paid once, at the end (arXiv:2503.00223 and its released `reward_score`): `broken` for a response that is not sound, or
that holds no query that can be read; 0 where the query finds nothing relevant; else `format` + nDCG.
"""

from dataclasses import dataclass

from toolenvs.rewards.moment import Moment
from toolenvs.rewards.retrieval.searched import searched


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "search_gain"; the judge is "retrieval", with the measure "ndcg"."""

    format: float = 0.1
    broken: float = -2.0


class Term:
    """The reward."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn.

        Raises:
            PageError: the judge does not search, or measures something else.
        """
        verdict = searched(moment, "search_gain", "ndcg")
        if verdict is None:
            return 0.0
        if not verdict.sound or not verdict.readable:
            return self._options.broken
        return self._options.format + verdict.value if verdict.value > 0 else 0.0
