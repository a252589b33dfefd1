"""The invariants of a token transcript, for three kinds of tokenizer."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.codec import TokenCodec
from toolenvs.errors import TranscriptError
from toolenvs.tokens import Mask, TokenTranscript, cut_at_stop
from toolenvs.transcript import Author

_ids = st.lists(st.integers(0, 50), min_size=1, max_size=6)
_appends = st.lists(st.tuples(st.booleans(), _ids, st.booleans()), min_size=1, max_size=8)


def _grow(appends: list[tuple[bool, list[int], bool]]) -> tuple[TokenTranscript, list[str]]:
    """A transcript, and for each token who wrote it."""
    tokens, authors, turn = TokenTranscript(), [], 0
    for policy, ids, scored in appends:
        if policy:
            turn += 1
            unscored = [] if scored else [(0, len(ids))]
            tokens.append_policy(ids, [-0.5 * i for i in range(len(ids))], turn, unscored=unscored, version=turn)
        else:
            tokens.append_environment(ids, Author.TOOL if turn else Author.PROMPT, turn)
        authors += [("policy" if scored else "unscored") if policy else "environment"] * len(ids)
    return tokens, authors


@given(appends=_appends)
def test_lengths_agree_and_the_mask_tells_the_author(appends: list[tuple[bool, list[int], bool]]) -> None:
    tokens, authors = _grow(appends)
    arrays = (tokens.ids, tokens.mask, tokens.logprobs, tokens.versions)
    assert {len(array) for array in arrays} == {len(authors)} == {len(tokens)}
    expected = {"policy": Mask.POLICY, "unscored": Mask.UNSCORED, "environment": Mask.ENVIRONMENT}
    assert tokens.mask.tolist() == [expected[author] for author in authors]
    assert not tokens.logprobs[tokens.mask == Mask.ENVIRONMENT].any()
    assert (tokens.versions[tokens.mask == Mask.ENVIRONMENT] == -1).all()
    assert tokens.ids.tolist() == [token for _, ids, _ in appends for token in ids]


@given(appends=_appends, length=st.integers(0, 60))
def test_truncation_cuts_every_array(appends: list[tuple[bool, list[int], bool]], length: int) -> None:
    tokens, _ = _grow(appends)
    whole = tokens.copy()
    tokens.truncate(length)
    kept = min(length, len(whole))
    for name in ("ids", "mask", "logprobs", "versions"):
        assert np.array_equal(getattr(tokens, name), getattr(whole, name)[:kept])
    assert sum(span.end - span.start for span in tokens.spans) == kept


@given(appends=_appends, rewards=st.lists(st.integers(-3, 3), max_size=10))
def test_rewards_stand_on_scored_tokens_of_their_turn_and_sum_up(
    appends: list[tuple[bool, list[int], bool]], rewards: list[int]
) -> None:
    tokens, _ = _grow(appends)
    turns = [span.turn for span in tokens.spans]
    rewards = rewards[: max(turns)]
    if not (tokens.mask == Mask.POLICY).any():
        if any(rewards):
            with pytest.raises(TranscriptError):
                tokens.token_rewards(rewards)
        return
    placed = tokens.token_rewards(rewards)
    assert placed.sum() == sum(rewards)
    assert not placed[tokens.mask != Mask.POLICY].any()
    for turn, reward in enumerate(rewards, start=1):
        own = [s for s in tokens.spans if s.turn == turn and s.author is Author.POLICY]
        if (
            own
            and tokens.mask[own[0].start] == Mask.POLICY
            and all((tokens.mask[s.start] == Mask.POLICY) for s in tokens.spans if s.author is Author.POLICY)
        ):
            assert placed[own[0].end - 1] == reward


@given(appends=_appends)
def test_json_round_trip(appends: list[tuple[bool, list[int], bool]]) -> None:
    tokens, _ = _grow(appends)
    assert TokenTranscript.from_json(json.loads(json.dumps(tokens.to_json()))) == tokens


def test_bad_appends_change_nothing() -> None:
    tokens = TokenTranscript()
    tokens.append_policy([1, 2], [-0.1, -0.2], 2)
    before = tokens.copy()
    bad = [
        lambda: tokens.append_policy([1], [], 3),
        lambda: tokens.append_policy([1], [math.nan], 3),
        lambda: tokens.append_policy([1], [-math.inf], 3),
        lambda: tokens.append_policy([1], [0.5], 3),
        lambda: tokens.append_policy([1], [-0.5], 1),
        lambda: tokens.append_policy([1], [-0.5], 3, unscored=[(0, 2)]),
        lambda: tokens.append_environment([-1], Author.TOOL, 3),
        lambda: tokens.append_environment([1], Author.POLICY, 3),
    ]
    for append in bad:
        with pytest.raises(TranscriptError):
            append()
    assert tokens == before


@given(
    before=st.text("ab<>/\n ", max_size=12),
    after=st.text("x>\n<", max_size=6),
    stop=st.sampled_from(["</code>", "```output"]),
)
def test_cut_keeps_the_shortest_prefix_that_holds_the_marker(
    codec: TokenCodec, before: str, after: str, stop: str
) -> None:
    ids = codec.encode(before + stop + after)
    length = cut_at_stop(ids, (stop,), codec)
    assert stop in codec.decode(ids[:length])
    assert stop not in codec.decode(ids[: length - 1])
    assert cut_at_stop(ids[: length - 1], (stop,), codec) == length - 1
    assert cut_at_stop(ids, (), codec) == len(ids)
