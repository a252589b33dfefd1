"""`Unicode` holds every string up to its length and travels through Gymnasium's vector machinery unchanged."""

import copy
import multiprocessing
import pickle

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.spaces.utils import flatten, flatten_space, unflatten
from gymnasium.vector.utils import batch_space, create_shared_memory, read_from_shared_memory, write_to_shared_memory
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.spaces import Unicode

any_text = st.text(st.characters(exclude_categories=()), max_size=40)


@given(any_text)
def test_contains_every_string_up_to_its_length(text: str) -> None:
    assert text in Unicode(40)
    assert (text in Unicode(3)) == (len(text) <= 3)


@pytest.mark.parametrize("value", [None, 3, b"bytes", ["a"], np.str_("a").tobytes()])
def test_contains_nothing_but_strings(value: object) -> None:
    assert value not in Unicode(10)


@given(any_text)
def test_flattening_round_trips(text: str) -> None:
    space = Unicode(40)
    codes = flatten(space, text)
    assert codes in flatten_space(space)
    assert unflatten(space, codes) == text


@given(st.lists(any_text, min_size=3, max_size=3))
def test_shared_memory_is_a_live_view(texts: list[str]) -> None:
    space = Unicode(40)
    memory = create_shared_memory(space, n=3, ctx=multiprocessing)
    view = read_from_shared_memory(space, memory, n=3)
    for index, text in enumerate(texts):
        write_to_shared_memory(space, index, text, memory)
    kept = copy.deepcopy(view)
    assert kept == tuple(texts) == view
    assert view in batch_space(space, 3)
    write_to_shared_memory(space, 0, "later", memory)
    assert view[0] == "later"
    assert kept[0] == texts[0]


def test_samples_are_reproducible_valid_and_many_scripted() -> None:
    first, second = Unicode(500, seed=7), Unicode(500, seed=7)
    samples = [first.sample() for _ in range(50)]
    assert samples == [second.sample() for _ in range(50)]
    assert all(s in first for s in samples)
    assert any("一" <= c <= "鿿" for s in samples for c in s)
    assert any(ord(c) > 0xFFFF for s in samples for c in s)
    "".join(samples).encode()  # no lone surrogates


@pytest.mark.parametrize(("low", "high"), [(0, 0), (0, 1), (5, 5), (3, 9), (300, 400)])
def test_samples_respect_both_lengths(low: int, high: int) -> None:
    space = Unicode(high, min_length=low, seed=0)
    assert all(low <= len(space.sample()) <= high for _ in range(40))


def test_sample_takes_gymnasiums_mask_of_a_length() -> None:
    assert len(Unicode(20, seed=0).sample(mask=(7, None))) == 7


def test_equality_pickling_and_copying() -> None:
    space = Unicode(20, seed=1)
    assert space == Unicode(20) != Unicode(21)
    assert space != gym.spaces.Text(20)
    assert pickle.loads(pickle.dumps(space)) == space == copy.deepcopy(space)
    assert repr(space) == "Unicode(20, min_length=0)"
    assert len(pickle.dumps(space)) < 2000
