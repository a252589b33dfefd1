"""What watches a run and warns in words: one file each, by the file's name.

A monitor is a module of this package with

    Options     a frozen dataclass of its thresholds
    Monitor     made of them; called with the lines of the metrics so far, the newest last: gives None, or one sentence
                that says what is wrong and what to try

A recipe sets thresholds, or leaves a monitor out:

    [monitors]
    entropy.fall = 0.05
    length = false

Where the signs come from stands in each file. The numbers are ours, chosen so that runs which learn are not disturbed,
except where a source is named beside them. To add a monitor, add a file.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolenvs import plugins, schema
from toolenvs.errors import ConfigError, PageError

Lines = Sequence[Mapping[str, Any]]
"""Of the metrics; a value that was not finite is None."""
Look = Callable[[Lines], str | None]


def names() -> list[str]:
    """The monitors there are, in alphabetical order."""
    return plugins.names(__name__, "Monitor")


def open_monitors(table: Mapping[str, Any]) -> dict[str, Look]:
    """All monitors but those that are left out, by name.

    Args:
        table: options by monitor, `{"entropy": {"fall": 0.05}}` or `{"entropy.fall": 0.05}`; False leaves one out.

    Raises:
        ConfigError: there is no such monitor or option.
    """
    options: dict[str, dict[str, Any]] = {name: {} for name in names()}
    try:
        for key, value in table.items():
            name, _, option = key.partition(".")
            plugins.find(__name__, name, "Monitor", "monitors")
            if option:
                options.setdefault(name, {})[option] = value
            elif value is False:
                options.pop(name, None)
            elif value is not True:
                options.setdefault(name, {}).update(value if isinstance(value, Mapping) else {"": value})
        return {
            name: plugins.find(__name__, name, "Monitor", "monitors")(
                schema.read(plugins.find(__name__, name, "Options", "monitors"), given, f"monitors.{name}")
            )
            for name, given in options.items()
        }
    except PageError as error:
        raise ConfigError(str(error)) from None
