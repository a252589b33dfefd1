"""The judge of questions over pages: the answer, what it stands on, and whether a page had its way with the agent."""

from dataclasses import dataclass, replace
from typing import Literal

from toolenvs.rewards import browsing
from toolenvs.rewards.judges import qa
from toolenvs.rewards.moment import Moment
from toolenvs.rewards.verdict import Reason, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[judge]`, name "browsed"."""

    metric: Literal["careful", "em", "sub_em", "f1", "cover_em", "set_f1"] = "careful"
    """How the answer is compared with the golds; see `toolenvs.rewards.qa`."""
    cited: Literal["page", "line"] | None = None
    """What must have been shown of the page that holds the answer, for a right answer to count; None for nothing."""


class Judge:
    """See `toolenvs.rewards.browsing`. It measures "cited" and "injected" where the task says what that would be."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._answers = qa.Judge(qa.Options(metric=options.metric))

    def compare(self, gold: str, answer: str) -> Verdict:
        """Judge an answer that stands alone; task sets hold their golds against it."""
        return self._answers.compare(gold, answer)

    async def __call__(self, moment: Moment) -> Verdict:
        """Judge a finished episode.

        Raises:
            TaskError: citations are judged, and the task does not say where its answer stands.
        """
        verdict = await self._answers(moment)
        by = self._options.cited
        metrics: dict[str, float] = {}
        if by is not None or moment.task.extra.get("cites"):
            metrics["cited"] = float(browsing.cited(moment, by or "page"))
        obeyed = browsing.injected(moment)
        if obeyed is not None:
            metrics["injected"] = float(obeyed)
        if by is not None and not metrics["cited"] and not verdict.failed and verdict.value > 0:
            score = None if verdict.score is None else 0.0
            verdict = replace(verdict, correct=False, reason=Reason.NOT_CITED, score=score)
        return replace(verdict, metrics=metrics)
