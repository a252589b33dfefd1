"""Seeds of a Gymnasium environment that the tool `gym` acts upon: all else is the environment's own."""

from collections.abc import Callable, Mapping
from typing import Any

from toolenvs.errors import TaskError
from toolenvs.tasks.generated import Problem
from toolenvs.tasks.seeding import SEEDS, Draws


def make(*, kwargs: Mapping[str, Any] | None = None) -> Callable[[Draws], Problem]:
    """The generator: no seed is in two splits. `kwargs` are given to the environment, over those of the page.

    Raises:
        TaskError: `kwargs` is no table.
    """
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise TaskError(f"generator 'gym': kwargs is {kwargs!r:.80}; give a table of the environment's own arguments")

    def problem(draws: Draws) -> Problem:
        seed = draws.below(SEEDS)
        return Problem(question=f"seed {seed}", answer=None, extra={"seed": seed, "kwargs": dict(kwargs or {})})

    return problem
