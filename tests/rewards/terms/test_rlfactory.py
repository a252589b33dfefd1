"""RLFactory's rule reward, row by row."""

from dataclasses import replace
from typing import Any

import pytest

from toolenvs import schema
from toolenvs.errors import PageError
from toolenvs.protocols import Call
from toolenvs.protocols.templates import ChatML
from toolenvs.protocols.tool_calls import Options as CallOptions
from toolenvs.protocols.tool_calls import Protocol
from toolenvs.rewards.terms.rlfactory import Options, Term

CALL = [("policy", "<tool_call>{}</tool_call>"), ("passage", "<answer>")]
GOOD, OPEN, NONE = ("policy", "<answer>x</answer>"), ("policy", "<answer> <answer>x</answer>"), ("policy", "x")


@pytest.mark.parametrize(
    ("parts", "answer", "score", "reward"),
    [
        ([*CALL, GOOD], "x", 1.0, 1.05),
        ([*CALL * 2, GOOD], "x", 1.0, 1.05),
        ([*CALL * 3, GOOD], "x", 1.0, 1.0),
        ([*CALL, OPEN], "x", 1.0, 0.95),
        ([*CALL * 3, OPEN], "x", 1.0, 0.9),
        ([*CALL, GOOD], "x", 0.0, 0.1),
        ([*CALL * 3, GOOD], "x", 0.0, 0.0),
        ([*CALL, OPEN], "x", 0.0, -0.1),
        ([*CALL * 3, OPEN], "x", 0.0, -0.2),
        ([*CALL, NONE], None, 0.0, -0.15),
        ([*CALL * 3, NONE], None, 0.0, -0.2),
    ],
)
def test_table(parts: Any, answer: str | None, score: float, reward: float, moment: Any) -> None:
    ended = moment(parts, answer=answer, score=score)
    assert Term(Options())(ended) == pytest.approx(reward)
    assert Term(Options(format=0.0))(ended) == score
    assert Term(Options())(replace(ended, verdict=None)) == 0


def test_options() -> None:
    with pytest.raises(PageError, match="calls = -1 is out of range"):
        schema.read(Options, {"calls": -1}, "test")


def test_the_protocol_reads_answers_in_a_tag_before_calls() -> None:
    protocol = Protocol(CallOptions(names={"query_rag": "search"}, answer="answer"), ChatML())
    call = protocol.write_call(Call("search", {"query": "x"})).removesuffix(protocol.turn_end)
    assert protocol.parse(call).calls == (Call("search", {"query": "x"}),)
    assert protocol.parse(f"{call}<answer> y </answer>").answer == "y"
    assert protocol.parse("<answer>y</answer><answer>z</answer>").answer == "z"
    assert protocol.parse("<tool_response><answer>y</answer></tool_response>").answer is None
    assert protocol.parse(protocol.write_answer("y")).answer == "y"
    assert {"<answer>", "</answer>"} <= set(protocol.markers)
    plain = Protocol(CallOptions(names={"query_rag": "search"}), ChatML())
    assert plain.parse(f"{call}<answer>y</answer>").calls
    assert plain.write_answer("y") == "y<|im_end|>"
