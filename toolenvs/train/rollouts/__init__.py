"""How tasks become episodes: one file each, chosen by the file's name.

A rollout is a module of this package with two names,

    Options     a dataclass of its settings, each with its source
    Rollout     made of a run and the options; see `base.Rollout`

To add one, add a file, or name one from elsewhere as "some.module:Rollout". Guidance (toolenvs/train/guidance) stands
in front of a rollout and has the same face, so that a script asks for episodes in one way:

    episodes = run.rollout.collect(tasks, n=8, seed=0, progress=0.1)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolenvs import plugins, schema
from toolenvs.errors import ConfigError, PageError
from toolenvs.train.guidance import guided
from toolenvs.train.rollouts.base import Host, Rollout


@dataclass(frozen=True, kw_only=True)
class RolloutSettings:
    """How tasks become episodes."""

    rollout: str = "independent"
    """How episodes are sampled: a file in toolenvs/train/rollouts."""
    rollout_options: Mapping[str, Any] = field(default_factory=dict)
    """What that takes, as in `--rollout_options.branches 4`."""
    guidance: str = ""
    """What helps with tasks that are too hard: a file in toolenvs/train/guidance; "" for nothing."""
    guidance_options: Mapping[str, Any] = field(default_factory=dict)
    """What that takes, as in `--guidance_options.shares "[0.5, 0.25]"`."""


def names() -> list[str]:
    """The rollouts there are, in alphabetical order."""
    return plugins.names(__name__, "Rollout")


def open_rollout(settings: RolloutSettings, run: Host) -> Rollout:
    """The rollout of a run, behind its guidance.

    Raises:
        ConfigError: there is no such rollout or guidance, an option is wrong, or they do not go together.
    """
    name = settings.rollout
    try:
        made = plugins.find(__name__, name, "Rollout", "rollout")
        kind = plugins.find(__name__, *plugins.beside(name, "Options"), "rollout")
        options = schema.read(kind, settings.rollout_options, f"rollout_options of {name!r}")
    except PageError as error:
        raise ConfigError(str(error)) from None
    rollout: Rollout = made(run, options)
    return guided(settings.guidance, settings.guidance_options, run, rollout) if settings.guidance else rollout
