"""Which tasks come next: one file each, chosen by the file's name.

A selector is a module of this package with two names,

    Options     a dataclass of its settings, each with its source
    Selector    made of a task set, a seed and the options; see `base.Selector`

To add one, add a file, or name one from elsewhere as "some.module:Selector". Files whose names begin with an underscore
are helpers.
"""

from collections.abc import Mapping
from typing import Any

from toolenvs import plugins, schema
from toolenvs.errors import ConfigError, PageError
from toolenvs.tasks.task import TaskSet
from toolenvs.train.selectors.base import Selector


def names() -> list[str]:
    """The selectors there are, in alphabetical order."""
    return plugins.names(__name__, "Selector")


def open_selector(name: str, tasks: TaskSet, seed: int, options: Mapping[str, Any]) -> Selector:
    """The selector of that name.

    Args:
        name: a module of this package, or "some.module:Selector".
        tasks: what it selects from.
        seed: of its draws.
        options: its settings, by name.

    Raises:
        ConfigError: there is no such selector, an option is wrong, or the tasks lack what it needs.
    """
    try:
        made = plugins.find(__name__, name, "Selector", "selector")
        settings = plugins.find(__name__, *plugins.beside(name, "Options"), "selector")
        selector: Selector = made(tasks, seed, schema.read(settings, options, f"selector_options of {name!r}"))
    except PageError as error:
        raise ConfigError(str(error)) from None
    return selector
