"""The tool over Gymnasium environments: what a call may say, whose fault a failure is, ends, scores and copies."""

import asyncio
import threading
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete, Text

import toolenvs
from toolenvs.episode import Episode
from toolenvs.errors import ConfigError, ForkError, InfrastructureError, TaskError, ToolError
from toolenvs.tasks.task import Task
from toolenvs.tools.base import ToolResult
from toolenvs.tools.gym import Options, Session, Tool

HERE = __name__ + ":"


class Counter(gymnasium.Env[Any, Any]):
    """Counts; what it does when is told to it."""

    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012

    def __init__(
        self,
        until: int = 3,
        space: Any = None,
        observe: Any = int,
        info: Any = None,
        reward: Any = 1.0,
        raises: Exception | None = None,
        limit: int = 100,
        held: Any = None,
        drawn: Any = "drawn",
        render_mode: str | None = None,
    ) -> None:
        self.until, self.observe, self.info, self.reward, self.raises = until, observe, info or {}, reward, raises
        self.limit, self.held, self.drawn, self.render_mode = limit, held, drawn, render_mode
        self.action_space = space or Discrete(2)
        self.observation_space = Discrete(1000)
        self.count = self.steps = 0
        self.closed = 0
        self.threads: set[int] = set()

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.count = self.steps = 0
        return self.observe(self.count), {}

    def step(self, action: Any) -> Any:
        self.threads.add(threading.get_ident())
        self.steps += 1
        if self.raises is not None and self.steps == 2:
            raise self.raises
        self.count += action if isinstance(action, int) else len(action)
        return self.observe(self.count), self.reward, self.count >= self.until, self.steps >= self.limit, self.info

    def render(self) -> Any:
        return self.drawn

    def close(self) -> None:
        self.closed += 1


def drawing(env: Any, observation: Any) -> Any:
    return {0: f"<{observation}>", 1: 7}.get(observation, f"<{observation}>")


def opened(seed: Any = 0, kwargs: Any = None, **options: Any) -> Session:
    extra = {"seed": seed} | ({} if kwargs is None else {"kwargs": kwargs})
    tool = Tool(Options(**{"env": HERE + "Counter", "actions": {"Stay": 0, "Go on": 1}, **options}))
    return asyncio.run(tool.open(Task(id="t", question="?", extra=extra), seed=0, progress=0.0))


def call(session: Session, actions: Any) -> ToolResult:
    return asyncio.run(session.call({"actions": actions}))


def told(result: ToolResult) -> tuple[Any, ...]:
    return result.text, result.status, result.ended, result.limit, result.reward, result.data["actions"]


def test_actions_are_done_one_after_another_up_to_the_end() -> None:
    one = opened(feedback="paid {reward}, left {left}: {state}")
    assert told(call(one, "go on")) == ("paid 1, left : 1", "ok", False, "", 1.0, (1,))
    assert told(call(one, " STAY || Go on||go ON || go on ||")) == ("paid 3, left : 3", "ok", True, "", 3.0, (0, 1, 1))
    with pytest.raises(ToolError, match="it is over"):
        call(one, "stay")


def test_what_is_no_action_is_told_and_left_out() -> None:
    one = opened()
    assert told(call(one, "jump || go on || fly")) == (
        "'jump' is no action; there are Stay, Go on\n1", "error", False, "", 1.0, (1,),
    )  # fmt: skip
    result = call(one, "jump" * 100)
    assert result.status == "error"
    assert result.text == f"'{'jump' * 10}' is no action; there are Stay, Go on\n1"
    assert one.game.done == 1


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({}, "must be a text"),
        ({"actions": None}, "must be a text"),
        ({"actions": {"a": 1}}, "must be a text"),
        ({"actions": [["Stay"]]}, "must be a text"),
        ({"actions": ""}, "names no action; there are Stay, Go on"),
        ({"actions": " || "}, "names no action"),
        ({"actions": []}, "names no action"),
        ({"actions": "Stay", "speed": 2}, "no argument 'speed'"),
    ],
)
def test_a_call_that_names_nothing(arguments: dict[str, Any], match: str) -> None:
    with pytest.raises(ToolError, match=match):
        asyncio.run(opened().call(arguments))


def test_lists_and_numbers_do_too() -> None:
    assert call(opened(), ["Stay", "Go on"]).data["actions"] == (0, 1)
    assert call(opened(actions={}), 1).data["actions"] == (1,)
    assert call(opened(actions={}), "0||1").data["actions"] == (0, 1)


def test_limits_of_a_turn_and_of_an_episode() -> None:
    one = opened(max_actions_per_turn=2, max_actions=3, kwargs={"until": 100}, feedback="{left}: {state}")
    assert told(call(one, "go on || stay || go on")) == (
        "Only the first 2 of 3 actions were read.\n1: 1", "ok", False, "", 2.0, (1, 0),
    )  # fmt: skip
    assert told(call(one, "go on || go on"))[2:] == (True, "actions", 1.0, (1,))
    one = opened(max_actions=3)
    assert told(call(one, "go on || go on || go on"))[2:4] == (True, "")  # its own end comes first


def test_a_limit_of_the_environment_is_no_end_of_the_task() -> None:
    assert told(call(opened(kwargs={"limit": 1}), "go on"))[2:4] == (True, "truncated")
    assert told(call(opened(kwargs={"limit": 1, "until": 1}), "go on"))[2:4] == (True, "")


@pytest.mark.parametrize(
    ("info", "options", "score"),
    [
        ({}, {}, None),
        ({"success": True}, {}, 1.0),
        ({"is_success": np.bool_(False)}, {}, 0.0),
        ({"success": 0.25}, {}, 0.25),
        ({"won": 1, "success": 0}, {"success": "won"}, 1.0),
        ({"success": True}, {"success": "won"}, None),
        ({"success": None}, {"solved_reward": 1.0}, 1.0),
        ({}, {"solved_reward": 1.5}, 0.0),
    ],
)
def test_who_says_that_it_is_solved(info: dict[str, Any], options: dict[str, Any], score: float | None) -> None:
    assert call(opened(kwargs={"info": info}, **options), "go on").score == score


@pytest.mark.parametrize("value", ["yes", 2, -1, float("nan"), [True]])
def test_a_success_that_is_none_is_a_fault_of_the_environment(value: Any) -> None:
    with pytest.raises(InfrastructureError, match="success is"):
        call(opened(kwargs={"info": {"success": value}}), "go on")


@pytest.mark.parametrize("reward", [float("nan"), float("inf")])
def test_so_is_a_reward_that_is_no_number(reward: float) -> None:
    with pytest.raises(InfrastructureError, match="paid"):
        call(opened(kwargs={"reward": reward}), "go on")


def deep() -> Any:
    nested: Any = 1
    for _ in range(5000):
        nested = {"a": nested}
    return nested


@pytest.mark.parametrize(
    "stepped",
    [
        None,
        (1, 0.0, True),
        (1, None, False, False, {}),
        (1, np.array([1, 2]), False, False, {}),
        (1, 10**400, False, False, {}),
        (1, 0.0, np.array([True, False]), False, {}),
        (1, 0.0, False, False, None),
        (1, 0.0, False, False, [1]),
        (1, 0.0, True, False, {"success": 10**400}),
        (10**5000, 0.0, False, False, {}),
        (deep(), 0.0, False, False, {}),
    ],
    ids=lambda stepped: f"{type(stepped).__name__}",
)
@pytest.mark.parametrize("threaded", [False, True])
def test_so_is_a_step_that_is_none(stepped: Any, threaded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(threaded=threaded)
    monkeypatch.setattr(session.game.env, "step", lambda action: stepped)
    with pytest.raises(InfrastructureError):
        call(session, "go on")


@pytest.mark.parametrize("begun", [None, "a state", (1,), (1, {}, 2)])
def test_so_is_a_beginning_that_is_none(begun: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Counter, "reset", lambda self, **given: begun)
    with pytest.raises(InfrastructureError, match=r"reset\(\) gave"):
        opened()


def test_an_environment_that_ends_the_process_ends_its_episode_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(*_: Any, **__: Any) -> None:
        raise SystemExit(3)

    session = opened()
    monkeypatch.setattr(session.game.env, "step", leave)
    with pytest.raises(InfrastructureError, match="SystemExit: 3"):
        call(session, "go on")
    monkeypatch.setattr(Counter, "__init__", leave)
    with pytest.raises(InfrastructureError, match="SystemExit: 3"):
        opened()


def test_an_exception_is_a_fault_too_and_a_refused_action_is_told() -> None:
    with pytest.raises(InfrastructureError, match=r"step\(1\) raised KeyError"):
        call(opened(kwargs={"raises": KeyError("x")}), "go on || go on")
    for error in (gymnasium.error.InvalidAction("the door is shut"), ToolError("the door is shut")):
        result = call(opened(kwargs={"raises": error}), "go on || go on || go on")
        assert told(result) == ("the door is shut\n1", "error", False, "", 1.0, (1,))


def test_actions_that_are_text() -> None:
    one = opened(kwargs={"space": Text(4, min_length=1, charset="abc"), "until": 9}, actions={})
    assert told(call(one, "ab || abcabc || c")) == ("'abcabc' is no action\n3", "error", False, "", 2.0, ("ab", "c"))


def test_names_that_the_environment_gives() -> None:
    one = opened(actions={})
    one.game.env.unwrapped.action_names = ("Low", "High")  # type: ignore[attr-defined]
    assert call(one, "high").data["actions"] == (1,)
    one.game.env.unwrapped.action_names = ("High", "Low")  # type: ignore[attr-defined]
    assert call(one, "high").data["actions"] == (0,)
    one.game.env.unwrapped.action_names = {"Up": 1}  # type: ignore[attr-defined]
    assert call(one, "low || up").data["wrong"] == ("low",)


def test_actions_may_begin_at_another_number() -> None:
    one = opened(actions={}, kwargs={"space": Discrete(2, start=1)})
    assert call(one, "1 || 0").data == {"actions": (1,), "rewards": (1.0,), "wrong": ("0",)}


@pytest.mark.parametrize(
    ("observe", "text"),
    [
        (str, "0"),
        (lambda n: np.array([n, 1.5]), "[0.  1.5]"),
        (lambda n: np.array(n), "0"),
        (lambda n: (n, "b", np.int64(4)), "0, b, 4"),
        (lambda n: {"at": n, "map": np.zeros((2, 2), int)}, "at: 0\nmap: [[0 0]\n [0 0]]"),
    ],
)
def test_observations_as_text(observe: Any, text: str) -> None:
    assert opened(kwargs={"observe": observe}).game.state == text


def test_what_the_environment_draws() -> None:
    assert opened(render="ansi").game.state == "drawn"
    coloured = "S\x1b[41mF\x1b[0mH\n\x1b[33;1mG\x1b[0m\x1b[2J\n"
    assert opened(render="ansi", kwargs={"drawn": coloured}).game.state == "S[F]H\n[G]"
    assert opened(render=HERE + "drawing").game.state == "<0>"
    with pytest.raises(InfrastructureError, match="which is no text"):
        opened(render="ansi", kwargs={"drawn": None})
    with pytest.raises(InfrastructureError, match="gave 7, which is no text"):
        call(opened(render=HERE + "drawing"), "go on")


def test_gymnasiums_own_environments() -> None:
    one = opened(env="Blackjack-v1", actions={"stick": 0, "hit": 1}, solved_reward=1.0)
    assert len(one.game.state.split(", ")) == 3
    result = call(one, "stick")
    assert (result.ended, result.limit, result.score) == (True, "", float(result.reward >= 1))
    one = opened(env="CliffWalking-v1", actions={}, render="ansi")
    assert one.game.state.count("\n") == 3
    assert call(one, "0").reward == -1


async def test_forks_have_their_own_state_and_the_same_dice() -> None:
    tool = Tool(Options(env="FrozenLake-v1", kwargs={"is_slippery": True}))
    one = await tool.open(Task(id="t", question="?", extra={"seed": 3}), seed=0, progress=0.0)
    await one.call({"actions": "2"})
    other = await one.fork()
    assert other.game.env is not one.game.env
    told = [[(await session.call({"actions": "3"})).text for _ in range(6)] for session in (one, other)]
    assert told[0] == told[1]
    assert one.game.done == other.game.done == 7


async def test_what_cannot_be_copied_says_so() -> None:
    tool = Tool(Options(env=HERE + "Counter", kwargs={"held": threading.Lock()}))
    one = await tool.open(Task(id="t", question="?", extra={"seed": 3}), seed=0, progress=0.0)
    with pytest.raises(ForkError, match=r"Counter cannot be copied: TypeError.*lock"):
        await one.fork()


async def test_it_is_closed_once() -> None:
    tool = Tool(Options(env=HERE + "Counter"))
    one = await tool.open(Task(id="t", question="?", extra={"seed": 3}), seed=0, progress=0.0)
    env: Any = one.game.env
    await one.close()
    await one.close()
    assert env.closed == 1


class Meeting(Counter):
    """Goes on when sixteen are there."""

    barrier = threading.Barrier(16)

    def step(self, action: Any) -> Any:
        self.barrier.wait(60)
        return super().step(action)


async def test_on_threads_others_go_on_meanwhile() -> None:
    tool = Tool(Options(env=HERE + "Meeting", threaded=True))
    task = Task(id="t", question="?", extra={"seed": 3})
    many = [await tool.open(task, seed=0, progress=0.0) for _ in range(16)]
    results = await asyncio.gather(*(one.call({"actions": "1"}) for one in many))
    assert [result.text for result in results] == ["1"] * 16
    threads = set().union(*(one.game.env.threads for one in many))  # type: ignore[attr-defined]
    assert len(threads) == 16
    assert threading.get_ident() not in threads


class Waiting(Counter):
    """Steps when it may."""

    may_go = threading.Event()

    def step(self, action: Any) -> Any:
        self.may_go.wait(60)
        return super().step(action)


async def test_a_deadline_ends_the_wait_for_a_thread() -> None:
    changes = {"env": HERE + "Waiting", "threaded": True, "render": "observation", "kwargs": {"space": Discrete(4)}}
    blueprint = toolenvs.load("FrozenLake-v0", user="{question}", deadline_s=0.05, tools={"gym": changes})
    episode = Episode(blueprint, Task(id="t", question="?", extra={"seed": 3}))
    try:
        turn = await episode.step("so</think><answer>Up</answer>")
        assert (turn.ending, turn.truncated, turn.fault) == ("deadline", True, None)
    finally:
        Waiting.may_go.set()


async def test_what_a_prompt_says_of_a_task_is_made_once() -> None:
    tool = Tool(Options(env=HERE + "Counter", actions={"Stay": 0, "Go on": 1}))
    task = Task(id="t", question="?", extra={"seed": 3})
    assert [tool.context[name](task) for name in ("state", "actions")] == ["0", "Stay, Go on"]
    begun = tool._begun
    assert tool.context["state"](task) == "0"
    assert tool._begun is begun
    await tool.check()


class Moody(Counter):
    """Begins otherwise each time."""

    begun = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        Moody.begun += 1
        return Moody.begun, {}


async def test_a_prompt_says_nothing_that_is_not_so() -> None:
    tool = Tool(Options(env=HERE + "Moody"))
    task = Task(id="t", question="?", extra={"seed": 3})
    tool.context["actions"](task)
    await (await tool.open(task, seed=0, progress=0.0)).close()  # the state was not shown
    tool.context["state"](task)
    with pytest.raises(ConfigError, match="begins otherwise each time with one seed"):
        await tool.open(task, seed=0, progress=0.0)
    await (await tool.open(Task(id="u", question="?", extra={"seed": 3}), seed=0, progress=0.0)).close()


async def test_the_check_finds_what_is_broken_and_leaves_what_tasks_bring() -> None:
    with pytest.raises(InfrastructureError, match="which is no text"):
        await Tool(Options(env=HERE + "Counter", kwargs={"drawn": 1}, render="ansi")).check()
    await Tool(Options(env=HERE + "needy")).check()


def broken(**kwargs: Any) -> Counter:
    raise KeyError("table")


def test_an_environment_that_cannot_be_made_is_a_fault_of_its_own() -> None:
    with pytest.raises(InfrastructureError, match=r"broken: it was not made: KeyError: 'table'"):
        opened(env=HERE + "broken")
    with pytest.raises(TaskError, match="2 boxes and 1 targets"):
        opened(kwargs={"level": ["#@$$.#"]}, env="toolenvs.games:Sokoban", actions={})


def needy(level: str, **kwargs: Any) -> Counter:
    return Counter(**kwargs)


@pytest.mark.parametrize(
    ("seed", "kwargs", "match"),
    [
        (None, None, "does not say how"),
        (True, None, "does not say how"),
        (-1, None, "does not say how"),
        ("3", None, "does not say how"),
        (0, [1], "does not say how"),
        (0, {"levle": 1}, "cannot be made with levle"),
    ],
)
def test_a_task_that_does_not_fit(seed: Any, kwargs: Any, match: str) -> None:
    with pytest.raises(TaskError, match=match):
        opened(seed, kwargs)


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"env": "FrozenLak-v1"}, "Gymnasium has no environment 'FrozenLak-v1'"),
        ({"env": "toolenvs.games:Nothing"}, "names nothing that can be imported"),
        ({"env": "no.such.module:Some-v0"}, "Gymnasium has no environment"),
        ({"env": "toolenvs.games.bandit:__name__"}, "cannot be called"),
        ({"env": HERE + "Counter", "render": "rgb"}, "names nothing that can be imported"),
        ({"env": HERE + "Counter", "separator": " "}, "separator is blank"),
        ({"env": HERE + "Counter", "actions": {"Up": 0, "up ": 1}}, "names must be different"),
        ({"env": HERE + "Counter", "max_actions": 0}, "max_actions"),
    ],
)
def test_what_is_wrong_is_said(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        Options(**options)


def test_numbers_and_spaces_that_do_not_fit() -> None:
    with pytest.raises(ConfigError, match="Far = 2 is no action of .*: 0 to 1"):
        call(opened(actions={"Far": 2}), "far")
    with pytest.raises(ConfigError, match="only discrete ones and text"):
        opened(kwargs={"space": Box(0, 1)})
