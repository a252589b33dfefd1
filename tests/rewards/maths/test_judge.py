"""The interface: reasons, what was extracted, golds, and the layers that cost nothing."""

import subprocess
import sys

import pytest

from toolenvs.rewards import maths
from toolenvs.rewards.maths import validate
from toolenvs.rewards.verdict import Reason, Verdict


@pytest.mark.parametrize(
    ("gold", "answer", "reason"),
    [
        ("5", "5", Reason.MATCH),
        ("5", "6", Reason.MISMATCH),
        ("5", "", Reason.NO_ANSWER),
        ("5", " \n", Reason.NO_ANSWER),
        ("5", "5" * 301, Reason.REFUSED_BUDGET),
        ("5", "(" * 65 + "5" + ")" * 65, Reason.REFUSED_BUDGET),
        ("5", "1" * 257, Reason.REFUSED_BUDGET),
        ("5050", r"\sum_{k=1}^{100} k", Reason.REFUSED_BUDGET),
        ("", "5", Reason.JUDGE_ERROR),
        ("$$", "5", Reason.JUDGE_ERROR),
    ],
)
def test_reasons(gold: str, answer: str, reason: Reason) -> None:
    verdict = maths.judge(gold=gold, answer=answer)
    assert verdict.reason is reason
    assert verdict.correct is (reason is Reason.MATCH)


def test_a_sum_is_compared_where_the_gold_has_one() -> None:
    assert maths.judge(gold=r"\sum_{k=1}^{n} k", answer=r"\sum_{k=1}^n k").correct
    assert maths.judge(gold=r"\sum_{k=1}^{n} k", answer=r"\sum_{k=0}^{n} k").reason is Reason.MISMATCH


def test_response_tells_what_was_extracted() -> None:
    verdict = maths.judge_response(gold="1/2", response=r"hence \boxed{\frac{2}{4}}.")
    assert (verdict.correct, verdict.extracted) == (True, r"\frac{2}{4}")
    assert verdict.seconds > 0


def test_no_answer_in_response() -> None:
    verdict = maths.judge_response(gold="5", response="I do not know.\nIt could be anything, from here on.")
    assert (verdict.reason, verdict.extracted) == (Reason.NO_ANSWER, None)
    assert maths.judge_response(gold=" ", response="").reason is Reason.JUDGE_ERROR


async def test_async_twins_agree() -> None:
    for gold, text in [("5", "5"), (r"\sqrt{12}", r"2\sqrt{3}"), ("5", "6"), ("5", "")]:
        blocking, awaited = maths.judge(gold=gold, answer=text), await maths.ajudge(gold=gold, answer=text)
        assert (blocking.correct, blocking.reason) == (awaited.correct, awaited.reason)
        response = rf"\boxed{{{text}}}"
        first = maths.judge_response(gold=gold, response=response)
        second = await maths.ajudge_response(gold=gold, response=response)
        assert (first.reason, first.extracted) == (second.reason, second.extracted)


@pytest.mark.parametrize("gold", ["5", "0", "0.0", "A", r"\text{A}", r"\frac{\pi}{2}", "Yes", r"\sum_{k=1}^n k"])
def test_good_golds(gold: str) -> None:
    assert maths.check_gold(gold) is None


@pytest.mark.parametrize("gold", ["", " ", "$$", r"\text{}"])
def test_bad_golds(gold: str) -> None:
    assert maths.check_gold(gold) is not None


def test_a_gold_that_a_decoy_matches_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    everything = Verdict(True, Reason.MATCH)
    monkeypatch.setattr(validate, "judge", lambda *, gold, answer: everything)
    assert maths.check_gold("7") == "the gold answer '7' matches '0'"


def test_a_gold_that_is_too_costly_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    real = validate.judge
    spent = Verdict(False, Reason.TIMEOUT)
    monkeypatch.setattr(
        validate, "judge", lambda *, gold, answer: real(gold=gold, answer=answer) if gold == answer else spent
    )
    assert "too costly" in (maths.check_gold("7") or "")


def test_import_is_light() -> None:
    code = "import sys; from toolenvs.rewards import maths; maths.judge(gold='1/2', answer='0.5'); print(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"sympy", "mpmath", "torch"} & set(modules)
