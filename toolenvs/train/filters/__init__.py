"""Which groups of a rollout are trained on: one file each, chosen by the file's name.

A filter is a module of this package with one function,

    select(groups, share) -> groups

where a group is the list of its trainable trajectories, in the order of the rollout, and `share` is how much of the
groups a filter that ranks them keeps. To add a filter, add a file.
"""

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


def select(name: str, trajectories: Sequence[Trajectory], share: float = 1.0) -> Groups:
    """The groups that a filter keeps; what cannot be trained on is left out of them before.

    Raises:
        ConfigError: there is no such filter, or `share` is not in (0, 1].
    """
    if name not in names():
        raise ConfigError(f"unknown group filter {name!r}; {did_you_mean(name, names())}")
    if not 0 < share <= 1:
        raise ConfigError(f"the share of groups to keep must be above 0 and at most 1; got {share}")
    groups: dict[str, list[Trajectory]] = {}
    for trajectory in filter(trainable, trajectories):
        groups.setdefault(trajectory.group, []).append(trajectory)
    function: Callable[[Groups, float], Groups] = import_module(f"{__name__}.{name}").select
    return function(list(groups.values()), share)
