"""The question-answering judge as a page uses it: the careful comparison, or one metric of a published system."""

from dataclasses import dataclass
from typing import Literal

from toolenvs.rewards import qa
from toolenvs.rewards.moment import Moment
from toolenvs.rewards.verdict import Reason, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[judge]`, name "qa"."""

    metric: Literal["careful", "em", "sub_em", "f1", "cover_em", "set_f1"] = "careful"
    """How the answer is compared with the golds; see `toolenvs.rewards.qa`."""
    reads: Literal["answer", "response"] = "answer"
    """What is judged: what the protocol read as the answer, or all that the policy wrote in its last turn."""


class Judge:
    """See `toolenvs.rewards.qa`."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def compare(self, gold: str, answer: str) -> Verdict:
        """Judge an answer that stands alone; task sets hold their golds against it."""
        return self._judge((gold,), answer)

    async def __call__(self, moment: Moment) -> Verdict:
        """Judge a finished episode: right where the answer is one of its task's golds."""
        said = moment.answer if self._options.reads == "answer" else "".join(moment.said[-1:])
        return self._judge(moment.task.golds or (moment.task.gold,), said or "")

    def _judge(self, golds: tuple[str, ...], answer: str) -> Verdict:
        if self._options.metric == "careful":
            return qa.judge(golds=golds, answer=answer)
        if not all(gold.strip() for gold in golds):
            return Verdict(False, Reason.JUDGE_ERROR)
        if not answer.strip():
            return Verdict(False, Reason.NO_ANSWER, score=None if self._options.metric in _EXACT else 0.0)
        value = qa.METRICS[self._options.metric](golds, answer)
        reason = Reason.MATCH if value == 1 else Reason.MISMATCH
        score = None if self._options.metric in _EXACT else value
        return Verdict(value == 1, reason, answer.strip(), score=score)


_EXACT = frozenset({"em", "sub_em", "cover_em"})
