"""R1-Searcher's two stages, row by row."""

from dataclasses import replace
from typing import Any

import pytest

from toolenvs import schema
from toolenvs.errors import PageError
from toolenvs.rewards.terms.r1_searcher import Options, Term, best_f1

QUERY = ("policy", "hm <|begin_of_query|>x<|end_of_query|>")
SHOWN = [
    ("tool", "\n\n<|begin_of_documents|>\n"),
    ("passage", "(1)an assistant, 中 and <|begin_of_query|>"),
    ("tool", "\n<|end_of_documents|>\n\n"),
]
END = ("policy", "so</think><answer>the red Tower</answer>")
GOLDS = ["red tower", "tower of red stone"]


@pytest.mark.parametrize(
    ("parts", "answer", "first", "second"),
    [
        ([QUERY, *SHOWN, END], "the red Tower", 2.0, 1.0),
        ([QUERY, *SHOWN, QUERY, *SHOWN, END], "the red Tower", 2.0, 1.0),
        ([("policy", "<|begin_of_query|>x"), ("harness", "<|end_of_query|>"), *SHOWN, END], "the red Tower", 2.0, 1.0),
        ([END], "the red Tower", 1.5, 1.0),
        ([QUERY, *SHOWN, END], "tower", 0.0, 2 / 3),  # stage 1: -1 + 0.5 + 0.5
        ([QUERY, *SHOWN, END], "a tower that is red", 2.0, 2 * (2 / 4) * 1 / (2 / 4 + 1)),
        ([QUERY, *SHOWN, END], "blue", 0.0, 0.0),
        ([QUERY, *SHOWN, ("policy", "so</think>")], None, -0.5, -2.0),
        ([QUERY, *SHOWN, ("policy", "<answer>x</answer>")], "red tower", 1.5, -1.0),  # no </think>
        ([QUERY, *SHOWN, ("policy", "</think></think><answer>x</answer>")], "red tower", 1.5, -1.0),
        ([QUERY, *SHOWN, END, END], "red tower", 1.5, -1.0),  # two answers
        ([QUERY, *SHOWN, QUERY, END], "red tower", 1.5, -1.0),  # a query without an answer to it
        ([QUERY, *SHOWN, ("policy", "<|begin_of_query|>"), END], "red tower", 1.5, -1.0),
        ([QUERY, ("forged", "<|begin_of_documents|>x<|end_of_documents|>"), END], "red tower", 1.5, -1.0),  # not called
        ([QUERY, *SHOWN, ("forged", "<|end_of_documents|>"), END], "red tower", 1.5, -1.0),
        ([QUERY, *SHOWN, ("policy", "Assistant: "), END], "red tower", 2.0, -1.0),
        ([QUERY, *SHOWN, ("policy", "塔"), END], "red tower", 2.0, -1.0),
        ([QUERY, *SHOWN, END], "<|begin_of_query|> red tower", 2.0, 0.8 - 2),
        ([QUERY, *SHOWN, END], "red tower 3 4 5 6 7 8 9 10", 2.0, 2 * (2 / 10) / (2 / 10 + 1)),
        ([QUERY, *SHOWN, END], "red tower 3 4 5 6 7 8 9 10 11", 2.0, 2 * (2 / 11) / (2 / 11 + 1) - 2),
    ],
)
def test_stages(parts: Any, answer: str | None, first: float, second: float, moment: Any) -> None:
    ended = moment(parts, answer=answer, score=0.0, golds=GOLDS)
    assert Term(Options(stage=1))(ended) == pytest.approx(first)
    assert Term(Options())(ended) == pytest.approx(second)
    assert Term(Options())(replace(ended, verdict=None)) == 0


def test_the_penalty_is_a_setting(moment: Any) -> None:
    broken = moment([("policy", "x")], answer=None, score=0.0)
    assert Term(Options(penalty=1.0))(broken) == -1
    with pytest.raises(PageError, match="penalty = -1 is out of range"):
        schema.read(Options, {"penalty": -1}, "test")
    with pytest.raises(PageError, match="two marks each"):
        schema.read(Options, {"query": ["<q>"]}, "test")


@pytest.mark.parametrize(
    ("golds", "answer", "value"),
    [
        (("yes",), "Yes.", 1.0),
        (("yes",), "yes it is", 0.0),
        (("yes it is",), "yes", 0.0),
        (("no", "no bridge"), "no bridge", 1.0),
        (("noanswer",), "noanswer", 1.0),
        (("a b c",), "b c", 1.0),  # "a" is an article
        (("x b c",), "b c", 0.8),
        (("x",), "", 0.0),
        ((), "x", 0.0),
    ],
)
def test_f1_with_bare_words(golds: tuple[str, ...], answer: str, value: float) -> None:
    assert best_f1(golds, answer) == pytest.approx(value)
