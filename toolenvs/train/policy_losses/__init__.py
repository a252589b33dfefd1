"""Policy-gradient losses: one file each, chosen by the file's name.

Shapes: B sequences, T tokens. A loss is a module of this package with one function,

    loss(logprobs [B, T], old_logprobs [B, T], advantages [B, T], mask [B, T], ...) -> PolicyLoss

with gradient through `logprobs` alone. What else it needs it names as keyword arguments, out of

    clip_low, clip_high     how far the ratio may leave 1 downwards and upwards
    dual_clip               bound of the loss of a negative advantage, in units of it; None for none
    prox_logprobs           [B, T] under the proximal policy, an average of past policies (ewma.py)
    kl_coef, kl_form        of the divergence, where the loss brings its own
    m2_limit                bound of M2PO's second moment
    statistics              what the module's second function, `prepare(logprobs, old_logprobs, advantages, mask, ...)`,
                            found over the whole mini-batch, so that micro-batches agree

and gets just these. To add a loss, add a file. Files whose names begin with an underscore are helpers.
"""

import inspect
import pkgutil
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from torch import Tensor

from toolenvs.errors import ConfigError, did_you_mean
from toolenvs.train.policy_losses._surrogate import PolicyLoss as PolicyLoss


def names() -> tuple[str, ...]:
    """The losses there are, in alphabetical order."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")))


def needs(name: str) -> frozenset[str]:
    """The keyword arguments that a loss names.

    Raises:
        ConfigError: there is no such loss.
    """
    return _keywords(_module(name).loss)


def policy_loss(
    name: str, logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, mask: Tensor, **available: Any
) -> PolicyLoss:
    """A loss with those of the `available` arguments that it names.

    Raises:
        ConfigError: there is no such loss, it needs something that is not there, or an argument is out of range.
    """
    found: PolicyLoss = _call(name, _module(name).loss, (logprobs, old_logprobs, advantages, mask), available)
    return found


def prepare(
    name: str, logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, mask: Tensor, **available: Any
) -> Any:
    """What a loss that names `statistics` must know of the whole mini-batch before the first micro-batch."""
    return _call(name, _module(name).prepare, (logprobs, old_logprobs, advantages, mask), available)


def _module(name: str) -> ModuleType:
    if name not in names():
        raise ConfigError(f"unknown policy loss {name!r}; {did_you_mean(name, names())}")
    return import_module(f"{__name__}.{name}")


def _keywords(function: Callable[..., Any]) -> frozenset[str]:
    parameters = inspect.signature(function).parameters.values()
    return frozenset(parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY)


def _call(name: str, function: Callable[..., Any], tensors: tuple[Tensor, ...], available: dict[str, Any]) -> Any:
    wanted = _keywords(function)
    if missing := wanted - available.keys():
        raise ConfigError(f"policy loss {name!r} needs {', '.join(sorted(missing))}")
    return function(*tensors, **{key: available[key] for key in wanted})
