"""The bandit: what its arms pay, and what counts as right."""

import warnings

import pytest
from gymnasium.utils.env_checker import check_env

from toolenvs.errors import ConfigError
from toolenvs.games import Bandit


def test_it_is_a_gymnasium_environment() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(Bandit(), skip_render_check=True)
        check_env(Bandit(render_mode="ansi"), skip_render_check=True)


def test_the_low_arm_pays_little_always_and_the_high_one_more_on_average() -> None:
    env = Bandit(render_mode="ansi")
    paid: dict[str, list[float]] = {"Phoenix": [], "Dragon": []}
    for name, rewards in paid.items():
        for seed in range(2_000):
            env.reset(seed=seed)
            assert env.render() == "The arms: " + ", ".join(env.action_names)
            _, reward, terminated, truncated, info = env.step(env.action_names.index(name))
            assert (terminated, truncated, info["success"]) == (True, False, name == "Dragon")
            assert env.render() == f"{name} paid {reward:g}."
            rewards.append(reward)
    assert set(paid["Phoenix"]) == {0.1}
    assert set(paid["Dragon"]) == {0.0, 1.0}
    assert 0.22 < sum(paid["Dragon"]) / 2_000 < 0.28


def test_the_order_of_the_arms_says_nothing() -> None:
    env = Bandit()
    first = 0
    for seed in range(500):
        env.reset(seed=seed)
        first += env.action_names[0] == "Dragon"
    assert 200 < first < 300
    env.reset(seed=3)
    names = env.action_names
    env.reset(seed=3)
    assert env.action_names == names


def test_what_is_wrong_is_said() -> None:
    for low, high in (("a", "A"), ("", "b")):
        with pytest.raises(ConfigError, match="two different names"):
            Bandit(low, high)
    with pytest.raises(ConfigError, match="high_chance"):
        Bandit(high_chance=2)
