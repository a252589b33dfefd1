"""The maths judge as a page uses it: equivalence of the final answer with the gold one."""

from dataclasses import dataclass
from typing import Literal

from toolenvs.rewards import maths
from toolenvs.rewards.moment import Moment
from toolenvs.rewards.verdict import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[judge]`, name "maths"."""

    reads: Literal["answer", "last_turn", "policy"] = "last_turn"
    """What is searched for the answer: what the protocol read as the answer, the policy's last turn, or all that the
    policy wrote. Never a call, the prompt or a tool's output."""
    accepts: Literal["any", "boxed"] = "any"
    """What counts as a final answer: all that `toolenvs.rewards.maths.extract` finds, or the last `\\boxed{}` alone."""


class Judge:
    """See `toolenvs.rewards.maths`."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def compare(self, gold: str, answer: str) -> Verdict:
        """Judge an answer that stands alone; task sets hold their golds against it."""
        return maths.judge(gold=gold, answer=answer)

    async def __call__(self, moment: Moment) -> Verdict:
        """Judge a finished episode: right where the answer equals any of its task's golds."""
        answer = self._answer(moment) or ""
        verdict = await maths.ajudge(gold=moment.task.gold, answer=answer)
        for gold in moment.task.golds[1:]:
            if verdict.correct:
                break
            other = await maths.ajudge(gold=gold, answer=answer)
            verdict = other if other.correct or other.failed else verdict
        return verdict

    def _answer(self, moment: Moment) -> str | None:
        reads, boxed = self._options.reads, self._options.accepts == "boxed"
        if reads == "answer":
            return maths.extract(moment.answer or "", boxed=True) if boxed else moment.answer
        said = moment.said[-1:] if reads == "last_turn" else moment.said
        return maths.extract("".join(said), boxed=boxed)
