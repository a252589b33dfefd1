"""Corpora with a name, one module each: `passages()` gives what they hold, and `form()` changes when that does.

`index = "factbook"` under `[tools.search]` searches one, and `toolenvs index factbook OUT` writes its index to OUT.
"""

import importlib
from collections.abc import Iterator
from typing import Protocol, cast

from toolenvs import plugins
from toolenvs.retrieval.corpus import Passage

__all__ = ["Named", "find", "names"]


class Named(Protocol):
    """What a module of this folder offers."""

    def passages(self) -> Iterator[Passage]:
        """What the corpus holds, always in the same order."""

    def form(self) -> str:
        """Part of a file's name: it is another one when `passages` gives something else."""


def names() -> list[str]:
    """Of all corpora."""
    return plugins.names(__name__, "passages")


def find(name: str) -> Named | None:
    """The corpus called `name`; None where there is none."""
    return cast(Named, importlib.import_module(f"{__name__}.{name}")) if name in names() else None
