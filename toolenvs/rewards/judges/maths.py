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
    policy wrote. Never the prompt or a tool's output."""


class Judge:
    """See `toolenvs.rewards.maths`."""

    def __init__(self, options: Options) -> None:
        self._options = options

    def compare(self, gold: str, answer: str) -> Verdict:
        """Judge an answer that stands alone; task sets hold their golds against it."""
        return maths.judge(gold=gold, answer=answer)

    async def __call__(self, moment: Moment) -> Verdict:
        """Judge a finished episode against its task's canonical gold."""
        gold, transcript = moment.task.gold, moment.transcript
        if self._options.reads == "answer":
            return await maths.ajudge(gold=gold, answer=moment.answer or "")
        turn = transcript.turn if self._options.reads == "last_turn" else None
        return await maths.ajudge_response(gold=gold, response=transcript.policy_text(turn))
