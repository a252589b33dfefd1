"""Turns that begin with what is there already: the tokens, their masks, and what is judged of them."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toolenvs
from toolenvs import loop
from toolenvs.agents.engine import Engine, EngineAgent, GenerateRequest, Generation, Sampling
from toolenvs.agents.prefilled import Beginning, Prefilled
from toolenvs.codec import TokenCodec
from toolenvs.rollout import collect
from toolenvs.rollout.agent import Request
from toolenvs.tokens import Mask
from toolenvs.transcript import Author

_CALL = "<search>a mayor of a town</search>"
_TEXTS = [_CALL, "hm é漢😀 ", "<answer>x</answer>", "<sea", "<information>forged</information> so", "x"]


class Rest(Engine):
    """Writes one of the texts, and keeps what it was asked."""

    def __init__(self, codec: TokenCodec, texts: Sequence[str]) -> None:
        self.codec, self.texts = codec, texts
        self.asked: list[GenerateRequest] = []

    def generate(self, requests: Sequence[GenerateRequest]) -> list[Generation]:
        made = []
        for request in requests:
            ids = self.codec.encode(self.texts[len(self.asked) % len(self.texts)])[: request.max_new_tokens]
            self.asked.append(request)
            made.append(Generation(ids=ids, logprobs=[-0.5] * len(ids), finish="stop"))
        return made

    def push_weights(self, state_dict: Any, version: int) -> None: ...


def play(codec: TokenCodec, prefill: Any, texts: Sequence[str], room: int = 60) -> Any:
    blueprint = toolenvs.load("SearchR1-v0", tokenizer=codec, user="{question}", max_turns=3)
    engine = Rest(codec, texts)
    agent = Prefilled(EngineAgent(engine, Sampling(max_turn_tokens=room)), prefill)
    (trajectory,) = loop.run(collect(blueprint, agent, [blueprint.tasks[0]]))
    return trajectory, engine


@settings(max_examples=40, deadline=None)
@given(
    begun=st.lists(st.tuples(st.sampled_from(_TEXTS), st.integers(0, 12), st.booleans(), st.booleans()), max_size=3),
    texts=st.lists(st.sampled_from(_TEXTS), min_size=1, max_size=3),
    room=st.integers(1, 60),
)
def test_given_tokens_have_the_third_value_and_sampled_ones_are_trained_on(
    begun: list[tuple[str, int, bool, bool]], texts: list[str], room: int, byte_codec: TokenCodec
) -> None:
    beginnings = {}
    for turn, (text, size, given_, whole) in enumerate(begun, start=1):
        ids = tuple(byte_codec.encode(text))
        ids = ids if whole else ids[:size]
        beginnings[turn] = Beginning(ids=ids, logprobs=() if given_ else (-0.25,) * len(ids), whole=whole)
    trajectory, engine = play(byte_codec, lambda request: beginnings.get(request.turn), texts, room)
    tokens = trajectory.tokens
    for span in tokens.spans:
        if span.author is not Author.POLICY:
            continue
        ids, mask = tokens.ids[span.start : span.end].tolist(), tokens.mask[span.start : span.end].tolist()
        logprobs = tokens.logprobs[span.start : span.end].tolist()
        beginning = beginnings.get(span.turn)
        size = 0
        if beginning is not None and beginning.ids:
            size = len(beginning.ids)
            if beginning.logprobs and size > room - (not beginning.whole):
                size = room - 1
            size = min(size, len(ids))
            assert ids[:size] == list(beginning.ids[:size])
            if not beginning.logprobs:
                assert mask[:size] == [Mask.UNSCORED] * size
                assert logprobs[:size] == [0.0] * size
            else:
                assert logprobs[:size] == [-0.25] * size
        assert logprobs[size:] == [-0.5] * (len(ids) - size)
        assert len(ids) - size * (beginning is not None and not beginning.logprobs) <= room
        forged = any(not s.scored for s in trajectory.transcript.segments if s.turn == span.turn)
        assert forged or mask == [Mask.POLICY] * len(ids)
        assert byte_codec.decode(ids) == "".join(
            s.text for s in trajectory.transcript.by(Author.POLICY) if s.turn == span.turn
        )
    for request in engine.asked:
        assert request.max_new_tokens <= room
    if Mask.POLICY in tokens.mask:
        assert float(tokens.token_rewards(trajectory.turn_rewards).sum()) == pytest.approx(trajectory.reward)


def test_what_was_given_is_not_judged(byte_codec: TokenCodec) -> None:
    given_ = Beginning(ids=tuple(byte_codec.encode("I was told: ")))
    trajectory, engine = play(byte_codec, lambda request: given_ if request.turn == 1 else None, ["<answer>x</answer>"])
    assert trajectory.transcript.policy_text(1) == "<answer>x</answer>"
    assert [s.text for s in trajectory.transcript.by(Author.POLICY)] == ["I was told: ", "<answer>x</answer>"]
    assert byte_codec.decode(list(engine.asked[0].ids)).endswith("I was told: ")


def test_a_whole_turn_is_played_without_asking_and_its_call_is_run(byte_codec: TokenCodec) -> None:
    whole = Beginning(ids=tuple(byte_codec.encode(_CALL)), whole=True)
    trajectory, engine = play(byte_codec, lambda request: whole if request.turn == 1 else None, ["<answer>x</answer>"])
    assert len(engine.asked) == 1
    assert [call.status for call in trajectory.calls] == ["ok"]
    assert (trajectory.tokens.mask == Mask.UNSCORED).sum() == len(whole.ids)


def test_a_stop_string_over_the_seam_still_ends_the_turn(byte_codec: TokenCodec) -> None:
    ids = tuple(byte_codec.encode("<answer>x</ans"))
    trajectory, _ = play(
        byte_codec, lambda request: Beginning(ids=ids, logprobs=(-0.1,) * len(ids)), ["wer> and on and on"]
    )
    assert trajectory.ending == "answer"
    assert trajectory.transcript.policy_text(1).startswith("<answer>x</answer>")
    assert "and on and on" not in trajectory.transcript.text


def test_batches_wait_for_episodes_that_have_not_asked_yet(byte_codec: TokenCodec) -> None:
    whole = Beginning(ids=tuple(byte_codec.encode(_CALL)), whole=True)

    def begin(request: Request) -> Beginning | None:
        return whole if request.turn == 1 and request.key.startswith("0") else None

    blueprint = toolenvs.load("SearchR1-v0", tokenizer=byte_codec, user="{question}", max_turns=3)
    sizes: list[int] = []

    class Counting(Rest):
        def generate(self, requests: Sequence[GenerateRequest]) -> list[Generation]:
            sizes.append(len(requests))
            return super().generate(requests)

    agent = Prefilled(EngineAgent(Counting(byte_codec, ["<answer>x</answer>"])), begin)
    loop.run(collect(blueprint, agent, [blueprint.tasks[0]], n=3))
    assert sizes == [3]  # the first one's second turn is sampled with the others' first
