"""The verdict of a judge that runs the policy's query."""

from dataclasses import dataclass

from toolenvs.errors import PageError
from toolenvs.rewards.moment import Moment
from toolenvs.rewards.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Ran(Verdict):
    """A verdict over a query; `extracted` is the query."""

    why: str = ""
    """In few words, what differs from the gold's result; "match" where nothing does."""
    runs: bool = False
    """Whether the query runs on the database, right or wrong."""
    published: float = 0.0
    """The score as the metric's system computes it, which may be below 0, where `score` stays from 0 to 1."""


def ran(moment: Moment, term: str) -> Ran | None:
    """The verdict of a finished episode; None while it runs.

    Raises:
        PageError: it is another judge's.
    """
    verdict = moment.verdict
    if verdict is not None and not isinstance(verdict, Ran):
        raise PageError(f"the reward's term {term!r} needs the judge 'sql': see [judge]")
    return verdict
