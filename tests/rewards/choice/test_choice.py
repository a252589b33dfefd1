"""Multiple choice on the table of cases, and on responses of our own."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.rewards import choice
from toolenvs.rewards.verdict import Reason

CASES = [json.loads(line) for line in (Path(__file__).parent / "cases.jsonl").read_text("utf-8").splitlines()]
CHOSEN = [
    ("Answer: C", "C"), ("**Answer:** (C)", "C"), ("The answer is C, not B.", "C"), ("My choice: D", "D"), ("(d)", "D"),
    ("I think the answer is option B.", "B"), ("Answer: A\nAnswer: B", "B"), ("Therefore, it is C.", "C"),
    ("$\\boxed{\\text{C}}$", "C"), ("\\boxed{(B)}", "B"), ("\\boxed{B: 42}", "B"), ("c", "C"), ("C) 42", "C"),
    ("The answer is a car", None), ("Answer: A car is fast", None), ("Answer: B or C", None), ("A and B", None),
    ("Answer: E", None), ("I do not know", None), ("", None), ("ABCD", None), ("I", None), ("<think>Answer: B", None),
    ("Because B is wrong and C is wrong", None), ("Answers: none", None), ("Answer: B/C", None), ("B, C", None),
    ("\\boxed{Cannot be determined}", None), ("\\boxed{All of the above}", None), ("\\boxed{Both}", None),
    ("\\boxed{Does not exist}", None), ("\\boxed{A car}", None), ("\\boxed{A = 5}", None), ("\\boxed{B, C}", None),
    ("\\boxed{A and B}", None), ("\\boxed{\\text{B} and \\text{C}}", None), ("\\boxed{B: C}", None),
    ("\\boxed{\\mathrm{B}}", "B"), ("\\boxed{\\textbf{(B)}}", "B"), ("\\boxed{B: Paris}", "B"), ("\\boxed{B 42}", "B"),
    ("\\boxed{\\mathbf{\\text{D}}}", "D"), ("\\boxed{B.}", "B"), ("\\boxed{(B) does not exist}", "B"),
    ("\\boxed{\\mathbb{C}}", None), ("Answer: \\text{B}", "B"),
    ("Answer: B; C", None), ("Answer: B\nC", None), ("Answer: B C D", None), ("Answer: (B) (C)", None),
    ("Answer: B. C.", None), ("Answer: B or maybe C", None), ("Answer: B + C", None), ("B. C", None),
    ("Answer: D\nA is incorrect.", "D"), ("Answer: B\n\nI hope this helps.", "B"), ("Answer: B, not C", "B"),
    ("Answer: B.\nBecause it is.", "B"), ("I would not choose option B.", None), ("Option B is wrong.", None),
    ("Option C is wrong, option B is wrong", None), ("Eliminate option B", None),
    ("Option C is wrong, option B fits", "B"), ("Answer: B (or perhaps C)", None),
    ("Answer: B. Or C.", None), ("Answer: B as well as C", None),
    ("B then C", None), ("Answer: B xor C", None), ("It is not option A. Answer: B", "B"),
    ("Option B is not excluded. Answer: C", "C"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["why"])
def test_the_table_of_cases(case: dict[str, object]) -> None:
    verdict = choice.judge(gold=str(case["gold"]), response=str(case["pred"]), options=int(str(case["options"])))
    assert verdict.correct is case["expect"]


@pytest.mark.parametrize(("response", "chosen"), CHOSEN)
def test_what_is_chosen(response: str, chosen: str | None) -> None:
    assert choice.extract(response, 4) == chosen


@given(response=st.text(), options=st.integers(1, 26))
def test_any_response_is_judged(response: str, options: int) -> None:
    chosen = choice.extract(response, options)
    assert chosen is None or 0 <= ord(chosen) - ord("A") < options


def test_misuse() -> None:
    assert choice.judge(gold="E", response="Answer: A", options=4).failed
    assert choice.judge(gold="", response="Answer: A", options=4).failed
    assert choice.judge(gold="a", response="hm", options=4).reason is Reason.NO_ANSWER
    with pytest.raises(ValueError, match="1 to 26"):
        choice.judge(gold="A", response="A", options=0)
