"""Answers made to hang, crash or read the host: each ends in a verdict, and the caller lives."""

import asyncio
import threading

import pytest

from toolenvs.rewards import maths
from toolenvs.rewards.verdict import Reason, Verdict

DECIDED = {Reason.MATCH, Reason.MISMATCH, Reason.REFUSED_BUDGET, Reason.TIMEOUT, Reason.NO_ANSWER}
Hostile = list[tuple[str, str, str]]


def undecided(verdicts: dict[str, Verdict]) -> dict[str, Reason]:
    return {name: verdict.reason for name, verdict in verdicts.items() if verdict.reason not in DECIDED}


def test_every_answer_is_decided(hostile: Hostile) -> None:
    verdicts = {name: maths.judge(gold=gold, answer=answer) for name, gold, answer in hostile}
    assert undecided(verdicts) == {}
    assert maths.judge(gold=r"2\sqrt{3}", answer=r"\sqrt{12}").correct


def test_every_response_is_decided(hostile: Hostile) -> None:
    verdicts = {n: maths.judge_response(gold=g, response=rf"So \boxed{{{a}}}, or {a}") for n, g, a in hostile}
    assert undecided(verdicts) == {}


def test_worker_thread(hostile: Hostile) -> None:
    verdicts: dict[str, Verdict] = {}

    def work() -> None:
        verdicts.update({name: maths.judge(gold=gold, answer=answer) for name, gold, answer in hostile})

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(verdicts) == len(hostile)
    assert undecided(verdicts) == {}


async def test_many_at_once(hostile: Hostile) -> None:
    verdicts = await asyncio.gather(*(maths.ajudge(gold=gold, answer=answer) for _, gold, answer in hostile))
    assert undecided(dict(zip((name for name, _, _ in hostile), verdicts, strict=True))) == {}


@pytest.mark.parametrize("name", ["5!!!", "9^{9^{9}}", "1,000,000 digits", "determinant 9x9", "set of 20,000"])
def test_known_killers_are_refused(hostile: Hostile, name: str) -> None:
    gold, answer = next((gold, answer) for known, gold, answer in hostile if known == name)
    assert maths.judge(gold=gold, answer=answer).reason is Reason.REFUSED_BUDGET
