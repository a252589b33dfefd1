"""DeepResearcher's reward: the F1 of the words of the answer, or a penalty for a broken format.

Paid once, at the end (arXiv:2504.03160 and its released reward). A format is broken where one of the tags is opened and
closed unlike often over all of the policy's turns, or where there is no answer. F1 is that of the two sets of words:
words that are said twice count once.
"""

from dataclasses import dataclass

from toolenvs.rewards.moment import Moment
from toolenvs.rewards.qa.published import set_f1
from toolenvs.schema import at_least
from toolenvs.transcript import Author


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "deep_researcher"."""

    penalty: float = 1.0
    """What a broken format costs."""
    tags: tuple[str, ...] = ("think", "tool_call", "answer")
    """What has to balance."""
    prefix: str = "<think>"
    """What the environment begins each turn with, and counts; the protocol's `prefix`."""

    def __post_init__(self) -> None:
        at_least(0, penalty=self.penalty)


class Term:
    """The reward, the outcome included."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn."""
        if moment.verdict is None:
            return 0.0
        if moment.answer is None or not self._balanced(moment):
            return -self._options.penalty
        return set_f1(moment.task.golds, moment.answer)

    def _balanced(self, moment: Moment) -> bool:
        """Whether the policy's turns, those parts that it forged included, open and close every tag equally often."""
        written = "".join(segment.text for segment in moment.transcript.by(Author.POLICY))
        written += self._options.prefix * len(moment.said)
        return all(written.count(f"<{tag}>") == written.count(f"</{tag}>") for tag in self._options.tags)
