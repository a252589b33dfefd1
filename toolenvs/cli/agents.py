"""Agents by the word that names them on a command line."""

import importlib
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from toolenvs.agents.scripted import FromFunction, Oracle
from toolenvs.blueprint import Blueprint
from toolenvs.errors import ConfigError
from toolenvs.rollout import Agent, Request

KINDS = "oracle, module:function, openai:MODEL, or the folder of a model"
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
        agent = FromFunction(_function(spec))
        return Opened(lambda blueprint: agent)
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


def _function(spec: str) -> Callable[[Request], str]:
    name, _, attribute = spec.partition(":")
    if os.getcwd() not in sys.path:  # as `python -m` does: a script in this folder is at hand
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # the module is there, and something that it imports is not
        raise ConfigError(f"--agent {spec}: there is no module {name!r} here or among the installed ones") from None
    function = getattr(module, attribute, None)
    if not callable(function):
        raise ConfigError(f"--agent {spec}: module {name!r} defines no function {attribute!r}")

    def written(request: Request) -> str:
        text = function(request)
        if not isinstance(text, str):
            raise ConfigError(
                f"--agent {spec} gave {type(text).__name__}; a function from a Request to a str is needed"
            )
        return text

    return written
