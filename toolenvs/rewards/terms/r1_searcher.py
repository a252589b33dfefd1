"""R1-Searcher's rewards: stage 1 teaches to search at all, stage 2 to answer from what is found.

Paid once, at the end (arXiv:2503.05592 and its released reward servers):

stage 1: +1 where every word of a gold stands in the answer, else -1; +0.5 for at least one search with every mark
    balanced; +0.5 for exactly one `</think>` and one answer.
stage 2: the answer's F1 (0 where it or the gold is yes, no or noanswer and the two differ), less `penalty` where the
    format is broken in any way (see `Term.is_broken`).
"""

import re
from dataclasses import dataclass
from typing import Literal

from toolenvs.rewards.moment import Moment
from toolenvs.rewards.qa.published import cover_em, f1, squad
from toolenvs.schema import at_least
from toolenvs.transcript import Author

_EXACT = frozenset({"yes", "no", "noanswer"})
_MAX_WORDS = 10
_CHINESE = re.compile("[\u4e00-\u9fff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[[reward]]`, term "r1_searcher"."""

    stage: Literal[1, 2] = 2
    penalty: float = 2.0
    """What a broken format costs in stage 2."""
    query: tuple[str, ...] = ("<|begin_of_query|>", "<|end_of_query|>")
    """The marks of a query."""
    documents: tuple[str, ...] = ("<|begin_of_documents|>", "<|end_of_documents|>")
    """The marks of an observation."""

    def __post_init__(self) -> None:
        at_least(0, penalty=self.penalty)
        if len(self.query) != 2 or len(self.documents) != 2:
            raise ValueError("query and documents are two marks each, the opening and the closing one")


class Term:
    """The reward of one stage, the outcome included."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def __call__(self, moment: Moment) -> float:
        """The reward of the turn."""
        if moment.verdict is None:
            return 0.0
        golds, answer = moment.task.golds, moment.answer or ""
        if self._options.stage == 1:
            reward = 1.0 if cover_em(golds, answer) else -1.0
            reward += 0.5 if moment.calls and self._balanced(moment) else 0.0
            return reward + (0.5 if _one_thought_and_answer(_written(moment)) else 0.0)
        return best_f1(golds, answer) - (self._options.penalty if self.is_broken(moment) else 0.0)

    def is_broken(self, moment: Moment) -> bool:
        """Whether the marks are unbalanced; there is not exactly one `</think>` or one answer; the answer holds a mark
        or more than 10 words; or the policy wrote "assistant", in any case, or Chinese characters.
        """
        written = _written(moment)
        answer = moment.answer or ""
        return (
            not self._balanced(moment)
            or not _one_thought_and_answer(written)
            or any(mark in answer for mark in (*self._options.query, *self._options.documents))
            or len(answer.split()) > _MAX_WORDS
            or "assistant" in written.lower()
            or _CHINESE.search(written) is not None
        )

    def _balanced(self, moment: Moment) -> bool:
        """Whether every query was opened, closed and answered, and only the environment wrote document marks."""
        written = _written(moment)
        if any(mark in written for mark in self._options.documents):
            return False
        shown = (segment for segment in moment.transcript.by(Author.TOOL) if not segment.verbatim)
        answered = sum(self._options.documents[0] in segment.text for segment in shown)
        return [written.count(mark) for mark in self._options.query] == [answered, answered]


def best_f1(golds: tuple[str, ...], answer: str) -> float:
    """The best F1 over the golds; 0 against one where either is a bare yes, no or noanswer and the two differ."""
    said = squad(answer)
    same = [gold for gold in golds if squad(gold) == said or not _EXACT & {squad(gold), said}]
    return f1(same, answer)


def _written(moment: Moment) -> str:
    """What the policy wrote, with the stop strings that an engine had dropped; what it forged included."""
    kept = (Author.POLICY, Author.HARNESS)
    return "".join(segment.text for segment in moment.transcript.segments if segment.author in kept)


def _one_thought_and_answer(written: str) -> bool:
    return [written.count(tag) for tag in ("</think>", "<answer>", "</answer>")] == [1, 1, 1]
