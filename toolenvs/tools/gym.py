"""Any text or discrete Gymnasium environment as the thing that is acted upon.

A page names the environment, and what its actions are called; the task brings its seed. A call does one action or
several, and is answered with the state as text. What a step pays becomes the call's reward, and the environment's own
end is the episode's.

The environment is trusted code: it runs in this process, as the page's other parts do. An error of its own is
infrastructure; an action that is none is told to the model.
"""

import asyncio
import copy
import functools
import importlib
import math
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import gymnasium
import numpy as np
from gymnasium.spaces import Discrete, Text

from toolenvs.errors import (
    ConfigError,
    ForkError,
    InfrastructureError,
    MissingExtraError,
    TaskError,
    ToolenvsError,
    ToolError,
)
from toolenvs.schema import at_least
from toolenvs.tasks.task import Task
from toolenvs.tools.base import ToolResult

Env = gymnasium.Env[Any, Any]
T = TypeVar("T")

_SHOWN_CHARS = 40
"""Of an action that is none, in the answer to it."""
_ROUNDING = 1e-9
_MOST_THREADS = 128
_COLOURED = re.compile(r"\x1b\[[0-9;]*[1-9][0-9;]*m(.*?)\x1b\[0?m", re.DOTALL)
_ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[tools.gym]`."""

    env: str
    """An id that Gymnasium knows ("Blackjack-v1"; "some.module:Some-v0" imports the module first), or a class or
    function that gives an environment, "some.module:Some"."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Its arguments; those that a task brings in `extra["kwargs"]` stand before them."""
    actions: Mapping[str, int] = field(default_factory=dict)
    """What each discrete action is called. Without it: the environment's own `action_names` where it has some, which
    may be others in each episode, or else numbers. Case does not matter. An environment whose actions are text takes
    them as they are."""
    separator: str = "||"
    """What stands between the actions of one call."""
    max_actions_per_turn: int | None = None
    """Actions of a call that are done; those behind them are not."""
    max_actions: int | None = None
    """Actions of an episode; it ends as "actions" when they are spent."""
    render: str = "observation"
    """How the state is written: "observation", as it is given; "ansi", as the environment draws it, with what it
    colours in brackets; or "some.module:function", of the environment and the observation."""
    feedback: str = "{state}"
    """What a call is answered with: `{state}`; `{reward}`, what the call was paid; `{left}`, actions that are left."""
    success: str = ""
    """The key of `info` that says, with true and false or 0 to 1, whether the task is solved; "" for "success" or
    "is_success", whichever there is."""
    solved_reward: float | None = None
    """The sum of an episode's rewards from which on it is solved, for an environment that says nothing in `info`."""
    threaded: bool = False
    """Whether it begins, and steps, on a thread: for an environment that waits for something, so that other episodes go
    on meanwhile, and the episode's deadline ends the wait. One that computes is slower so."""
    description: str = "Acts on an environment, and shows what it is like then."
    """Shown to models that choose functions by their schema."""

    def __post_init__(self) -> None:
        at_least(1, max_actions_per_turn=self.max_actions_per_turn, max_actions=self.max_actions)
        if not self.separator.strip():
            raise ConfigError("separator is blank, so that actions of several words would fall apart; take '||' or ','")
        folded = [name.strip().casefold() for name in self.actions]
        if len(set(folded)) < len(folded) or not all(folded):
            raise ConfigError(f"actions: {', '.join(self.actions)}: names must be different, whatever their case")
        _maker(self.env)
        if self.render not in ("observation", "ansi"):
            _attribute(self.render, "render")


class Tool:
    """The environment; each episode has one of its own."""

    name: ClassVar[str] = "gym"

    def __init__(self, options: Options) -> None:
        self.options = options
        self.description = options.description
        what = f"What to do: an action, or several with {options.separator} between them."
        self.parameters: Mapping[str, Any] = {
            "type": "object",
            "properties": {"actions": {"type": "string", "description": what}},
            "required": ["actions"],
        }
        self._begun: tuple[Task, dict[str, str]] | None = None
        self._shown: Task | None = None

    @property
    def context(self) -> dict[str, Callable[[Task], str]]:
        """What a prompt may say of a task: `{state}`, in which it begins, and `{actions}`, what they are called."""
        return {name: functools.partial(self._tell, name) for name in ("state", "actions")}

    def _tell(self, name: str, task: Task) -> str:
        """How an episode begins; kept for the next question about the same task."""
        if self._begun is None or self._begun[0] is not task:
            game = Game(self.options, task)
            try:
                told = {"state": game.state, "actions": ", ".join(game.names)}
            finally:
                game.close()
            self._begun = (task, told)
        if name == "state":
            self._shown = task
        return self._begun[1][name]

    async def check(self) -> None:
        """Begin one episode, where the page's own arguments are enough for it.

        Raises:
            InfrastructureError: the environment does not work here.
        """
        try:
            game = Game(self.options, Task(id="check", question="", extra={"seed": 0}))
        except TaskError:  # its tasks bring what is missing
            return
        game.close()

    async def open(self, task: Task, *, seed: int, progress: float) -> "Session":
        """A session: the environment as the task's seed begins it; the episode's own seed changes nothing.

        Raises:
            TaskError: the task names no seed, or the environment cannot be made as it says.
            ConfigError: the environment begins otherwise than its prompt says.
            InfrastructureError: the environment failed.
        """
        shown = self._begun[1]["state"] if self._begun is not None and self._shown is self._begun[0] is task else None
        threaded = self.options.threaded
        game = await _on_a_thread(Game, self.options, task) if threaded else Game(self.options, task)
        if shown not in (None, game.state):
            game.close()
            raise ConfigError(
                f"tools.gym: {self.options.env} begins otherwise each time with one seed, so that the prompt's "
                "{state} is not what the policy acts in: leave it out of prompt.user, or mend reset(seed)"
            )
        return Session(game)

    async def close(self) -> None:
        """Nothing is shared."""


class Game:
    """An environment in the course of one episode, as text.

    Args:
        options: of the tool.
        task: `extra["seed"]` resets the environment, `extra["kwargs"]` are arguments of it.

    Raises:
        TaskError: the task names no seed, or the environment cannot be made as it says.
        InfrastructureError: the environment failed.
    """

    def __init__(self, options: Options, task: Task) -> None:
        self.options = options
        seed, kwargs = task.extra.get("seed"), task.extra.get("kwargs", {})
        if not isinstance(seed, int) or isinstance(seed, bool) or seed < 0 or not isinstance(kwargs, Mapping):
            raise TaskError(
                f"task {task.id!r} does not say how {options.env} begins: extra['seed'] must be a whole number from 0 "
                "on, and extra['kwargs'] a table, where there is one"
            )
        kwargs = {**options.kwargs, **kwargs, **({"render_mode": "ansi"} if options.render == "ansi" else {})}
        try:
            self.env: Env = _maker(options.env)(**kwargs)
        except (gymnasium.error.Error, TypeError, ValueError) as error:
            given = ", ".join(kwargs) or "no arguments"
            raise TaskError(f"task {task.id!r}: {options.env} cannot be made with {given}: {error}") from error
        except ToolenvsError:
            raise
        except (Exception, SystemExit) as error:
            raise InfrastructureError(f"{options.env}: it was not made: {type(error).__name__}: {error}") from error
        if not isinstance(self.env.action_space, Discrete | Text):
            self.env.close()
            raise ConfigError(
                f"tools.gym: the actions of {options.env} are {self.env.action_space}: only discrete ones and text can "
                "be written; wrap the environment"
            )
        self._closed = False
        self.done = 0
        """Actions so far."""
        self.total = 0.0
        """What they paid."""
        self.over = False
        """Whether the environment has ended the episode."""
        begun = self._run("reset", seed=seed)
        if not isinstance(begun, tuple) or len(begun) != 2:
            told = type(begun).__name__
            raise InfrastructureError(f"{options.env}: reset() gave {told}, not an observation and its info")
        self.state = self._text(begun[0])

    @property
    def names(self) -> dict[str, Any]:
        """What the discrete actions are called, and each one's number; empty where actions are text."""
        space = self.env.action_space
        if isinstance(space, Text):
            return {}
        assert isinstance(space, Discrete)
        first, count = int(space.start), int(space.n)
        own = getattr(self.env.unwrapped, "action_names", None)
        named: Mapping[Any, Any] = self.options.actions
        if not named and own is not None:
            named = own if isinstance(own, Mapping) else dict(zip(own, range(first, first + count), strict=False))
        named = named or {str(number): number for number in range(first, first + count)}
        for name, number in named.items():
            if not first <= number < first + count:
                known = f"{first} to {first + count - 1}"
                raise ConfigError(f"tools.gym: actions: {name} = {number} is no action of {self.options.env}: {known}")
        return {str(name): int(number) for name, number in named.items()}

    def read(self, texts: Sequence[str]) -> tuple[list[Any], list[str]]:
        """The actions that texts name, and the texts that name none."""
        space = self.env.action_space
        if isinstance(space, Text):
            return [text for text in texts if text in space], [text for text in texts if text not in space]
        known = {name.strip().casefold(): number for name, number in self.names.items()}
        folded = [(text, known.get(text.strip().casefold())) for text in texts]
        return [action for _, action in folded if action is not None], [
            text for text, action in folded if action is None
        ]

    def step(self, action: Any) -> tuple[float, bool, Mapping[str, Any]]:
        """One step: what it paid, whether it was the last one because of a limit of the environment, and its info.

        Raises:
            ToolError: the environment takes no such action now.
            InfrastructureError: it failed.
        """
        stepped = self._run("step", action)
        try:
            observation, reward, terminated, truncated, info = stepped
            reward, terminated, truncated = float(reward), bool(terminated), bool(truncated)
            info = {**info}
        except (TypeError, ValueError, OverflowError) as error:
            raise InfrastructureError(f"{self.options.env}: step({action!r:.80}) gave no step: {error}") from error
        if not math.isfinite(reward):
            raise InfrastructureError(f"{self.options.env}: step({action!r}) paid {reward}")
        self.done += 1
        self.total += reward
        self.over = terminated or truncated
        self.state = self._text(observation)
        return reward, truncated and not terminated, info

    def score(self, info: Mapping[str, Any]) -> float | None:
        """How far the task is solved, 0 to 1; None where nothing says.

        Raises:
            InfrastructureError: the environment says no such number.
        """
        options = self.options
        keys = (options.success,) if options.success else ("success", "is_success")
        value = next((info[key] for key in keys if info.get(key) is not None), None)
        if value is not None:
            if not isinstance(value, bool | int | float | np.bool_ | np.number) or not 0 <= value <= 1:
                raise InfrastructureError(
                    f"{options.env}: success is {value!r:.80}, not true, false or a number of 0 to 1"
                )
            return float(value)
        return None if options.solved_reward is None else float(self.total >= options.solved_reward - _ROUNDING)

    def fork(self) -> "Game":
        """The same state in an environment of its own.

        Raises:
            ForkError: it cannot be copied.
        """
        other = copy.copy(self)
        try:
            other.env = copy.deepcopy(self.env)
        except Exception as error:  # whatever an environment holds raises what it likes
            told = f"{type(error).__name__}: {error}"
            raise ForkError(f"the environment {self.options.env} cannot be copied: {told}") from error
        return other

    def close(self) -> None:
        """Close the environment. Closing twice is allowed."""
        if not self._closed:
            self._closed = True
            self.env.close()

    def _run(self, method: str, *args: Any, **kwargs: Any) -> Any:
        try:
            return getattr(self.env, method)(*args, **kwargs)
        except gymnasium.error.InvalidAction as error:
            raise ToolError(str(error)) from error
        except ToolenvsError:
            raise
        except (Exception, SystemExit) as error:  # which ends its episode, and not this process
            given = ", ".join([*map(repr, args), *(f"{key}={value!r}" for key, value in kwargs.items())])
            told = f"{type(error).__name__}: {error}"
            raise InfrastructureError(f"{self.options.env}: {method}({given:.80}) raised {told}") from error

    def _text(self, observation: Any) -> str:
        how = self.options.render
        if how == "observation":
            try:
                return _written(observation)
            except Exception as error:  # an object of the environment's may raise what it likes
                told = f"{type(error).__name__}: {error}"
                raise InfrastructureError(f"{self.options.env}: its observation cannot be written: {told}") from error
        if how == "ansi":
            drawn = self._run("render")
        else:
            try:
                drawn = _attribute(how, "render")(self.env, observation)
            except Exception as error:
                raise InfrastructureError(f"{how}: {type(error).__name__}: {error}") from error
        if not isinstance(drawn, str):
            raise InfrastructureError(f"{self.options.env}: render = {how!r} gave {drawn!r:.80}, which is no text")
        return _ESCAPE.sub("", _COLOURED.sub(r"[\1]", drawn)).strip("\n")


class Session:
    """One episode's environment.

    Args:
        game: which it is.
    """

    def __init__(self, game: Game) -> None:
        self.game = game

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Do actions one after another, up to the environment's end, and show the state after them.

        What is no action is told and left out; the others are done.

        Raises:
            ToolError: the call names no actions at all, or the environment takes none of that kind now.
            InfrastructureError: the environment failed.
        """
        if self.game.options.threaded:
            return await _on_a_thread(self._call, arguments)
        return self._call(arguments)

    def _call(self, arguments: Mapping[str, Any]) -> ToolResult:
        started_s = time.perf_counter()
        game, options = self.game, self.game.options
        texts = _texts(arguments, options.separator, game)
        if game.over:
            raise ToolError("it is over: nothing more can be done")
        kept = texts[: options.max_actions_per_turn]
        actions, wrong = game.read(kept)
        left = None if options.max_actions is None else options.max_actions - game.done
        rewards: list[float] = []
        limited, refused = False, ""
        info: Mapping[str, Any] = {}
        for action in actions[:left]:
            try:
                reward, limited, info = game.step(action)
            except ToolError as error:
                refused = str(error)
                break
            rewards.append(reward)
            if game.over:
                break
        spent = options.max_actions is not None and game.done >= options.max_actions
        notes = [f"{text.strip()[:_SHOWN_CHARS]!r} is no action" + _known(game) for text in wrong[:1]]
        notes += [refused] if refused else []
        notes += [f"Only the first {len(kept)} of {len(texts)} actions were read."] if len(kept) < len(texts) else []
        return ToolResult(
            text="\n".join([*notes, self._feedback(sum(rewards))]),
            status="error" if wrong or refused else "ok",
            data={"actions": tuple(actions[: len(rewards)]), "rewards": tuple(rewards), "wrong": tuple(wrong)},
            seconds=time.perf_counter() - started_s,
            ended=game.over or spent,
            limit="truncated" if limited else "actions" if spent and not game.over else "",
            score=game.score(info),
            reward=sum(rewards),
        )

    def _feedback(self, reward: float) -> str:
        options = self.game.options
        left = "" if options.max_actions is None else str(max(options.max_actions - self.game.done, 0))
        values = {"{state}": self.game.state, "{reward}": f"{reward:g}", "{left}": left}
        return re.sub("|".join(map(re.escape, values)), lambda place: values[place[0]], options.feedback)

    async def fork(self) -> "Session":
        """A session of its own over a copy of the environment, its dice included.

        Raises:
            ForkError: the environment cannot be copied.
        """
        return Session(self.game.fork())

    async def close(self) -> None:
        """Close the environment."""
        self.game.close()


async def _on_a_thread(function: Callable[..., T], *args: Any) -> T:
    return await asyncio.get_running_loop().run_in_executor(_threads(os.getpid()), function, *args)


@functools.lru_cache(maxsize=1)
def _threads(process: int) -> ThreadPoolExecutor:
    """Threads of this process that wait; the event loop's own are few, and needed elsewhere."""
    return ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="toolenvs-gym")


def _texts(arguments: Mapping[str, Any], separator: str, game: Game) -> list[str]:
    """The actions as they were written, none of them blank."""
    given = arguments.get("actions")
    others = [name for name in arguments if name != "actions"]
    if others:
        raise ToolError(f"there is no argument {others[0]!r:.40}, only 'actions'")
    if isinstance(given, str):
        given = given.split(separator)
    elif isinstance(given, int) and not isinstance(given, bool):
        given = [str(given)]
    if not isinstance(given, list | tuple) or not all(isinstance(text, str | int) for text in given):
        raise ToolError(f"the argument 'actions' must be a text, with {separator} between several actions")
    texts = [str(text).replace("\0", "").strip() for text in given]
    texts = [text for text in texts if text]
    if not texts:
        raise ToolError("the call names no action" + _known(game))
    return texts


def _known(game: Game) -> str:
    names = game.names
    return f"; there are {', '.join(names)}" if names else ""


def _written(observation: Any) -> str:
    """An observation as text: lines of `name: value` where it has names."""
    if isinstance(observation, str):
        return observation
    if isinstance(observation, Mapping):
        return "\n".join(f"{name}: {_written(value)}" for name, value in observation.items())
    if isinstance(observation, tuple):
        return ", ".join(map(_written, observation))
    if isinstance(observation, np.ndarray) and observation.ndim:
        return np.array2string(observation, separator=" ", threshold=10_000, max_line_width=100)
    return str(observation.item() if isinstance(observation, np.generic | np.ndarray) else observation)


def _maker(name: str) -> Callable[..., Env]:
    """What makes the environment of that name.

    Raises:
        ConfigError: there is none.
    """
    module, _, wanted = name.rpartition(":")
    if module and wanted.isidentifier() and all(map(str.isidentifier, module.split("."))):
        return _attribute(name, "env")  # type: ignore[no-any-return]
    try:
        if module:
            importlib.import_module(module)
        gymnasium.spec(wanted)
    except (gymnasium.error.Error, ImportError) as error:
        raise ConfigError(f"env: Gymnasium has no environment {name!r}: {error}") from None
    return lambda **kwargs: gymnasium.make(wanted, disable_env_checker=True, **kwargs)


def _attribute(name: str, key: str) -> Any:
    """What "module:attribute" names.

    Raises:
        ConfigError: there is no such module or attribute, or it cannot be called.
    """
    module, _, attribute = name.rpartition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except MissingExtraError:
        raise
    except (ImportError, ValueError, AttributeError) as error:
        raise ConfigError(
            f"{key}: {name!r} names nothing that can be imported as 'some.module:name': {error}"
        ) from None
    if not callable(found):
        raise ConfigError(f"{key}: {name!r} is {found!r:.80}, which cannot be called")
    return found
