"""Worlds by their names, as pages and commands say them."""

import re

from toolenvs.errors import PageError
from toolenvs.world.world import World

_NAME = re.compile(r"world:(\d{1,7})(?::(\d{1,18}))?")


def size_and_seed(name: str) -> tuple[int, int] | None:
    """What "world:PASSAGES" or "world:PASSAGES:SEED" says; None where it is something else."""
    read = _NAME.fullmatch(name)
    return None if read is None else (int(read[1]), int(read[2] or 0))


def named(name: str) -> World | None:
    """The world of that name; None where it names none.

    Raises:
        PageError: it begins with "world:" and is not of the right form.
        TaskError: there is no world of that size.
    """
    if not name.startswith("world:"):
        return None
    read = size_and_seed(name)
    if read is None:
        raise PageError(f"index {name!r}: say 'world:PASSAGES' or 'world:PASSAGES:SEED', in digits")
    return World(read[0], seed=read[1])
