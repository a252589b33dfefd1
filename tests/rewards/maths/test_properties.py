"""What holds for every answer."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolenvs.rewards import maths
from toolenvs.rewards.verdict import Reason

fractions = st.fractions(min_value=-(10**9), max_value=10**9, max_denominator=10**6)
decimals = st.decimals(min_value=-(10**6), max_value=10**6, places=4)


@st.composite
def expressions(draw: st.DrawFn, depth: int = 3) -> str:
    if depth == 0 or draw(st.booleans()):
        return draw(st.sampled_from(["x", "y", "n", r"\pi"]) | st.integers(0, 99).map(str))
    left, right = draw(expressions(depth - 1)), draw(expressions(depth - 1))
    form = draw(st.sampled_from(["({}+{})", "({}-{})", r"{}\cdot({})", r"\frac{{{}}}{{{}}}", r"\sqrt{{{}}}+{}"]))
    return form.format(left, right)


def latex(value: Fraction) -> str:
    return rf"\frac{{{value.numerator}}}{{{value.denominator}}}"


@given(st.integers())
def test_integers_match_themselves(value: int) -> None:
    assert maths.judge(gold=str(value), answer=str(value)).correct
    assert maths.judge(gold=str(value), answer=f"{value:,}").correct
    assert not maths.judge(gold=str(value), answer=str(value + 1)).correct


@given(fractions)
def test_fractions_match_in_every_spelling(value: Fraction) -> None:
    assert maths.judge(gold=latex(value), answer=f"{value.numerator}/{value.denominator}").correct
    assert maths.judge(gold=str(value), answer=latex(value * 7 / 7)).correct
    assert not maths.judge(gold=latex(value), answer=latex(value + Fraction(1, 10**6))).correct


@given(expressions())
def test_expressions_match_themselves_and_no_more(text: str) -> None:
    assert maths.judge(gold=text, answer=text).correct
    assert not maths.judge(gold=text, answer=f"{text}+1").correct


@settings(max_examples=50, deadline=None)
@given(expressions(), expressions())
def test_sums_commute(left: str, right: str) -> None:
    verdict = maths.judge(gold=f"({left})+({right})+z", answer=f"z+({right})+({left})")
    undefined = maths.judge(gold=f"({left})+({right})+z", answer=f"z+({right})+({left})+1")
    assert verdict.correct or verdict.reason is undefined.reason is Reason.MISMATCH or r"\frac" in left + right
    assert not undefined.correct


@given(fractions | st.integers() | decimals, fractions | st.integers() | decimals)
def test_numbers_compare_symmetrically(left: object, right: object) -> None:
    there = maths.judge(gold=str(left), answer=str(right)).correct
    assert there is maths.judge(gold=str(right), answer=str(left)).correct


@settings(deadline=None)
@given(st.text(), st.sampled_from(["5", r"\frac{1}{2}", "(1,2)", r"\{1,2\}", r"x\ge 2", "Yes", r"2\sqrt{3}", "y=x+1"]))
def test_total_on_text(answer: str, gold: str) -> None:
    assert not maths.judge(gold=gold, answer=answer).failed
    assert not maths.judge_response(gold=gold, response=answer).failed


@settings(deadline=None)
@given(st.text(alphabet=r"0123456789+-*/^_!|(){}[],.:;<>=xyzie\pqrstfacn$% &", max_size=80))
def test_total_on_what_looks_like_mathematics(answer: str) -> None:
    assert not maths.judge(gold=r"\sqrt{2}+x", answer=answer).failed


@pytest.mark.parametrize("answer", ["\ud800", "\0", "5\0", "a" * 10**6, "5" * 10**6, "😀", "\u202e5", "\\"])
def test_odd_text_is_wrong_and_no_failure(answer: str) -> None:
    verdict = maths.judge(gold="7", answer=answer)
    assert not verdict.correct
    assert not verdict.failed


@given(
    st.integers(-999, 999),
    st.integers(-999, 999),
    st.sampled_from(
        [" apples", " or so", ", I think", " cm", " and more", r"\text{ units}", " (final)", "?", " maybe", ";", " !!"]
    ),
)
def test_junk_never_turns_wrong_into_right(gold: int, answer: int, junk: str) -> None:
    if gold != answer:
        assert not maths.judge(gold=str(gold), answer=f"{answer}{junk}").correct


@given(st.integers(0, 999), st.integers(0, 999), st.sampled_from([" or ", ", ", " or maybe ", " and ", "; ", " / "]))
def test_two_candidates_are_wrong(right: int, other: int, joint: str) -> None:
    for text in (f"{right}{joint}{other}", f"{other}{joint}{right}"):
        if joint != " / " or (other and right * other not in (right**2, 0) and right not in (0, 1) and other != 1):
            assert not maths.judge(gold=str(right), answer=text).correct
