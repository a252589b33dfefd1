"""Shop-v0: who knows the way earns everything, who reads nearly so, who does not read little, and no trick pays."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import toolenvs
from toolenvs import loop
from toolenvs.agents.scripted import Oracle, Scripted
from toolenvs.env import ToolEnv
from toolenvs.errors import PageError, TaskError
from toolenvs.protocols import Call
from toolenvs.rollout import Trajectory, collect
from toolenvs.shop import HOME
from toolenvs.tasks.task import Task

BLUEPRINT = toolenvs.load("Shop-v0", tasks={"split": "test"})
FILE = Path(__file__).resolve().parents[2] / "benchmarks" / "shop.py"


@pytest.fixture(scope="module")
def buyers() -> ModuleType:
    """The buyers of benchmarks/shop.py."""
    spec = importlib.util.spec_from_file_location("benchmarks_shop", FILE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def write(**arguments: Any) -> str:
    return BLUEPRINT.protocol.write_call(Call("shop", arguments))


def run(agent: Any, count: int) -> list[Trajectory]:
    return loop.run(collect(BLUEPRINT, agent, [BLUEPRINT.tasks[index] for index in range(count)]))


def test_the_oracle_earns_everything() -> None:
    episodes = run(Oracle(BLUEPRINT), 200)
    assert {(episode.reward, episode.success, episode.ending) for episode in episodes} == {(1.0, 1.0, "done")}


def test_what_buyers_earn_grows_with_what_they_read(buyers: ModuleType) -> None:
    means = {}
    for name in ("reader", "first", "random"):
        episodes = run(buyers.BUYERS[name](BLUEPRINT), 60)
        assert sum(episode.ending == "done" for episode in episodes) >= 59
        means[name] = (
            sum(episode.reward for episode in episodes) / 60, sum(episode.success == 1 for episode in episodes) / 60,
        )  # fmt: skip
    assert means["reader"] > (0.9, 0)
    assert means["reader"][1] > 0.8
    assert means["first"][1] < 0.4
    assert means["random"] < (0.1, 0)
    assert means["random"][1] < 0.05


def test_who_leaves_or_only_fills_the_cart_earns_nothing() -> None:
    for actions in (["<answer>none</answer>"], [write(action="open", url=HOME)]):
        assert {episode.reward for episode in run(Scripted(actions), 3)} == {0.0}
    task = BLUEPRINT.tasks[0]
    episode = play(task, list(task.extra["calls"])[:-1])
    assert episode.step("<answer>none</answer>")[1:4] == (0.0, True, False)
    assert episode.episode is not None
    assert episode.episode.success == 0.0


def play(task: Task, calls: list[dict[str, Any]], **keys: Any) -> ToolEnv:
    env = ToolEnv("Shop-v0", tasks={"split": "test"}, **keys)
    env.reset(options={"task": task, "prefix": [write(**call) for call in calls]})
    return env


@pytest.mark.parametrize("times", [2, 3])
def test_ordering_the_right_thing_more_than_once_does_not_pay(times: int) -> None:
    task = BLUEPRINT.tasks[1]
    *before, add, order = task.extra["calls"]
    calls = [*before, add, *[{"action": "back"}, add] * (times - 1)]
    env = play(task, calls, max_turns=20)
    reward = env.step(write(**{**order, "link": 2 + 2 * times}))[1]
    assert reward == pytest.approx(1 / times)


def test_a_second_order_is_none() -> None:
    task = BLUEPRINT.tasks[1]
    env = play(task, list(task.extra["calls"])[:-1])
    env.step(write(**task.extra["calls"][-1]))
    with pytest.raises(TaskError, match="has ended"):
        env.step(write(**task.extra["calls"][-1]))


def test_no_page_tells_what_an_order_is_worth() -> None:
    task = BLUEPRINT.tasks[2]
    env = play(task, list(task.extra["calls"])[:-1])
    assert env.episode is not None
    text = env.episode.transcript.text.partition(task.question)[2]
    assert "wish" not in text
    assert "reward" not in text


def test_forks_have_carts_of_their_own() -> None:
    task = BLUEPRINT.tasks[3]
    *before, order = task.extra["calls"]
    env = play(task, before)
    left, right = env.fork(2)
    assert left.step(write(**order))[1:4] == (1.0, True, False)
    assert "The cart is empty" in right.step(write(action="click", link=3))[0]
    assert "Cart (1)" in env.step(write(action="open", url="/cart"))[0]
    assert "Cart (0)" in right.step(write(action="open", url="/cart"))[0]
    assert env.step(write(**order))[1] == 1.0
    for one in (env, left, right):
        one.close()


def test_many_at_once_share_no_cart() -> None:
    episodes = run(Oracle(BLUEPRINT), 40)
    carts = [text for episode in episodes for text in [episode.transcript.text] if "Cart (1)" in text]
    assert len(carts) == 40
    assert not any("Cart (2)" in text for text in carts)


@pytest.mark.parametrize("keys", [{"tools.shop.products": 200}, {"tasks.shop": 1}, {"tasks.products": 50}])
def test_wishes_and_shop_belong_together(keys: dict[str, int]) -> None:
    with pytest.raises(PageError, match=r"is not the shop of the tasks; set products = \d+, shop = \d"):
        toolenvs.load("Shop-v0", **keys)


def test_another_shop() -> None:
    keys = {"tools.shop.products": 300, "tasks.products": 300, "tools.shop.shop": 5, "tasks.shop": 5}
    blueprint = toolenvs.load("Shop-v0", **keys)
    tasks = [blueprint.tasks[index] for index in range(10)]
    assert all(episode.success == 1 for episode in loop.run(collect(blueprint, Oracle(blueprint), tasks)))


@pytest.mark.parametrize("products", [0, 10**6])
def test_a_shop_of_a_size_that_cannot_be(products: int) -> None:
    with pytest.raises(PageError, match="a catalogue's products is"):
        toolenvs.load("Shop-v0", **{"tools.shop.products": products})
