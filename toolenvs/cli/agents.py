"""Agents by the word that names them on a command line."""

import importlib
import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolenvs.agents.scripted import FromFunction, Oracle
from toolenvs.blueprint import Blueprint
from toolenvs.errors import ConfigError
from toolenvs.rollout import Agent, Request

KINDS = "oracle, module:function, module:agent, openai:MODEL, or the folder of a model"
WANTED = (
    "an agent is a function from a Request to a str, or an object with act() and release() (toolenvs.rollout.Agent)"
)
API_KEY = "OPENAI_API_KEY"
"""Environment variable that an endpoint's key is read from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How a model samples; scripts take no notice of it."""

    temperature: float = 1.0
    max_turn_tokens: int = 1024
    base_url: str = "http://127.0.0.1:8000/v1"
    """Of an OpenAI-compatible endpoint."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An agent that waits for the environment it is to act in."""

    build: Callable[[Blueprint], Agent]
    tokenizer: Any = None
    """For the environment, where the agent samples tokens; None where it writes text."""


def open_agent(spec: str, sampling: Sampling) -> Opened:
    """The agent that `spec` names; see `KINDS`.

    Raises:
        ConfigError: nothing is of that name.
        MissingExtraError: the agent needs a package that is not installed.
    """
    if spec == "oracle":
        return Opened(Oracle)
    if spec.startswith("openai:"):
        return _endpoint(spec.removeprefix("openai:"), sampling)
    if Path(spec).is_dir():
        return _model(spec, sampling)
    if ":" in spec:
        return Opened(_own(spec))
    raise ConfigError(f"there is no agent {spec!r}; give {KINDS}")


def _endpoint(model: str, sampling: Sampling) -> Opened:
    from toolenvs.agents.openai import OpenAIChat

    agent = OpenAIChat(
        model,
        sampling.base_url,
        api_key=os.environ.get(API_KEY, ""),
        temperature=sampling.temperature,
        max_turn_tokens=sampling.max_turn_tokens,
    )
    return Opened(lambda blueprint: agent)


def _model(folder: str, sampling: Sampling) -> Opened:
    from toolenvs.train.policy import load_policy  # first, for it says what to install where torch is missing

    model, tokenizer = load_policy(folder)

    import torch

    from toolenvs.agents import engine
    from toolenvs.train.engines.transformers import TransformersEngine

    model.to("cuda" if torch.cuda.is_available() else "cpu")
    how = engine.Sampling(temperature=sampling.temperature, max_turn_tokens=sampling.max_turn_tokens)
    agent = engine.EngineAgent(TransformersEngine(model, tokenizer), how)
    return Opened(lambda blueprint: agent, tokenizer)


def _own(spec: str) -> Callable[[Blueprint], Agent]:
    """What a module of the caller's own defines: an agent, or a function that acts as one."""
    name, _, attribute = spec.partition(":")
    try:
        found = getattr(importlib.import_module(name), attribute)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the module is there, and something that it imports is not
        raise ConfigError(f"--agent {spec}: there is no module {name!r} here or among the installed ones") from None
    except AttributeError as error:
        if error.name != attribute:
            raise
        raise ConfigError(f"--agent {spec}: module {name!r} defines no {attribute!r}; {WANTED}") from None
    except (ValueError, TypeError):  # "" and ".relative"
        raise ConfigError(f"--agent {spec}: {name!r} is no name of a module; {WANTED}") from None
    if inspect.isclass(found):
        raise ConfigError(f"--agent {spec} is a class; {WANTED}: make an instance of it in the module")
    if all(callable(getattr(found, method, None)) for method in ("act", "release")):
        if not inspect.iscoroutinefunction(found.act):
            raise ConfigError(f"--agent {spec}: its act() must be an async function; {WANTED}")
        return lambda blueprint: found
    _check_function(spec, found)
    return lambda blueprint: FromFunction(_checked(spec, found))


def _check_function(spec: str, function: Any) -> None:
    if not callable(function):
        raise ConfigError(f"--agent {spec} is {type(function).__name__}; {WANTED}")
    if inspect.iscoroutinefunction(function):
        raise ConfigError(f"--agent {spec} is an async function; {WANTED}")
    try:
        signature = inspect.signature(function)
    except ValueError:  # some builtins tell none
        return
    try:
        signature.bind(None)
    except TypeError:
        raise ConfigError(f"--agent {spec} cannot be called with one argument, {signature}; {WANTED}") from None


def _checked(spec: str, function: Callable[[Request], Any]) -> Callable[[Request], str]:
    def written(request: Request) -> str:
        text = function(request)
        if not isinstance(text, str):
            raise ConfigError(f"--agent {spec} gave {type(text).__name__}; {WANTED}")
        return text

    return written
