"""DeepRetrieval's reward for publication, trial and evidence search: a step for what the query finds, and its format.

Paid once, at the end (arXiv:2503.00223 and its released `reward_score`):

| response | reward |
|---|---|
| not sound | `broken`, whatever it would find |
| sound, with no query that can be read | `format` + the tiers' `failed` |
| sound | `format` + the tier that its recall or its rank reaches |

See `toolenvs.rewards.retrieval.tiers` for the tables.
"""

from dataclasses import dataclass, replace
from typing import Literal

from toolenvs.rewards.moment import Moment
from toolenvs.rewards.retrieval import RANK_TIERS, RECALL_TIERS, tier
from toolenvs.rewards.retrieval.searched import searched


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "search_tiers"; the judge is "retrieval", with the measure of the table."""

    table: Literal["recall", "rank"] = "recall"
    format: float = 1.0
    """Of a sound response."""
    broken: float = -4.0
    """Of one that is not."""
    otherwise: float | None = None
    """Of what reaches no tier; None for -3.5. SQuAD has -2.5."""
    failed: float | None = None
    """Where no query can be read; None for -4. SQuAD has -3."""


class Term:
    """The reward."""

    def __init__(self, options: Options) -> None:
        self._options = options
        table = RECALL_TIERS if options.table == "recall" else RANK_TIERS
        self._tiers = replace(
            table,
            otherwise=table.otherwise if options.otherwise is None else options.otherwise,
            failed=table.failed if options.failed is None else options.failed,
        )

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn.

        Raises:
            PageError: the judge does not search, or measures something else.
        """
        verdict = searched(moment, "search_tiers", self._options.table)
        if verdict is None:
            return 0.0
        if not verdict.sound:
            return self._options.broken
        worth = tier(verdict.measure, self._tiers) if verdict.readable else self._tiers.failed
        return self._options.format + worth
