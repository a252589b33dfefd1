"""Whether a short answer is one of the golds, and how the answer is found in a response."""

import re
from collections.abc import Sequence
from time import perf_counter

from toolenvs.rewards.blocks import blocks
from toolenvs.rewards.qa.careful import forms
from toolenvs.rewards.verdict import Reason, Verdict

_LEAST_LIMIT = 200
_TIMES_GOLD = 4
_YES_NO = re.compile(r"\s*(yes|no)\b(?=\s*(?:$|[,;:!]|\.(?!\s*\d)|-(?!\w)))", re.IGNORECASE)
_EITHER = re.compile(r"\b(?:yes|yep|yeah|no|nope|nah)\b", re.IGNORECASE)


def judge(*, golds: Sequence[str], answer: str) -> Verdict:
    """Whether `answer` is one of `golds`, up to the way it is written (see `careful`).

    An answer much longer than every gold is refused unread. Golds that are empty make the verdict a failure.
    """
    start = perf_counter()
    answer = answer.strip()
    reason = _reason(golds, answer)
    return Verdict(reason is Reason.MATCH, reason, answer or None, perf_counter() - start)


def _reason(golds: Sequence[str], answer: str) -> Reason:
    usable = [gold for gold in golds if gold.strip()]
    if not usable:
        return Reason.JUDGE_ERROR
    if not answer:
        return Reason.NO_ANSWER
    if len(answer) > max(_LEAST_LIMIT, _TIMES_GOLD * max(map(len, usable))):
        return Reason.REFUSED_BUDGET
    said = forms(answer)
    for gold in usable:
        if said & forms(gold) or _yes_or_no(gold, answer):
            return Reason.MATCH
    return Reason.MISMATCH


def _yes_or_no(gold: str, answer: str) -> bool:
    """A "yes" or "no" that a clause follows, with the other word nowhere."""
    said = _YES_NO.match(answer)
    if said is None or gold.strip().casefold() not in ("yes", "no"):
        return False
    words = {word.casefold() for word in _EITHER.findall(answer)}
    return words == {gold.strip().casefold()}


def extract(response: str) -> str | None:
    """What stands in the one `<answer>` tag of a response; None where there is none, or several that differ."""
    answers = {text.strip() for _, text in blocks(response, ("answer",))}
    return answers.pop() if len(answers) == 1 else None


def judge_response(*, golds: Sequence[str], response: str) -> Verdict:
    """Judge what stands in the response's one `<answer>` tag."""
    return judge(golds=golds, answer=extract(response) or "")


def check_gold(golds: Sequence[str]) -> str | None:
    """What is wrong with the golds of a task; None where nothing is.

    Every gold has to match itself, and none may match "", "0" or a word that has nothing to do with it.
    """
    if not golds or not all(gold.strip() for gold in golds):
        return "a gold is empty"
    for gold in golds:
        if not judge(golds=[gold], answer=gold).correct:
            return f"the gold {gold!r:.80} does not match itself"
    return None
