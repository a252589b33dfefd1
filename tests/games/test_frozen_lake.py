"""Maps of FrozenLake, the lake as text, and plans that are played in Gymnasium's own environment."""

import gymnasium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolenvs.errors import ConfigError
from toolenvs.games.frozen_lake import draw_map, plan, render
from toolenvs.tasks.seeding import Draws


@given(seed=st.integers(0, 10**6), side=st.integers(2, 8), frozen=st.sampled_from([0.5, 0.8, 1.0]))
@settings(max_examples=40, deadline=None)
def test_maps_have_a_way_from_start_to_goal(seed: int, side: int, frozen: float) -> None:
    rows = draw_map(Draws("test", seed), side=side, frozen=frozen)
    assert [len(row) for row in rows] == [side] * side
    text = "".join(rows)
    assert (text.count("S"), text.count("G")) == (1, 1)
    if frozen == 1:
        assert "H" not in text
    actions = plan(rows, 0, 64, slippery=False)  # on ice that does not slip there is a way where there is one at all
    assert actions is not None


@given(seed=st.integers(0, 10**6), slippery=st.booleans())
@settings(max_examples=40, deadline=None)
def test_a_plan_reaches_the_goal_with_the_dice_that_it_knows(seed: int, slippery: bool) -> None:
    rows = draw_map(Draws("test", seed))
    actions = plan(rows, seed, 12, slippery=slippery)
    if actions is None:
        return
    env = gymnasium.make("FrozenLake-v1", desc=list(rows), is_slippery=slippery)
    env.reset(seed=seed)
    told = [env.step(action)[1:3] for action in actions]
    assert told == [(0, False)] * (len(actions) - 1) + [(1, True)]
    assert plan(rows, seed, len(actions) - 1, slippery=slippery) is None


def test_start_and_goal_lie_anywhere() -> None:
    places = {"".join(draw_map(Draws("places", seed))).index("G") for seed in range(200)}
    assert places == set(range(16))


def test_the_lake_as_text() -> None:
    env = gymnasium.make("FrozenLake-v1", desc=["SF", "HG"], is_slippery=False)
    observation, _ = env.reset(seed=0)
    assert render(env, observation) == "P _\nO G"
    assert render(env, env.step(2)[0]) == "_ P\nO G"
    assert render(env, env.step(1)[0]) == "_ _\nO √"
    env.reset(seed=0)
    assert render(env, env.step(1)[0]) == "_ _\nX G"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"side": 1}, "side is 1"),
        ({"side": True}, "side is True"),
        ({"frozen": 0}, "frozen is 0"),
        ({"frozen": 2}, "is 2"),
    ],
)
def test_what_is_wrong_is_said(options: dict[str, float], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        draw_map(Draws("test"), **options)  # type: ignore[arg-type]


def test_a_lake_nearly_without_ice_has_a_way_too() -> None:
    rows = draw_map(Draws("holes"), side=16, frozen=0.001)
    assert plan(rows, 0, 3, slippery=False) is not None
