"""What reads a model's text takes time that grows with the text and no faster, whatever the model writes."""

import time
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs import loop
from toolenvs.rewards import choice, qa
from toolenvs.rewards.blocks import blocks
from toolenvs.rewards.maths.extract import extract as maths
from toolenvs.rewards.reading import Spans
from toolenvs.rewards.terms import r_search, self_search
from toolenvs.rewards.unit_tests import judging as unit_tests

_TERM = self_search.Term(self_search.Options())
READERS: dict[str, Callable[[str], object]] = {
    "self_search": _TERM.grade,
    "unit_tests": unit_tests.extract,
    "qa": lambda text: qa.judge_response(golds=["Paris"], response=text),
    "choice": lambda text: choice.extract(text, 4),
    "maths": maths,
    "r_search": r_search.Term(r_search.Options())._evidence.findall,
    "reading": lambda text: loop.run(Spans().read("how many", text)),
    "maths_boxed": lambda text: maths(text, boxed=True),
}
# Each a head, what is repeated, and a tail.
TEXTS = [
    ("<", "a", ""), ("", "<", ""), ("", "<a", ""), ("", "<think>", ""), ("", "</think>", ""), ("", "<answer>", ""),
    ("", "<search><information>", ""), ("", "<think><answer>", "</think>"), ("", "```python\n", ""), ("```", " ", "x"),
    ("", "```", ""), ("", "\n", "x"), ("", "\\boxed{", ""), ("", "\\boxed{", "}" * 8000), ("\\boxed{", " ", "x"),
    ("\\boxed", " ", "x"), ("", "\\", "x"), ("", "{", ""), ("", "answer is ", ""), ("answer", " ", "x"),
    ("answer is", " ", "</s>"), ("answer: 1", " ", "x"), ("the answer", "*", "x"), ("the answer\n", "\n", "</s>"),
    ("", "####", ""), ("#### 1", " ", "x"), ("", "**a", ""), ("", "\\[", ""), ("", "$", ""), ("", "so A", ""),
    ("", "so ", ""), ("Answer: B,", " ", "x"), ("", "Answer: B, ", ""), ("", "A, ", ""), ("Answer: A", " ", "1"),
    ("\\boxed{\\text{", " ", "x"), ("", "\\boxed{A", ""), ("\\boxed{A", "!", "x"), ("", "B C ", ""), ("(", " ", "x"),
    ("", "<original_evidence>", ""), ("", "1,", "x"), ("A", " of", ""), ("", "A of ", ""), ("", "1", ""),
    ("so ", " ", "x"), ("\\text{", " ", "x"), ("", "\\text{", ""), ("B", " ", "x"), ("Answer: A", "!", "x"),
    ("answer is therefore", " ", "</s>"),
]  # fmt: skip
_CHARACTERS = 4000


def _cpu_s(read: Callable[[str], object], text: str) -> float:
    """The least of three runs, as another process may have the caches."""
    taken = []
    for _ in range(3):
        start = time.process_time()
        read(text)
        taken.append(time.process_time() - start)
    return min(taken)


@pytest.mark.parametrize("reader", READERS)
def test_four_times_the_text_takes_about_four_times_as_long(reader: str) -> None:
    slow = []
    for head, middle, tail in TEXTS:
        count = _CHARACTERS // len(middle)
        small, large = (_cpu_s(READERS[reader], head + middle * n + tail) for n in (count, 4 * count))
        if large > 8 * small + 0.01:  # what is over in 10 ms may be anything
            slow.append((head, middle, tail, small, large))
    assert not slow


@given(st.lists(st.sampled_from(["<a>", "</a>", "<b>", "</b>", "x", "\n"]), max_size=12).map("".join))
def test_blocks_are_what_a_reader_from_left_to_right_finds(text: str) -> None:
    expected, rest = [], text
    while rest:
        name = rest[1:2] if rest.startswith(("<a>", "<b>")) else ""
        if name and f"</{name}>" in rest[3:]:
            content, _, rest = rest[3:].partition(f"</{name}>")
            expected.append((name, content))
        else:
            rest = rest[1:]
    assert list(blocks(text, ("a", "b"))) == expected
