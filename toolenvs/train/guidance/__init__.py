"""Help with tasks that are too hard: hints and prefixes, one file each, chosen by the file's name.

Guidance is a module of this package with two names,

    Options     a dataclass of its settings, each with its source
    Guidance    made of a run, the rollout that it stands in front of, and the options; it is a rollout itself

It says which of the tasks are rolled out with help, and what is trained on of what came out. What helps is a solution
of the task, from a source that `solutions.py` opens. Whatever helps, the promises about tokens hold: a prompt is
trained on nowhere, and what was given to the policy in its own turns has the mask's third value.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolenvs import plugins, schema
from toolenvs.errors import ConfigError, PageError

if TYPE_CHECKING:
    from toolenvs.train.rollouts.base import Host, Rollout


def names() -> list[str]:
    """The kinds of guidance there are, in alphabetical order."""
    return plugins.names(__name__, "Guidance")


def guided(name: str, options: Mapping[str, Any], run: "Host", rollout: "Rollout") -> "Rollout":
    """A rollout behind guidance.

    Args:
        name: a module of this package, or "some.module:Guidance".
        options: its settings, by name.
        run: whose tasks they are.
        rollout: makes the episodes.

    Raises:
        ConfigError: there is no such guidance, an option is wrong, or it does not go with the run.
    """
    try:
        made = plugins.find(__name__, name, "Guidance", "guidance")
        kind = plugins.find(__name__, *plugins.beside(name, "Options"), "guidance")
        settings = schema.read(kind, options, f"guidance_options of {name!r}")
    except PageError as error:
        raise ConfigError(str(error)) from None
    guidance: Rollout = made(run, rollout, settings)
    return guidance
