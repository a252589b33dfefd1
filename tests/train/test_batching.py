import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.errors import TranscriptError
from toolenvs.train.batching import TokenSequence, micro_batches, pack, pad, reward_at_end, shares


def test_padding_keeps_every_array_and_knows_its_length(sequences):
    made = sequences()
    batch = pad(made)
    for row, sequence in enumerate(made):
        length = len(sequence)
        for name in ("ids", "mask", "logprobs", "rewards"):
            assert np.array_equal(getattr(batch, name)[row, :length], getattr(sequence, name))
            assert not getattr(batch, name)[row, length:].any()
        assert batch.attention[row].tolist() == [1] * length + [0] * (batch.ids.shape[1] - length)
    assert batch.groups.tolist() == [0, 0, 0, 1, 1, 1]


def test_a_token_that_looks_like_padding_is_not_padding():
    batch = pad([TokenSequence.of([5, 0, 0], [0, 1, 1]), TokenSequence.of([5, 6, 7, 0, 0], [0, 1, 1, 1, 1])])
    assert batch.attention.tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]


def test_rows_cut_the_padding_that_they_do_not_need(sequences):
    made = sequences()
    batch = pad(made)
    few = batch.rows(torch.tensor([4, 1]))
    again = pad([made[4], made[1]])
    assert all(torch.equal(getattr(few, name), getattr(again, name)) for name in ("ids", "mask", "lengths", "groups"))


def test_reward_stands_on_the_last_policy_token():
    assert reward_at_end([0, 1, 1, 0, 1, 2, 0], 0.5).tolist() == [0, 0, 0, 0, 0.5, 0, 0]
    with pytest.raises(TranscriptError, match="no token was written by the policy"):
        reward_at_end([0, 2, 0], 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mask": [0, 1]}, "one length"),
        ({"ids": [], "mask": []}, "at least 1"),
        ({"mask": [0, 1, 3]}, "mask values"),
        ({"mask": [1, 1, 0]}, "first token"),
        ({"logprobs": [0, float("nan"), 0]}, "log-probability"),
        ({"rewards": [0, float("nan"), 0]}, "not finite"),
        ({"rewards": [0, 0, 1]}, "mask is not 1"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change, message):
    with pytest.raises(TranscriptError, match=message):
        TokenSequence.of(**{"ids": [4, 5, 6], "mask": [0, 1, 0], **change})


LENGTHS = st.lists(st.integers(1, 40), min_size=1, max_size=30)


@given(LENGTHS, st.integers(1, 100))
def test_micro_batches_hold_every_sequence_once_within_the_limit(lengths, limit):
    parts = list(micro_batches(lengths, limit))
    assert sorted(index for part in parts for index in part) == list(range(len(lengths)))
    assert all(len(part) == 1 or len(part) * max(lengths[index] for index in part) <= limit for part in parts)


@given(LENGTHS, st.integers(1, 100))
def test_packed_micro_batches_hold_every_sequence_once_within_the_limit(lengths, limit):
    for layout in ("rows", "row"):
        parts = list(micro_batches(lengths, limit, layout))
        assert sorted(index for part in parts for index in part) == list(range(len(lengths)))
        for part in parts:
            own = [lengths[index] for index in part]
            size = sum(own) if layout == "row" else len(pack(own, max(own))) * max(own)
            assert size <= limit or len(part) == 1 or (layout == "rows" and len(pack(own, max(own))) == 1)


@given(LENGTHS, st.integers(1, 100), st.sampled_from(["padded", "rows", "row"]), st.integers(1, 5))
def test_processes_share_the_sequences_in_as_many_micro_batches_and_about_as_many_tokens(lengths, limit, layout, size):
    parts = [shares(lengths, limit, layout, rank, size) for rank in range(size)]
    assert len({len(own) for own in parts}) == 1
    assert sorted(index for own in parts for part in own for index in part) == list(range(len(lengths)))
    loads = [sum(lengths[index] for part in own for index in part) for own in parts]
    assert max(loads) - min(loads) <= max(lengths)
    cut = [list(micro_batches([lengths[index] for part in own for index in part], limit, layout)) for own in parts]
    assert len(parts[0]) == max(1 if not own else len(own) for own in cut)


@given(LENGTHS, st.integers(1, 100))
def test_packing_holds_every_sequence_once_within_the_capacity(lengths, capacity):
    bins = pack(lengths, capacity)
    assert sorted(index for members in bins for index in members) == list(range(len(lengths)))
    assert all(len(members) == 1 or sum(lengths[index] for index in members) <= capacity for members in bins)
    # First fit: no two bins that are at most half full.
    assert sum(2 * sum(lengths[index] for index in members) <= capacity for members in bins) <= 1


def test_an_empty_batch_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        pad([])
