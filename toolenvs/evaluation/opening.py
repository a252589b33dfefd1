"""Agents by the word that names them."""

import importlib
import inspect
import os
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from toolenvs.agents.callable import WANTED, FromCallable
from toolenvs.agents.floors import AlwaysCall, NoTool, Random
from toolenvs.agents.guarded import Guarded
from toolenvs.agents.scripted import Oracle
from toolenvs.blueprint import Blueprint
from toolenvs.errors import AgentError, ConfigError, EngineError, did_you_mean
from toolenvs.rollout import Agent

KINDS = (
    "oracle, no-tool, random, always-call, module:function, module:agent, 'command:PROGRAM ARGUMENTS', openai:MODEL, "
    "vllm:MODEL, hf:MODEL, or the folder of a model"
)
SCRIPTS: dict[str, Callable[[Blueprint], Agent]] = {
    "oracle": Oracle,
    "no-tool": NoTool,
    "random": Random,
    "always-call": AlwaysCall,
}
API_KEY = "OPENAI_API_KEY"
"""Environment variable that an endpoint's key is read from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How a model samples; scripts take no notice of it."""

    temperature: float = 1.0
    max_turn_tokens: int = 1024
    base_url: str = "http://127.0.0.1:8000/v1"
    """Of an OpenAI-compatible endpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """How an agent is run; it changes no turn that the agent gives."""

    turn_timeout_s: float = 600.0
    """Wall-clock seconds that a function, an object or a command has for a turn."""
    processes: int = 1
    """Of a command."""
    engine_python: str = ""
    """The interpreter of an environment that has vLLM; "" for this one."""
    engine_url: str = ""
    """Where an engine is served (`python -m toolenvs.serve.engine`); "" for none."""
    engine_options: Mapping[str, Any] = field(default_factory=dict)
    """Of `toolenvs.train.engines.vllm.VLLMEngine`, such as `max_context` and `kv_cache_gib`."""


async def _nothing() -> None: ...


@dataclass(frozen=True, slots=True)
class Opened:
    """An agent that waits for the environment it is to act in."""

    build: Callable[[Blueprint], Agent]
    tokenizer: Any = None
    """For the environment, where the agent samples tokens; None where it writes text."""
    timeout_s: float | None = None
    """Of one turn, where whoever calls the agent is to see to it."""
    close: Callable[[], Coroutine[Any, Any, None]] = _nothing
    """Frees what the agent holds."""
    blame: type[AgentError] | type[EngineError] | None = None
    """What its exceptions are in an evaluation; None for our own scripts, in which they are mistakes of ours."""

    def guarded(self, blueprint: Blueprint) -> Agent:
        """The agent, its own failures told from those of what it stands on; see `toolenvs.agents.guarded`."""
        agent = self.build(blueprint)
        return agent if self.blame is None else Guarded(agent, timeout_s=self.timeout_s, blame=self.blame)


def open_agent(spec: Any, sampling: Sampling, running: Running | None = None) -> Opened:
    """The agent that `spec` names, see `KINDS`; a function or an agent itself is taken as it is.

    Raises:
        ConfigError: nothing is of that name.
        EngineError: its engine did not start.
        MissingExtraError: the agent needs a package that is not installed.
    """
    running = running or Running()
    if not isinstance(spec, str):
        return _own(spec, "the agent", running)
    kind, colon, rest = spec.partition(":")
    if spec in SCRIPTS:
        return Opened(SCRIPTS[spec])
    if colon and kind == "openai":
        return _endpoint(rest, sampling)
    if colon and kind == "command":
        return _command(rest, running)
    if colon and kind == "vllm":
        return _vllm(rest, sampling, running)
    if colon and kind == "hf":
        return _model(rest, sampling)
    if Path(spec).is_dir():
        return _model(spec, sampling)
    if colon:
        return _own(_found(spec), f"--agent {spec}", running)
    raise ConfigError(f"there is no agent {spec!r}; give {KINDS}; {did_you_mean(spec, SCRIPTS)}")


def _endpoint(model: str, sampling: Sampling) -> Opened:
    from toolenvs.agents.openai import OpenAIChat

    agent = OpenAIChat(
        model,
        sampling.base_url,
        api_key=os.environ.get(API_KEY, ""),
        temperature=sampling.temperature,
        max_turn_tokens=sampling.max_turn_tokens,
    )
    return Opened(lambda blueprint: agent, blame=EngineError)


def _command(command: str, running: Running) -> Opened:
    from toolenvs.agents.command import Command

    agent = Command(command, timeout_s=running.turn_timeout_s, processes=running.processes)
    return Opened(agent.within, close=agent.close, blame=AgentError)


def _model(folder: str, sampling: Sampling) -> Opened:
    from toolenvs.train.policy import load_policy  # first, for it says what to install where torch is missing

    model, tokenizer = load_policy(folder)

    import torch

    from toolenvs.train.engines.transformers import TransformersEngine

    model.to("cuda" if torch.cuda.is_available() else "cpu")
    return _engine(TransformersEngine(model, tokenizer), tokenizer, sampling)


def _vllm(model: str, sampling: Sampling, running: Running) -> Opened:
    from toolenvs.train.engines.opening import VLLM, folder_of, open_for

    try:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(folder_of(model))
    except (OSError, ValueError) as error:
        raise ConfigError(f"no tokenizer can be loaded from {model!r}: {error}") from error
    options = running.engine_options
    engine = open_for(VLLM, model, python=running.engine_python, url=running.engine_url, options=options)
    return _engine(engine, tokenizer, sampling)


def _engine(engine: Any, tokenizer: Any, sampling: Sampling) -> Opened:
    from toolenvs.agents.engine import EngineAgent
    from toolenvs.agents.engine import Sampling as EngineSampling

    how = EngineSampling(temperature=sampling.temperature, max_turn_tokens=sampling.max_turn_tokens)
    agent = EngineAgent(engine, how)

    async def close() -> None:
        engine.close()

    return Opened(lambda blueprint: agent, tokenizer, close=close, blame=EngineError)


def _found(spec: str) -> Any:
    """What a module of the caller's own defines."""
    name, _, attribute = spec.partition(":")
    try:
        return getattr(importlib.import_module(name), attribute)
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


def _own(found: Any, name: str, running: Running) -> Opened:
    """An agent, or a function that acts as one."""
    if inspect.isclass(found):
        raise ConfigError(f"{name} is a class; {WANTED}: make an instance of it in the module")
    if all(callable(getattr(found, method, None)) for method in ("act", "release")):
        if not inspect.iscoroutinefunction(found.act):
            raise ConfigError(f"{name}: its act() must be an async function; {WANTED}")
        return Opened(lambda blueprint: found, timeout_s=running.turn_timeout_s, blame=AgentError)
    FromCallable.check(found, name)
    return Opened(
        lambda blueprint: FromCallable(found, blueprint, name=name),
        timeout_s=running.turn_timeout_s,
        blame=AgentError,
    )
