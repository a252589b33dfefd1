"""The layers of the judge, cheapest first.

1. The same text, or two integers: no reading at all.
2. Limits: what is too long, too deep, or restates the problem is refused.
3. Shapes compared by exact rational arithmetic, in this process.
4. The same comparison with many digits, in a child process that can be killed.
"""

import asyncio
import logging
import re
from time import perf_counter

from toolenvs.rewards.verdict import Reason, Verdict

from .algebra.budget import MAX_GOLD_CHARACTERS, refuse, too_large
from .algebra.compare import same_answer
from .algebra.decide import ExactDecider
from .algebra.tidy import tidy
from .algebra.tree import NeedsChild, TooBig
from .child import ChildDied, Outcome
from .extract import extract
from .gold import unusable
from .pool import compare

_SHORT_CHARACTERS = 100
"""Gold and answer of together this length are read within the event loop: it costs less than a thread would."""
_INTEGER = re.compile(r"-?[0-9]{1,256}").fullmatch
_log = logging.getLogger(__name__)
_EXACT = ExactDecider()
_OUTCOMES = {
    Outcome.SAME: Reason.MATCH,
    Outcome.DIFFERENT: Reason.MISMATCH,
    Outcome.REFUSED: Reason.REFUSED_BUDGET,
    Outcome.SPENT: Reason.TIMEOUT,
}


def judge(*, gold: str, answer: str) -> Verdict:
    """Whether `answer` and `gold` are the same answer.

    Never raises because of what a model wrote, for any `answer` at all. May wait up to a few seconds for the child.

    Raises:
        MissingExtraError: an irrational value has to be compared, and mpmath is not installed.
    """
    start = perf_counter()
    answer = answer.strip()
    reason = _quick(gold, answer) or _careful(gold, answer)
    if isinstance(reason, tuple):
        reason = _in_child(*reason)
    return Verdict(reason is Reason.MATCH, reason, answer or None, perf_counter() - start)


async def ajudge(*, gold: str, answer: str) -> Verdict:
    """`judge` without blocking the event loop: the child is awaited in a thread."""
    start = perf_counter()
    answer = answer.strip()
    reason: Reason | tuple[str, str] | None = _quick(gold, answer)
    if reason is None:
        if len(gold) + len(answer) <= _SHORT_CHARACTERS:
            reason = _careful(gold, answer)
        else:
            reason = await asyncio.to_thread(_careful, gold, answer)
    if isinstance(reason, tuple):
        reason = await asyncio.to_thread(_in_child, *reason)
    return Verdict(reason is Reason.MATCH, reason, answer or None, perf_counter() - start)


def judge_response(*, gold: str, response: str) -> Verdict:
    """Extract the final answer from what the policy wrote (see `extract`), and judge it.

    Raises:
        MissingExtraError: as `judge`.
    """
    answer = extract(response)
    if answer is None:
        return _nothing(gold)
    return judge(gold=gold, answer=answer)


async def ajudge_response(*, gold: str, response: str) -> Verdict:
    """`judge_response` without blocking the event loop."""
    answer = extract(response)
    if answer is None:
        return _nothing(gold)
    return await ajudge(gold=gold, answer=answer)


def _nothing(gold: str) -> Verdict:
    return Verdict(False, Reason.JUDGE_ERROR if unusable(gold) else Reason.NO_ANSWER)


def _quick(gold: str, answer: str) -> Reason | None:
    """Equal text and plain integers, which most answers are."""
    if _INTEGER(gold) and _INTEGER(answer):
        same = gold == answer or int(gold) == int(answer)
        return Reason.MATCH if same else Reason.MISMATCH
    return None


def _careful(gold: str, answer: str) -> Reason | tuple[str, str]:
    """The verdict as far as exact arithmetic reaches; else the two tidied texts for the child."""
    if unusable(gold):
        return Reason.JUDGE_ERROR
    if not answer:
        return Reason.NO_ANSWER
    gold = gold.strip()
    if gold == answer:
        return Reason.MATCH
    if len(gold) > MAX_GOLD_CHARACTERS:
        return Reason.MISMATCH
    try:
        if too_large(answer, gold):
            return Reason.REFUSED_BUDGET
        gold, answer = tidy(gold), tidy(answer)
        if refuse(answer, gold):
            return Reason.REFUSED_BUDGET
        return Reason.MATCH if same_answer(gold, answer, _EXACT) else Reason.MISMATCH
    except (TooBig, RecursionError):
        return Reason.REFUSED_BUDGET
    except NeedsChild:
        return gold, answer
    except Exception:  # a fault of the judge may end neither the episode nor the run
        _log.exception("the maths judge failed on gold %.200r, answer %.200r", gold, answer)
        return Reason.JUDGE_ERROR


def _in_child(gold: str, answer: str) -> Reason:
    try:
        return _OUTCOMES[compare(gold, answer)]
    except ChildDied:
        return Reason.JUDGE_ERROR
