"""The verdict of a judge that searches with what the policy wrote."""

from dataclasses import dataclass

from toolenvs.errors import PageError
from toolenvs.rewards.moment import Moment
from toolenvs.rewards.verdict import Verdict


@dataclass(frozen=True, slots=True)
class Searched(Verdict):
    """A verdict over rankings; `score` is of the last one, from 0 to 1."""

    by: str = ""
    """What was measured: "recall", "rank" or "ndcg"."""
    format: float = 0.0
    """How much of the page's format the response has, 0 to 1."""
    readable: bool = False
    """Whether a query could be read out of it."""
    measures: tuple[float | None, ...] = ()
    """Of each ranking, in order: a share from 0 to 1, or a rank from 1 on, None where nothing is found."""
    rankings: tuple[tuple[str, ...], ...] = ()
    """Ids of what each search found, the best first."""

    @property
    def sound(self) -> bool:
        """Whether the response has all of the format."""
        return self.format == 1

    @property
    def measure(self) -> float | None:
        """The last of `measures`."""
        return self.measures[-1] if self.measures else None


def searched(moment: Moment, term: str, by: str) -> Searched | None:
    """The verdict of a finished episode; None while it runs.

    Raises:
        PageError: it is another judge's, or one that measures something else than `by`.
    """
    verdict = moment.verdict
    if verdict is None:
        return None
    if not isinstance(verdict, Searched) or verdict.by != by:
        raise PageError(f"the reward's term {term!r} needs a judge that searches and measures {by!r}: see [judge]")
    return verdict
