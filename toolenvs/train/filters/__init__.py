"""Which groups of a rollout are trained on: one file each, chosen by the file's name.

A filter is a module of this package with one function,

    select(groups, ...) -> groups

where a group is the list of its trainable trajectories, in the order of the rollout. What else it needs it names as
keyword arguments, out of

    share       how much of the groups a filter that ranks them keeps
    low, high   success rates between which a filter keeps groups

and gets just these. Whether a group can teach something is judged by raw correctness, before any shaping. To add a
filter, add a file.
"""

import inspect
import pkgutil
from collections.abc import Callable, Sequence
from importlib import import_module

from toolenvs.errors import ConfigError, did_you_mean
from toolenvs.rollout.trajectory import Trajectory
from toolenvs.train.trajectories import trainable

Groups = list[list[Trajectory]]


def names() -> tuple[str, ...]:
    """The filters there are, in alphabetical order."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")))


def select(
    name: str, trajectories: Sequence[Trajectory], share: float = 1.0, *, low: float = 0.0, high: float = 1.0
) -> Groups:
    """The groups that a filter keeps; what cannot be trained on is left out of them before.

    Raises:
        ConfigError: there is no such filter, `share` is not in (0, 1], or `low` and `high` are no rates in that order.
    """
    if name not in names():
        raise ConfigError(f"unknown group filter {name!r}; {did_you_mean(name, names())}")
    if not 0 < share <= 1:
        raise ConfigError(f"the share of groups to keep must be above 0 and at most 1; got {share}")
    if not 0 <= low <= high <= 1:
        raise ConfigError(f"the success rates of groups to keep must be two shares, the lower first; got {low}, {high}")
    groups: dict[str, list[Trajectory]] = {}
    for trajectory in filter(trainable, trajectories):
        groups.setdefault(trajectory.group, []).append(trajectory)
    function: Callable[..., Groups] = import_module(f"{__name__}.{name}").select
    available = {"share": share, "low": low, "high": high}
    wanted = available.keys() & inspect.signature(function).parameters.keys()
    return function(list(groups.values()), **{key: available[key] for key in wanted})
