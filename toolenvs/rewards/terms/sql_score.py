"""The score of a query as the judge's metric gives it, paid once at the end; below 0 where that is (InterCode-SQL)."""

from dataclasses import dataclass

from toolenvs.rewards.moment import Moment
from toolenvs.rewards.sql.ran import ran


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "sql_score"; the judge is "sql". It has none of its own but `weight`."""


class Term:
    """The score."""

    def __init__(self, options: Options) -> None:
        pass

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn.

        Raises:
            PageError: the judge does not run queries.
        """
        verdict = ran(moment, "sql_score")
        return 0.0 if verdict is None else verdict.published
