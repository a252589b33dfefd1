"""Limits, what is left of them, and cuts that are named by what they keep."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.budget import Elapsed, Limits, Meter, cut, cut_tokens

KEEPS = ("head", "tail", "middle")


@given(text=st.text(max_size=80), limit=st.integers(0, 90), keep=st.sampled_from(KEEPS))
def test_cut_keeps_exactly_the_limit(text: str, limit: int, keep: str) -> None:
    short = cut(text, limit, keep, "[...]")
    if len(text) <= limit:
        assert short == text
        return
    assert len(short) == limit + len("[...]")
    head, _, tail = short.rpartition("[...]") if keep != "tail" else short.partition("[...]")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert {"head": not tail, "tail": not head, "middle": 0 <= len(head) - len(tail) <= 1}[keep]


def test_cut_as_published() -> None:
    assert cut("a" * 300 + "b" * 300, 400, "middle") == "a" * 200 + "..." + "b" * 200  # ReTool
    assert cut("a" * 128 + "x" + "b" * 128, 256, "middle") == "a" * 128 + "..." + "b" * 128  # ToRL
    assert cut("a" * 256, 256, "middle") == "a" * 256


@given(text=st.text("ab ", max_size=60), limit=st.integers(0, 30), keep=st.sampled_from(KEEPS))
def test_cut_tokens_never_exceeds_the_limit(text: str, limit: int, keep: str) -> None:
    def count(piece: str) -> int:  # words and spaces: not proportional to the length
        return len(piece.split()) + piece.count("ab")

    assert count(cut_tokens(text, limit, keep, "...", count)) <= limit
    if count(text) <= limit:
        assert cut_tokens(text, limit, keep, "...", count) == text


def test_usage_counts_and_what_is_left() -> None:
    meter = Meter(Limits(max_turns=2, max_calls=3, max_calls_per_tool={"search": 1}), clock=iter([5.0, 7.5]).__next__)
    meter.start_turn()
    meter.count_call("search")
    usage = meter.usage()
    assert (usage["turns"].used, usage["turns"].left) == (1, 1)
    assert (usage["calls"].used, usage["calls"].left) == (1, 2)
    assert (usage["calls_search"].used, usage["calls_search"].left) == (1, 0)
    assert usage["seconds"].used == 2.5
    assert usage["response_chars"].left is None
    assert meter.calls_spent("search")
    assert not meter.calls_spent("python")


def test_a_limit_of_zero_means_none_at_all() -> None:
    assert Meter(Limits(max_calls=0)).calls_spent()
    assert Meter(Limits(max_calls_per_tool={"python": 0})).calls_spent("python")
    assert not Meter(Limits()).calls_spent("python")


def test_tokens_left_is_the_tighter_limit() -> None:
    meter = Meter(Limits(max_turn_tokens=50, max_response_tokens=60))
    assert meter.tokens_left() == 50
    meter.response_tokens = 30
    assert meter.tokens_left() == 30
    assert Meter(Limits()).tokens_left() is None


def test_elapsed_time_does_not_make_equal_episodes_unequal() -> None:
    assert Elapsed(1.0, None) == Elapsed(2.0, 3.0)
    assert len({Elapsed(1.0, None), Elapsed(2.0, None)}) == 1


def test_deadline() -> None:
    meter = Meter(Limits(deadline_s=1.0), clock=iter([0.0, 0.5, 1.5]).__next__)
    meter.start_turn()
    assert not meter.overdue
    assert meter.overdue


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_turns_spent(limit: int) -> None:
    meter = Meter(Limits(max_turns=limit))
    for _ in range(limit):
        assert not meter.turns_spent
        meter.start_turn()
    assert meter.turns_spent
