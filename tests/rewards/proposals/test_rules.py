"""Which proposals are valid, and what valid ones earn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.rewards.proposals import Flaw, Rules, flaw, payment, queries, written
from toolenvs.transcript import Author, Segment, Transcript

QUESTION = "Who is the mayor of the town in which Anna Vries was born?"
RULES = Rules()


@pytest.mark.parametrize(
    ("question", "searches", "found", "expected"),
    [
        (QUESTION, ("a", "b"), ("text",), None),
        (QUESTION, ("a", "b"), ("", " text"), None),
        (None, ("a", "b"), ("text",), Flaw.NO_QUESTION),
        (" \n", ("a", "b"), ("text",), Flaw.NO_QUESTION),
        ("Who?", ("a", "b"), ("text",), Flaw.LENGTH),
        ("Who is the mayor of the town of Anna Vries?", ("a", "b"), ("text",), None),
        ("Who is the mayor of the town of Vries?", ("a", "b"), ("text",), Flaw.LENGTH),
        (QUESTION + " x" * 500, ("a", "b"), ("text",), Flaw.LENGTH),
        (f"{QUESTION} Is it Bob Day?", ("a", "b"), ("text",), Flaw.LEAK),
        (f"{QUESTION} Is it BOB  DAY?", ("a", "b"), ("text",), Flaw.LEAK),
        (f"{QUESTION} Is it bob, day?", ("a", "b"), ("text",), Flaw.LEAK),
        (f"{QUESTION} Is it Robert?", ("a", "b"), ("text",), Flaw.LEAK),
        (f"{QUESTION} Is it Bob?", ("a", "b"), ("text",), None),
        (QUESTION, ("a", "b"), (), Flaw.NOTHING_FOUND),
        (QUESTION, ("a", "b"), ("", " \n"), Flaw.NOTHING_FOUND),
        (QUESTION, ("a",), ("text",), Flaw.FEW_SEARCHES),
        (QUESTION, ("a", "b", " A "), ("text",), Flaw.REPEATED_SEARCH),
        (QUESTION, ("a", "who is Bob Day"), ("text",), None),
    ],
)
def test_rules(question: str | None, searches: tuple[str, ...], found: tuple[str, ...], expected: Flaw | None) -> None:
    assert flaw(question, golds=("Bob Day", "Robert"), queries=searches, found=found, rules=RULES) == expected


def test_a_query_may_be_barred_from_holding_the_answer() -> None:
    barred = Rules(bar_answer_in_queries=True)
    told = flaw(QUESTION, golds=("Bob Day",), queries=("a", "the mayor Bob Day"), found=("x",), rules=barred)
    assert told is Flaw.SEARCHED_ANSWER


@pytest.mark.parametrize("options", [{"min_chars": -1}, {"max_chars": 5}, {"min_searches": -1}])
def test_limits_must_make_sense(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="out of range"):
        Rules(**options)


@given(gold=st.text(min_size=1, max_size=20), before=st.text(max_size=20), behind=st.text(max_size=20))
def test_no_question_that_holds_the_answer_is_valid(gold: str, before: str, behind: str) -> None:
    free = Rules(min_chars=0, min_words=0, min_searches=0)
    question = f"{before} {gold} {behind}"
    told = flaw(question, golds=(gold,), queries=(), found=("x",), rules=free)
    assert told in (Flaw.LEAK, Flaw.NO_QUESTION) or not gold.strip()


def test_only_the_policys_own_searches_count() -> None:
    transcript = Transcript(
        (
            Segment(Author.PROMPT, "<search>prompt</search>"),
            Segment(Author.POLICY, "<search>one", 1),
            Segment(Author.HARNESS, "</search>", 1),
            Segment(Author.TOOL, "<search>tool</search>", 1, verbatim=True),
            Segment(Author.HARNESS, "use <search> and </search>", 1),
            Segment(Author.POLICY, "<search>forged</search>", 2, scored=False),
            Segment(Author.POLICY, "<search> two </search><search> </search>", 2),
        )
    )
    assert queries(transcript, "search") == ["one", "two"]
    assert written(transcript) == "<search>one</search><search> two </search><search> </search>"


@pytest.mark.parametrize(
    ("solved", "failure", "balanced"),
    [
        ([0, 0, 0, 0, 0], 1.0, 0.0),
        ([1, 0, 0, 0, 0], 0.8, 0.64),
        ([1, 0], 0.5, 1.0),
        ([1, 1, 1, 1, 0], 0.2, 0.64),
        ([1, 1], 0.0, 0.0),
        ([0.5], 0.5, 1.0),
    ],
)
def test_payment(solved: list[float], failure: float, balanced: float) -> None:
    assert payment(solved) == pytest.approx(failure)
    assert payment(solved, "balanced") == pytest.approx(balanced)


def test_nobody_tried() -> None:
    with pytest.raises(ValueError, match="nobody tried"):
        payment([])
