"""Engines by name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolenvs.agents.engine import Engine
from toolenvs.errors import ConfigError, did_you_mean
from toolenvs.train.policy import MADE_HERE, load_policy, tiny_base

TRANSFORMERS = "transformers"
VLLM = "vllm"
ENGINES = (TRANSFORMERS, VLLM)


def check_name(name: str) -> None:
    """Whether there is such an engine.

    Raises:
        ConfigError: there is none.
    """
    if name not in ENGINES:
        raise ConfigError(f"unknown engine {name!r}; {did_you_mean(name, ENGINES)}")


def open_here(name: str, model: str | Path, **options: Any) -> Engine:
    """An engine in this interpreter, with its own copy of a model.

    Args:
        name: one of `ENGINES`.
        model: what `load_policy` loads.
        options: of the engine's class.

    Raises:
        ConfigError: the name or an option is unknown, or the model cannot be loaded.
        EngineError: it did not start.
        MissingExtraError: its package is not installed.
    """
    check_name(name)
    try:
        if name == VLLM:
            from toolenvs.train.engines.vllm import VLLMEngine

            return VLLMEngine(folder_of(str(model)), **options)
        from toolenvs.train.engines.transformers import TransformersEngine

        return TransformersEngine(*load_policy(str(model)), **options)
    except TypeError as error:
        raise ConfigError(f"engine_options of the engine {name!r}: {error}") from error


def open_for(
    name: str, model: str, *, python: str = "", url: str = "", options: Mapping[str, Any] | None = None
) -> Engine:
    """An engine with its own copy of a model: here, in a process of another interpreter, or one that is served.

    Args:
        name: one of `ENGINES`.
        model: what `load_policy` loads.
        python: the interpreter of an environment that has the engine's package; "" for this one.
        url: where a server answers, as `python -m toolenvs.serve.engine` starts one; "" for none.
        options: of the engine's class.

    Raises:
        ConfigError: as of `open_here`, or both `python` and `url` are given.
        EngineError: it did not start, or cannot be reached.
    """
    check_name(name)
    if python and url:
        raise ConfigError(f"engine_python and engine_url are both set, to {python!r} and {url!r}: say one of them")
    if url:
        from toolenvs.train.engines.remote import RemoteEngine

        return RemoteEngine(url)
    if python:
        from toolenvs.train.engines.process import EngineProcess

        return EngineProcess(folder_of(model), engine=name, python=python, options=options)
    return open_here(name, model, **(options or {}))


def folder_of(model: str) -> str:
    """What other programs load the model from: the folder of a policy that is made here, else its name itself."""
    return str(tiny_base(model)) if model in MADE_HERE else model
