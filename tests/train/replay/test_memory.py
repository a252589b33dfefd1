"""What a replay remembers: no more than fits, nothing too old, and to the last bit through a checkpoint."""

import dataclasses
import io

import numpy as np
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolenvs.train.replay._memory import Group, Memory

CHECKS = settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])


@CHECKS
@given(
    capacity=st.integers(1, 6),
    max_age=st.integers(0, 4),
    versions=st.lists(st.integers(0, 8), max_size=20).map(sorted),
)
def test_it_never_holds_more_or_older_than_it_may(episode, capacity, max_age, versions):
    memory = Memory(capacity, max_age)
    held: list[tuple[str, int]] = []
    for place, version in enumerate(versions):
        memory.forget(lambda old, now=version: now - old)
        memory.add(Group.of([episode(f"t{place}", version=version)]))
        young = [(task, old) for task, old in held if not max_age or version - old <= max_age]
        held = [*young, (f"t{place}", version)][-capacity:]
        assert [(group.task, group.version) for group in memory.groups] == held


MEMBER = st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.integers(0, 9), st.floats(-3, 0), st.integers(1, 3))


@CHECKS
@given(groups=st.lists(st.lists(MEMBER, min_size=1, max_size=3), max_size=4))
def test_a_checkpoint_gives_it_back_to_the_last_bit(episode, groups):
    memory = Memory(10)
    for place, members in enumerate(groups):
        made = [
            episode(f"t{place}", success, version=version, logprob=logprob, sequences=sequences)
            for success, version, logprob, sequences in members
        ]
        memory.add(Group.of(made))
    file = io.BytesIO()
    torch.save(memory.state_dict(), file)
    file.seek(0)
    again = Memory(10)
    again.load_state_dict(torch.load(file, weights_only=True))
    assert len(again) == len(groups)
    for before, after in zip(memory.groups, again.groups, strict=True):
        assert (before.task, before.version, before.rate) == (after.task, after.version, after.rate)
        for old, new in zip(before.episodes, after.episodes, strict=True):
            assert (old.version, old.reward, old.success, old.surprisal) == (
                new.version,
                new.reward,
                new.success,
                new.surprisal,
            )
            for first, second in zip(old.sequences, new.sequences, strict=True):
                for field in dataclasses.fields(first):
                    assert np.array_equal(getattr(first, field.name), getattr(second, field.name))


def test_an_episode_knows_who_sampled_it_and_how_surprising_it_was(episode):
    [made] = Group.of([episode(success=0.5, reward=-1.25, version=6, logprob=-2.0, sequences=2)]).episodes
    assert (made.version, made.success, made.reward, made.surprisal) == (6, 0.5, -1.25, 1.5)
    group = Group.of([episode(version=6), episode(success=0.0, version=7)])
    assert (group.version, group.rate) == (7, 0.5)
