"""Every known way in which judges of mathematics have been wrong, and its neighbours."""

from collections.abc import Callable
from typing import Any

from toolenvs.rewards import maths
from toolenvs.rewards.verdict import Verdict

Case = dict[str, Any]


def judged(case: Case) -> Verdict:
    if case["form"] == "response":
        return maths.judge_response(gold=case["gold"], response=case["pred"])
    return maths.judge(gold=case["gold"], answer=case["pred"])


def wrong(cases: list[Case], where: Callable[[Case], bool]) -> list[str]:
    found = [(case, judged(case)) for case in cases if where(case)]
    return [
        f"{case['kind']}: gold {case['gold']!r}, said {case['pred']!r}, {verdict.reason}"
        for case, verdict in found
        if verdict.correct != case["expect"]
    ]


def test_no_false_positive(known_cases: list[Case]) -> None:
    assert wrong(known_cases, lambda case: not case["expect"] and not case["policy"]) == []


def test_accuracy(known_cases: list[Case]) -> None:
    mistakes = wrong(known_cases, lambda case: True)
    assert len(mistakes) <= 0.02 * len(known_cases), mistakes


def test_neighbours(neighbours: list[Case]) -> None:
    assert wrong(neighbours, lambda case: True) == []


def test_no_verdict_is_the_judges_failure(known_cases: list[Case], neighbours: list[Case]) -> None:
    assert [case for case in (*known_cases, *neighbours) if judged(case).failed] == []


def test_every_gold_passes_its_own_judge(known_cases: list[Case], neighbours: list[Case]) -> None:
    golds = {case["gold"] for case in (*known_cases, *neighbours)} - {"0", "A"}
    assert {gold: why for gold in golds if (why := maths.check_gold(gold)) is not None} == {}
