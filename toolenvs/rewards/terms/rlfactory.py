"""RLFactory's rule reward for search: exact match, nudged by tags that balance and by calls that are few.

Paid once, at the end (arXiv:2509.06980 and its released `envs/search.py`). With f = `format`, a = f where every answer
tag the policy wrote is opened and closed (at least one of them), else -f, b = -f for more than `calls` calls, else 0,
and t = a + b:

    right: 1 + t / 2        wrong: t        no answer: -f + t / 2
"""

from dataclasses import dataclass

from toolenvs.rewards.moment import Moment
from toolenvs.schema import at_least
from toolenvs.transcript import Author


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "rlfactory"."""

    format: float = 0.1
    """f; 0 when a policy is evaluated."""
    calls: int = 2
    """Calls that cost nothing."""

    def __post_init__(self) -> None:
        at_least(0, format=self.format, calls=self.calls)


class Term:
    """The reward, the outcome included."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn."""
        if moment.verdict is None:
            return 0.0
        unit = self._options.format
        tags = (unit if _balanced(moment) else -unit) - (unit if moment.calls > self._options.calls else 0.0)
        if moment.answer is None:
            return -unit + tags / 2
        return 1.0 + tags / 2 if moment.verdict.correct else tags


def _balanced(moment: Moment) -> bool:
    written = "".join(segment.text for segment in moment.transcript.by(Author.POLICY))
    return written.count("<answer>") == written.count("</answer>") > 0
