"""What holds of every selector, and of finding one."""

import io

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolenvs.errors import ConfigError
from toolenvs.train import selectors
from toolenvs.train.sampler import TaskSampler
from toolenvs.train.streams import generator

OPTIONS = {"dots": {"reference": 5, "interval": 2, "tau": 0.1}, "hard_focus": {"min_tasks": 2}}


def opened(name, tasks, seed=0, **options):
    return selectors.open_selector(name, tasks, seed, {**OPTIONS.get(name, {}), **options})


def rate(index):
    return None if index % 5 == 4 else (index % 3) / 2


def stored(state):
    """The state as a checkpoint gives it back."""
    file = io.BytesIO()
    torch.save(state, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


@pytest.mark.parametrize("name", selectors.names())
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(size=st.integers(3, 12), counts=st.lists(st.integers(0, 7), min_size=1, max_size=6), data=st.data())
def test_what_is_taken_is_of_the_set_and_a_resumed_run_goes_on_alike(name, make_tasks, ask, size, counts, data):
    tasks = make_tasks(size)
    cut = data.draw(st.integers(0, len(counts)))
    whole, first, second = (opened(name, tasks, seed=3) for _ in range(3))
    taken = [ask(whole, count, step / len(counts), rate) for step, count in enumerate(counts)]
    assert all(len(indices) == count for (_, indices), count in zip(taken, counts, strict=True))
    assert all(0 <= index < size for tried, indices in taken for index in (*tried, *indices))
    again = [ask(first, count, step / len(counts), rate) for step, count in enumerate(counts[:cut])]
    second.load_state_dict(stored(first.state_dict()))
    again += [ask(second, count, (cut + step) / len(counts), rate) for step, count in enumerate(counts[cut:])]
    assert again == taken


def test_the_uniform_one_takes_what_a_run_always_took(make_tasks):
    """A shuffle of an epoch is numpy's, from its stream, the seed and the epoch alone."""
    selector = opened("uniform", make_tasks(7), seed=2)
    taken = [index for _ in range(3) for index in selector.take(5, 0.0)]
    expected = [index for epoch in range(3) for index in generator("tasks", 2, epoch).permutation(7).tolist()]
    assert taken == expected[:15] == TaskSampler(7, 2).take(15)


@pytest.mark.parametrize("name", ["uniform", "hard_focus"])
def test_an_epoch_holds_every_task_once(name, make_tasks):
    selector = opened(name, make_tasks(11))
    assert sorted(selector.take(4, 0.0) + selector.take(7, 0.0)) == list(range(11))


def test_tasks_that_nobody_asked_for_are_not_minded(make_tasks):
    for name in selectors.names():
        selector = opened(name, make_tasks(6))
        selector.observe({"of another set": [1.0]})
        assert len(selector.take(3, 0.0)) == 3


def test_what_is_wrong_is_said(make_tasks):
    with pytest.raises(ConfigError, match="did you mean 'uniform'"):
        opened("unifrom", make_tasks(3))
    with pytest.raises(ConfigError, match="selector_options of 'dots': unknown key 'temprature'; did you mean"):
        opened("dots", make_tasks(3), temprature=1.0)
    with pytest.raises(ConfigError, match="tau = 0 is out of range"):
        opened("dots", make_tasks(3), tau=0.0)
    with pytest.raises(ConfigError, match="keep = 0 is out of range"):
        opened("hard_focus", make_tasks(3), keep=0.0)


def test_a_set_that_is_too_large_to_look_at_is_refused_by_all_but_the_uniform_one(make_tasks):
    class Endless:
        name = "endless"

        def __len__(self):
            return 10**12

    assert len(opened("uniform", make_tasks(3)).take(2, 0.0)) == 2
    for name in ("dots", "hard_focus", "curriculum"):
        with pytest.raises(ConfigError, match="endless has 1,000,000,000,000.*tasks.limit"):
            opened(name, Endless())
