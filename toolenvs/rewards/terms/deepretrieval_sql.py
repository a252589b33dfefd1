"""DeepRetrieval's reward for SQL, paid once at the end (arXiv:2503.00223 and its released `reward_score`).

| response | reward |
|---|---|
| not sound, or its answer is no JSON object with the key | `broken`, whatever the query would find |
| sound, and the judge's metric gives a score above 0 | `format` + the score |
| sound | 0 |
"""

from dataclasses import dataclass

from toolenvs.rewards.json_answer import is_sound, members, response
from toolenvs.rewards.moment import Moment
from toolenvs.rewards.sql.ran import ran


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "deepretrieval_sql"; the judge is "sql" with one of its metrics."""

    format: float = 0.1
    """Of a sound response whose query is worth something."""
    broken: float = -2.0
    """Of one that is not sound."""
    key: str = "sql"
    """Of the JSON object, for the query."""


class Term:
    """The reward."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn.

        Raises:
            PageError: the judge does not run queries.
        """
        options, verdict = self._options, ran(moment, "deepretrieval_sql")
        if verdict is None:
            return 0.0
        if not is_sound(response(moment)) or options.key not in members(moment.answer):
            return options.broken
        return options.format + verdict.published if verdict.published > 0 else 0.0
