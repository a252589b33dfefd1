"""Several sequences of one episode: laid end to end, they are one row; taken apart, each has its own again."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.train.advantages.dr_grpo import estimate as dr_grpo
from toolenvs.train.advantages.grpo import estimate as grpo
from toolenvs.train.batching import TokenSequence, pad
from toolenvs.train.episodes import EpisodeRows


def sequence(mask: list[int], reward: float, group: int, episode: int | None) -> TokenSequence:
    mask = [0, *mask, 1]
    rewards = np.zeros(len(mask))
    rewards[-1] = reward
    return replace(TokenSequence.of(ids=range(len(mask)), mask=mask, rewards=rewards, group=group), episode=episode)


_MASKS = st.lists(st.sampled_from([0, 1, 2]), max_size=6)
_EPISODES = st.lists(st.lists(st.tuples(_MASKS, st.integers(-2, 2)), min_size=1, max_size=4), min_size=1, max_size=5)


@given(_EPISODES)
def test_joining_and_splitting(episodes: list[list[tuple[list[int], int]]]) -> None:
    made = [
        sequence(mask, reward, number % 2, number) for number, parts in enumerate(episodes) for mask, reward in parts
    ]
    batch = pad(made)
    rows = EpisodeRows(batch)
    assert (rows.split(rows.join(batch.ids)) == batch.ids).all()
    joined, mask = rows.join(batch.rewards), rows.join(batch.mask)
    assert joined.shape[0] == len(episodes) == len(rows.groups)
    for number, parts in enumerate(episodes):
        assert rows.groups[number] == number % 2
        assert float(joined[number].sum()) == sum(reward for _, reward in parts)
        assert int((mask[number] == 1).sum()) == sum(part.count(1) + 1 for part, _ in parts)


@pytest.mark.parametrize("estimate", [grpo, dr_grpo])
def test_an_episode_counts_once_and_its_sequences_share_the_advantage(estimate: object) -> None:
    parts = [
        sequence([0, 1], 0.0, 0, 0), sequence([2, 0], 0.0, 0, 0), sequence([0], 1.0, 0, 0),
        sequence([0], 0.0, 0, 1), sequence([1], 0.0, 0, 2),
    ]  # fmt: skip
    batch = pad(parts)
    rows = EpisodeRows(batch)
    advantages = rows.split(estimate(rows.join(batch.rewards), rows.join(batch.mask), rows.groups))  # type: ignore[operator]
    alone = pad([sequence([0], reward, 0, None) for reward in (1.0, 0.0, 0.0)])
    expected = estimate(alone.rewards, alone.mask, alone.groups)[:, 2].tolist()  # type: ignore[operator]
    for number, (episode, row) in enumerate(zip((0, 0, 0, 1, 2), advantages, strict=True)):
        policy = batch.mask[number] == 1
        assert row[policy].tolist() == pytest.approx([expected[episode]] * int(policy.sum()))
        assert not row[~policy].any()


def test_sequences_that_are_episodes_of_their_own_stay_as_they_are() -> None:
    batch = pad([sequence([1], 1.0, 0, None), sequence([0, 0], 0.0, 1, None)])
    rows = EpisodeRows(batch)
    assert rows.join(batch.rewards) is batch.rewards
    assert rows.split(batch.rewards) is batch.rewards
    assert torch.equal(rows.groups, batch.groups)
