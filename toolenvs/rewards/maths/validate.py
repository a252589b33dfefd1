"""What a task set asks of a gold answer when it is loaded."""

from toolenvs.rewards.verdict import Reason

from .gold import unusable
from .judging import judge

_DECOYS = (("0", ("0", "zero")), ("A", ("a",)))
"""Answers that say nothing, and what a gold that they do match has in its text."""


def check_gold(gold: str) -> str | None:
    """Why the gold answer is no good, or None: it must match itself, and not what says nothing.

    Returns:
        The reason, to be put into an error that names the task; None where the gold is good.

    Raises:
        MissingExtraError: the gold is irrational, and mpmath is not installed.
    """
    if (why := unusable(gold)) is not None:
        return why
    if not judge(gold=gold, answer=gold).correct:
        return f"the gold answer {gold!r} does not match itself"
    for decoy, signs in _DECOYS:
        verdict = judge(gold=gold, answer=decoy)
        if verdict.reason in (Reason.TIMEOUT, Reason.JUDGE_ERROR):
            return f"the gold answer {gold!r} is too costly to compare with: {verdict.reason}"
        if verdict.correct and not any(sign in gold.lower() for sign in signs):
            return f"the gold answer {gold!r} matches {decoy!r}"
    return None
