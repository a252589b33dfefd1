"""Policies by name: a folder or a hub name that transformers loads, or one of the tiny ones, which are made here."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import nn

from toolenvs.errors import ConfigError, MissingExtraError

TINY = "tiny"
TINY_READER = "tiny-reader"
MADE_HERE = (TINY, TINY_READER)


def load_policy(name: str, *, progress: Callable[[int, float], None] | None = None) -> tuple[nn.Module, Any]:
    """A causal language model and its fast tokenizer.

    Args:
        name: a folder, the name of a model on the hub, or one of `MADE_HERE`: a tiny policy after its base phase, which
            takes some minutes the first time and is kept in the user's cache folder.
        progress: called during the base phase with steps done and loss.

    Raises:
        ConfigError: nothing there can be loaded.
        MissingExtraError: transformers is not installed.
    """
    try:
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        raise MissingExtraError("transformers", "train", "loading a policy") from error
    source = str(tiny_base(name, progress=progress)) if name in MADE_HERE else name
    try:
        return AutoModelForCausalLM.from_pretrained(source), AutoTokenizer.from_pretrained(source)
    except (OSError, ValueError) as error:
        raise ConfigError(f"no policy can be loaded from {name!r}: {error}") from error


def save_policy(folder: Path, model: Any, tokenizer: Any) -> Path:
    """Write a policy as a folder that `load_policy` and vLLM load."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def tiny_base(kind: str = TINY, *, progress: Callable[[int, float], None] | None = None) -> Path:
    """The folder of a tiny policy after its base phase, trained now if it is not there yet."""
    from toolenvs.train.tiny import base

    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "toolenvs"
    folder = cache / f"{kind}-base-{base.fingerprint(kind)}"
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=cache))
        base.train_base(unfinished, kind=kind, progress=progress)
        try:
            unfinished.rename(folder)
        except OSError:  # another process was first; both made the same
            if not folder.is_dir():
                raise
    return folder
