"""Checkpoints that are whole or absent, and that a run goes on from to the same numbers.

    <folder>/step-000040.pt     model, optimizers, random states, sampler position, number of steps done, further parts

Of a model with frozen weights, such as one with low-rank adapters, only the trained ones are kept. Where several
processes share a model, the first one writes what all of them gather, so that a checkpoint is the same for any number
of processes, and another number may go on from it.

A file is written under another name, flushed to the disk and then renamed, so that a crash at any moment leaves the
previous checkpoint as the newest one.
"""

import os
import pickle
import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from torch import nn

from toolenvs.errors import ConfigError
from toolenvs.train import ranks
from toolenvs.train.optim import Optimizers
from toolenvs.train.sharding import spread, whole

_NAME = re.compile(r"step-(\d{6,})\.pt")


class Stateful(Protocol):
    """A further part of a run, such as a critic."""

    def state_dict(self) -> dict[str, Any]:
        """Tensors and plain values."""
        ...

    def load_state_dict(self, state: dict[str, Any], /) -> Any:
        """Go on from them."""
        ...


def save(
    folder: Path,
    *,
    step: int,
    model: nn.Module,
    optimizers: Optimizers,
    sampler: Any,
    keep: int = 2,
    parts: Mapping[str, Stateful] | None = None,
) -> Path:
    """Write a checkpoint and remove all but the newest `keep`; every process of a run must call it.

    Args:
        folder: where the checkpoints of the run lie; made where it is missing.
        step: steps done.
        model: its weights.
        optimizers: their moments and warm-up.
        sampler: where the run stands in its tasks, as plain Python values.
        keep: how many checkpoints to leave.
        parts: what else the run consists of, by name.
    """
    state = {
        "step": step,
        "model": whole(trained_state(model)),
        "optimizers": whole(optimizers.state_dict()),
        "sampler": sampler,
        "random": random_state(),
        "random_of_others": ranks.gather(random_state())[1:],
        "parts": {name: whole(part.state_dict()) for name, part in (parts or {}).items()},
    }
    path = folder / f"step-{step:06d}.pt"
    if not ranks.chief():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".unfinished")
    with unfinished.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    _sync_folder(folder)
    for old in list_checkpoints(folder)[:-keep]:
        old.unlink()
    return path


def trained_state(model: nn.Module) -> dict[str, Any]:
    """The model's state without the weights that are not trained."""
    frozen = {name for name, parameter in model.named_parameters() if not parameter.requires_grad}
    return {name: value for name, value in model.state_dict().items() if name not in frozen}


def load(
    path: Path, *, model: nn.Module, optimizers: Optimizers, parts: Mapping[str, Stateful] | None = None
) -> tuple[int, Any]:
    """Put everything back as it was saved, the global random states too.

    Only tensors and plain values are read, so a checkpoint of a stranger cannot run code.

    Returns:
        The steps done, and the sampler's place.

    Raises:
        ConfigError: the file is no checkpoint, or of another model or optimizer.
    """
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        if missing := trained_state(model).keys() ^ state["model"].keys():
            raise ValueError(f"model and checkpoint differ in {', '.join(sorted(missing)[:3])}")
        model.load_state_dict(spread(state["model"], trained_state(model)), strict=False)
        optimizers.load_state_dict(state["optimizers"])
        saved = state.get("parts", {})
        if differing := saved.keys() ^ (parts or {}).keys():
            raise ValueError(f"run and checkpoint differ in {', '.join(sorted(differing))}")
        for name, part in (parts or {}).items():
            part.load_state_dict(spread(saved[name], part.state_dict()))
        set_random_state(_of_this_process(state))
        return state["step"], state["sampler"]
    except pickle.UnpicklingError as error:
        raise ConfigError(f"cannot resume from {path}: it is no checkpoint of tensors and plain values") from error
    except (KeyError, ValueError, RuntimeError, EOFError, OSError) as error:
        raise ConfigError(f"cannot resume from {path}: {error}; start in another folder, or remove the file") from error


def list_checkpoints(folder: Path) -> list[Path]:
    """The whole checkpoints of a folder, oldest first; none where the folder is missing."""
    if not folder.is_dir():
        return []
    found = ((match, path) for path in folder.iterdir() if (match := _NAME.fullmatch(path.name)))
    return [path for _, path in sorted(found, key=lambda pair: int(pair[0].group(1)))]


def random_state() -> dict[str, Any]:
    """The states of torch's, numpy's and Python's global generators, as tensors and plain values."""
    numpy_state = np.random.get_state(legacy=False)
    return {
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
        "numpy": {**numpy_state, "state": {**numpy_state["state"], "key": numpy_state["state"]["key"].tolist()}},
        "python": random.getstate(),
    }


def _of_this_process(state: dict[str, Any]) -> dict[str, Any]:
    """The random state that this process goes on from; one that was not there when it was saved has one of its own."""
    saved: list[dict[str, Any]] = [state["random"], *state.get("random_of_others", [])]
    return saved[ranks.rank()] if ranks.rank() < len(saved) else random_state()


def set_random_state(state: dict[str, Any]) -> None:
    """Put back what `random_state` gave."""
    torch.set_rng_state(state["torch"])
    if state["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
    twister = state["numpy"]["state"]
    key = np.array(twister["key"], dtype=np.uint32)
    np.random.set_state({**state["numpy"], "state": {**twister, "key": key}})
    version, internal, gaussian = state["python"]
    random.setstate((version, tuple(internal), gaussian))


def _sync_folder(folder: Path) -> None:
    """Make the renaming itself survive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
