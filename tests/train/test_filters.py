"""Which groups of a rollout are trained on."""

from dataclasses import dataclass

import pytest

from toolenvs.errors import ConfigError
from toolenvs.train import filters


@dataclass(frozen=True)
class Tokens:
    """Stands for what was sampled: `mask` is all that a filter reads."""

    policy_tokens: int


@dataclass(frozen=True)
class Episode:
    """As much of a trajectory as a filter reads."""

    group: str
    success: float | None
    reward: float
    failed: bool = False
    sampled: bool = True

    @property
    def sequences(self):
        return (Tokens(int(self.sampled)),)


def kept(name, episodes, share=1.0):
    return ["".join(sorted({member.group for member in group})) for group in filters.select(name, episodes, share)]


def test_informative_groups_are_kept_by_raw_correctness_and_not_by_reward():
    made = [
        *(Episode("alike", 1.0, reward) for reward in (0.1, 0.9)),
        *(Episode("unlike", success, 1.0) for success in (0.0, 1.0)),
        Episode("alone", 1.0, 1.0),
        Episode("broken", 1.0, 1.0),
        Episode("broken", None, 0.0, failed=True),
        Episode("silent", 0.0, 0.0),
        Episode("silent", 1.0, 1.0, sampled=False),
        *(Episode("unjudged", success, 1.0) for success in (0.0, None)),  # both count as wrong
    ]
    assert kept("informative", made) == ["unlike"]
    assert kept("every", made) == ["alike", "unlike", "alone", "broken", "silent", "unjudged"]
    assert [len(group) for group in filters.select("every", made)] == [2, 2, 1, 1, 1, 2]


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.25, ["d"]), (0.5, ["b", "d"]), (0.75, ["a", "b", "d"]), (1.0, ["a", "b", "c", "d"]), (0.01, ["d"])],
)
def test_uncertain_groups_are_those_whose_returns_spread_most(share, expected):
    spreads = {"a": 0.2, "b": 0.5, "c": 0.0, "d": 2.0}
    made = [Episode(name, 0.0, sign * spread) for name, spread in spreads.items() for sign in (-1, 0, 1)]
    assert kept("uncertain", made, share) == expected


def test_nothing_comes_of_nothing():
    assert all(filters.select(name, [], 0.5) == [] for name in filters.names())


def test_what_is_wrong_is_said():
    with pytest.raises(ConfigError, match="did you mean 'informative'"):
        filters.select("informativ", [])
    with pytest.raises(ConfigError, match="above 0 and at most 1; got 0"):
        filters.select("every", [], 0)


def graded(name, *success, reward=0.0):
    return [Episode(name, each, reward) for each in success]


def test_a_band_of_success_rates_holds_its_ends_and_no_reward_moves_a_group():
    made = [
        *graded("a", 0, 0, 0, 0, 1, reward=9.0),
        *graded("b", 0, 0, 0, 0, 0, 1),
        *graded("c", 1, 1, 1, 1, 0),
        *graded("d", 1, 1, 1, 1, 1, 0),
        *graded("e", 0.5, 0.5),
        *graded("f", 0, 0, reward=0.5),
    ]

    def band(low, high):
        return [group[0].group for group in filters.select("band", made, low=low, high=high)]

    assert band(0.2, 0.8) == ["a", "c", "e"]
    assert band(0.0, 1.0) == ["a", "b", "c", "d", "e", "f"]
    assert band(0.5, 0.5) == ["e"]


def test_rest_keeps_groups_that_spread_and_hold_a_good_episode():
    made = [
        *graded("poor", 0.0, 0.8),
        *graded("good", 0.0, 0.9),
        *graded("flat", 0.95, 1.0),
        *graded("wide", 0.89, 1.0),
        *graded("shaped", 1.0, 1.0),
        Episode("shaped", 1.0, -5.0),
    ]
    assert kept("rest", made) == ["good", "wide"]  # standard deviations: 0.45, 0.055; of "flat" 0.025


def test_rates_that_are_none_are_refused():
    for low, high in ((0.6, 0.4), (-0.1, 1), (0, 1.1)):
        with pytest.raises(ConfigError, match="two shares, the lower first"):
            filters.select("band", [], low=low, high=high)
