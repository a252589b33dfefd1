"""Advantage estimators: one file each, chosen by the file's name.

Shapes: B sequences, T tokens. An estimator is a module of this package with one function,

    estimate(rewards [B, T], mask [B, T], groups [B], ...) -> advantages [B, T]

where `rewards` are token rewards, `groups` numbers the prompts, and the result is 0 wherever the mask is not 1. What
else it needs it names as keyword arguments, out of

    turns           [B, T] the policy's turn that each token is of
    nodes           [B, T] in a tree of episodes, the node that each token is of, from 1; 0 for none
    values          [B, T] the critic's value before each token; the result is then a pair, advantages and the critic's
                    targets, both [B, T]
    gamma           discount from token to token
    lam             lambda of GAE
    critic_lam      lambda of the critic's targets
    turn_gamma      discount from turn to turn
    length_alpha    alpha of VAPO's length-adaptive lambda

and gets just these. To add an estimator, add a file. Files whose names begin with an underscore are helpers.
"""

import inspect
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from torch import Tensor

from toolenvs.errors import ConfigError, did_you_mean

Estimator = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an estimator found; both [B, T], 0 where the mask is not 1."""

    advantages: Tensor
    returns: Tensor | None
    """What the critic should have said; None where the estimator knows no critic."""


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


def needs(name: str) -> frozenset[str]:
    """The keyword arguments that an estimator names; "values" among them means that it needs a critic.

    Raises:
        ConfigError: there is no such estimator.
    """
    parameters = inspect.signature(estimator(name)).parameters.values()
    return frozenset(parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY)


def estimate(name: str, rewards: Tensor, mask: Tensor, groups: Tensor, **available: Any) -> Estimate:
    """Run an estimator with those of the `available` arguments that it names.

    Raises:
        ConfigError: there is no such estimator, or it needs something that is not there.
    """
    wanted = needs(name)
    if "values" in wanted and available.get("values") is None:
        raise ConfigError(f"estimator {name!r} needs the values of a critic; baselines/ppo.py trains one")
    if missing := wanted - available.keys():
        raise ConfigError(f"estimator {name!r} needs {', '.join(sorted(missing))}")
    found = estimator(name)(rewards, mask, groups, **{key: available[key] for key in wanted})
    return Estimate(*found) if isinstance(found, tuple) else Estimate(found, None)
