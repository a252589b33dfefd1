"""Advantage estimators: one file each, chosen by the file's name.

Shapes: B sequences, T tokens. An estimator is a module of this package with one function,

    estimate(rewards [B, T], mask [B, T], groups [B]) -> advantages [B, T]

where `rewards` are token rewards, `groups` numbers the prompts, and the result is 0 wherever the mask is not 1. To add
an estimator, add a file. Files whose names begin with an underscore are helpers.
"""

import pkgutil
from collections.abc import Callable
from importlib import import_module

from torch import Tensor

from toolenvs.errors import ConfigError, did_you_mean

Estimator = Callable[[Tensor, Tensor, Tensor], Tensor]


def names() -> tuple[str, ...]:
    """The estimators there are, in alphabetical order."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")))


def estimator(name: str) -> Estimator:
    """The `estimate` function of the module with that name.

    Raises:
        ConfigError: there is none.
    """
    if name not in names():
        raise ConfigError(f"unknown advantage estimator {name!r}; {did_you_mean(name, names())}")
    function: Estimator = import_module(f"{__name__}.{name}").estimate
    return function
