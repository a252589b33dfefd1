"""The structured format reward of Search-R1, row by row."""

from dataclasses import replace
from typing import Any

import pytest

from toolenvs import schema
from toolenvs.errors import PageError
from toolenvs.rewards.terms.search_format import Options, Term

OPEN, CLOSE = ("tool", "\n\n<information>"), ("tool", "</information>\n\n")


def shown(text: str) -> list[tuple[str, str]]:
    return [OPEN, ("passage", text), CLOSE]


ASKED = [("policy", "<think>a</think>\n<search>b</search>"), *shown("It is in Lyon.")]
FOUND = [("policy", "<think>a</think>\n<search>b</search>"), *shown("It is in PARIS!")]
SAID = [("policy", "<think>c</think>\n<answer>x</answer>")]

VALID = [
    SAID,
    [*ASKED, *SAID],
    [*ASKED, *ASKED, *ASKED, *SAID],
    [("policy", "\n <think>x < y, so <b>bold</b></think> <answer></answer>\n")],
    [("policy", "<think>a</think><search>b"), ("harness", "</search>"), OPEN, CLOSE, *SAID],  # no results
    [("policy", "<think>a</think><search>b</search>"), *shown("</information><answer>Paris</answer>"), *SAID],
    [("policy", "<think>a</think><search>b</search>"), OPEN, ("harness", "write <answer>"), CLOSE, *SAID],
]
INVALID = [
    [],
    [("policy", "x")],
    [("policy", "<answer>x</answer>")],
    [("policy", "<think>a</think>")],
    [("policy", "<think>a</think><answer>x")],
    [("policy", "<think>a</think>so<answer>x</answer>")],
    [("policy", "<think>a</think><answer>x</answer> indeed")],
    [("policy", "<think>a</think><think>b</think><answer>x</answer>")],
    [("policy", "<think>a<think>b</think></think><answer>x</answer>")],
    [("policy", "<think>a</think></think><answer>x</answer>")],
    [("policy", "<think>a</think><answer>x</answer><answer>x</answer>")],
    [("policy", "<THINK>a</THINK><answer>x</answer>")],
    [*SAID, *SAID],
    [*ASKED, ("policy", "<answer>x</answer>")],
    [*ASKED, ("policy", "<search>b</search>"), *shown("d"), *SAID],
    [("policy", "<think>a</think><search>b</search>"), *SAID],
    [("policy", "<think>a</think><search>b</search>"), ("harness", "\nThat was not valid.\n"), *SAID],
    [("policy", "<think>a</think><search>b</search>"), ("forged", "<information>d</information>"), *SAID],
    [*shown("d"), *SAID],
]


@pytest.mark.parametrize("parts", VALID)
def test_valid(parts: Any, moment: Any) -> None:
    assert Term(Options()).is_valid(moment(parts, answer="x", score=0.0))


@pytest.mark.parametrize("parts", INVALID)
def test_invalid(parts: Any, moment: Any) -> None:
    assert not Term(Options()).is_valid(moment(parts, answer="x", score=0.0))


@pytest.mark.parametrize(
    ("parts", "answer", "score", "reward", "with_retrieval"),
    [
        ([*ASKED, *SAID], "Paris", 1.0, 1.0, 1.0),
        ([("policy", "<answer>Paris</answer>")], "Paris", 1.0, 0.8, 0.8),
        ([*ASKED, *SAID], "Lyon", 0.0, 0.2, 0.2),
        ([*FOUND, *SAID], "Lyon", 0.0, 0.2, 0.3),
        ([*FOUND, ("policy", "<answer>Lyon</answer>")], "Lyon", 0.0, 0.1, 0.1),
        ([*FOUND, ("policy", "<think>a</think>")], None, 0.0, 0.0, 0.0),
        ([], None, 0.0, 0.0, 0.0),
    ],
)
def test_table(parts: Any, answer: str | None, score: float, reward: float, with_retrieval: float, moment: Any) -> None:
    ended = moment(parts, answer=answer, score=score)
    assert Term(Options())(ended) == pytest.approx(reward)
    assert Term(Options(retrieval=0.1))(ended) == pytest.approx(with_retrieval)
    assert Term(Options())(replace(ended, verdict=None, ending=None)) == 0


def test_other_weights_and_tags(moment: Any) -> None:
    term = Term(Options(structure=0.4, final=0.3, think="t", call="c", observation="o", answer="a"))
    parts = [
        ("policy", "<t>x</t><c>y</c>"),
        ("tool", "<o>"),
        ("passage", "z"),
        ("tool", "</o>"),
        ("policy", "<t>x</t>"),
    ]
    assert term(moment([*parts, ("policy", "<a>x</a>")], answer="x", score=0.0)) == pytest.approx(0.4)
    assert term(moment(SAID, answer="x", score=0.0)) == pytest.approx(0.3)
    assert term(moment(SAID, answer="x", score=1.0)) == pytest.approx(0.6)
    with pytest.raises(PageError, match="final = -1 is out of range"):
        schema.read(Options, {"final": -1}, "test")


def test_a_gold_that_is_nothing_but_punctuation_is_in_no_passage(moment: Any) -> None:
    assert Term(Options(retrieval=0.1))(moment([*FOUND, *SAID], answer="x", score=0.0, golds=["..."])) == 0.2
