"""A cache with room holds what transformers' own holds."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from transformers import DynamicCache

from toolenvs.train.engines.roomy import RoomyLayer, roomy_cache

MOVES = st.lists(st.one_of(st.integers(1, 40), st.lists(st.integers(0, 2), min_size=1, max_size=4)), max_size=12)


@given(moves=MOVES)
def test_growing_and_choosing_rows(moves):
    generator = torch.Generator().manual_seed(0)
    roomy, plain, rows = roomy_cache(), DynamicCache(), 3
    for move in moves:
        if isinstance(move, list):  # rows to go on with
            index = torch.tensor([row % rows for row in move])
            roomy.batch_select_indices(index)
            plain.batch_select_indices(index)
            rows = len(move) if plain.get_seq_length() else rows
            continue
        for layer in range(2):
            keys, values = torch.randn(2, rows, 2, move, 4, generator=generator)
            for ours, theirs in zip(roomy.update(keys, values, layer), plain.update(keys, values, layer), strict=True):
                assert torch.equal(ours, theirs)
        assert roomy.get_seq_length() == plain.get_seq_length()
        assert roomy.get_mask_sizes(1, 0) == plain.get_mask_sizes(1, 0)
    for (keys, values, _), (others, other_values, _) in zip(roomy, plain, strict=True):
        assert torch.equal(keys, others)
        assert torch.equal(values, other_values)


def test_a_new_token_copies_nothing_until_the_room_is_full():
    layer = RoomyLayer()
    places = set()
    for _ in range(33):
        layer.update(torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 1, 2))
        places.add(layer.keys.data_ptr())
    assert len(places) == 1
    layer.update(torch.zeros(1, 1, 9, 2), torch.zeros(1, 1, 9, 2))
    assert layer.keys.data_ptr() not in places


def test_what_is_cut_off_is_written_over():
    layer = RoomyLayer()
    layer.update(torch.ones(1, 1, 5, 2), torch.ones(1, 1, 5, 2))
    layer.crop(-3)
    keys, _ = layer.update(2 * torch.ones(1, 1, 1, 2), torch.ones(1, 1, 1, 2))
    assert keys[0, 0, :, 0].tolist() == [1, 1, 2]
