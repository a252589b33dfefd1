"""Which tasks there are, and what is known of their rewards."""

import importlib.metadata
from functools import cache
from pathlib import Path

from toolenvs.errors import ConfigError, MissingExtraError, did_you_mean

GRADED = frozenset({"bisect-angle", "chase-circle", "circle-center", "find-midpoint", "hover-shape", "right-angle"})
"""Tasks whose reward says how close an answer comes; there `success` is the positive part of the reward."""

_PART = "more than half of the boxes right gives a part of the reward"
FAULTS = {
    "find-greatest": "a wrong card gives 0.1",
    "click-checkboxes": _PART,
    "click-checkboxes-large": _PART,
    "click-checkboxes-soft": _PART,
    "click-checkboxes-transfer": _PART,
}
"""Where a page rewards what is no success: whoever counts rewards above 0 counts wrongly, `success` does not."""


def root() -> Path:
    """The folder `html` of the package `miniwob`.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        found = importlib.metadata.distribution("miniwob").locate_file("miniwob/html")
    except importlib.metadata.PackageNotFoundError:
        raise MissingExtraError(
            "miniwob", "chromium", "MiniWoB++ (its files alone do: pip install --no-deps miniwob)"
        ) from None
    return Path(str(found))


@cache
def tasks() -> tuple[str, ...]:
    """The names of all tasks, in order of the alphabet.

    Raises:
        MissingExtraError: the package `miniwob` is not installed.
    """
    return tuple(sorted(path.stem for path in (root() / "miniwob").glob("*.html")))


def known(task: str) -> str:
    """`task`, where there is one.

    Raises:
        ConfigError: there is none.
        MissingExtraError: the package `miniwob` is not installed.
    """
    if task not in tasks():
        raise ConfigError(f"MiniWoB++ has no task {task!r}; {did_you_mean(str(task), tasks())}")
    return task


def success(task: str, done: bool, raw_reward: float) -> float | None:
    """See `Observation.success`."""
    if not done:
        return None
    if task in GRADED:
        return max(raw_reward, 0.0)
    return 1.0 if raw_reward >= 1 else 0.0
