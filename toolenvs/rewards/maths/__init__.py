r"""Whether a mathematical answer equals the gold one.

    judge(gold="1/2", answer="0.5")                     the answer alone
    judge_response(gold="1/2", response="... \\boxed{0.5}")   a whole response; see `extract` for where it is looked for
    ajudge, ajudge_response                             the same for asyncio
    check_gold("1/2")                                   why a gold answer cannot be used, or None

Cheap exact layers come first; what they leave open is compared by `comparison` in a child process that can be killed.
Model text never raises: it is matched, not matched, or refused.
"""

from time import perf_counter

from toolenvs.rewards.maths.extract import final_answer
from toolenvs.rewards.maths.plain import decide
from toolenvs.rewards.verdict import Reason, Verdict

__all__ = ["ajudge", "ajudge_response", "judge", "judge_response"]


def judge(*, gold: str, answer: str) -> Verdict:
    """Compare an answer with the gold one."""
    started = perf_counter()
    return Verdict(*_compare(gold, answer), answer, perf_counter() - started)


def judge_response(*, gold: str, response: str) -> Verdict:
    """Compare the final answer of a response with the gold one."""
    started = perf_counter()
    answer = final_answer(response)
    if answer is None:
        return Verdict(False, Reason.NO_ANSWER, None, perf_counter() - started)
    return Verdict(*_compare(gold, answer), answer, perf_counter() - started)


async def ajudge(*, gold: str, answer: str) -> Verdict:
    """As `judge`, without blocking the event loop."""
    return judge(gold=gold, answer=answer)


async def ajudge_response(*, gold: str, response: str) -> Verdict:
    """As `judge_response`, without blocking the event loop."""
    return judge_response(gold=gold, response=response)


def _compare(gold: str, answer: str) -> tuple[bool, Reason]:
    same = decide(gold, answer)
    return bool(same), Reason.MATCH if same else Reason.MISMATCH
