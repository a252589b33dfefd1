"""The docker backend's options: `sandboxes/docker.toml` for the container, `sandboxes/local.toml` for a program."""

import tomllib
from dataclasses import dataclass, fields, replace
from typing import Any

from toolenvs import assets
from toolenvs.errors import ConfigError, did_you_mean
from toolenvs.sandbox import limits
from toolenvs.sandbox.limits import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a container is made; the meaning of each field stands in `sandboxes/docker.toml`."""

    image: str
    runtime: str
    containers: int
    container_memory_mb: int
    container_cpus: float
    container_processes: int
    container_open_files: int
    tmp_mb: int
    tmp_files: int

    def __post_init__(self) -> None:
        most = f"(at most {2**31 - 1})"
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type is str or field.type == "str":
                if not isinstance(value, str) or (field.name == "image" and not value):
                    raise ConfigError(f"sandbox: {field.name} must be a name, not {value!r}")
            elif field.type is int or field.type == "int":
                if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 2**31:
                    raise ConfigError(f"sandbox: {field.name} must be a positive whole number, not {value!r} {most}")
            elif isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 2**31:
                raise ConfigError(f"sandbox: {field.name} must be a positive number, not {value!r} {most}")


def defaults() -> Options:
    """What the page says."""
    page = assets.folder("sandboxes") / "docker.toml"
    return Options(**tomllib.loads(page.read_text(encoding="utf-8"))["container"])


def split(given: dict[str, Any]) -> tuple[Options, Limits]:
    """The options of the container and the limits of a program, with what is `given` in place of what the pages say.

    Raises:
        ConfigError: an option is unknown or wrong.
    """
    options, of_program = defaults(), limits.defaults()
    ours = {field.name for field in fields(Options)}
    theirs = {field.name for field in fields(Limits)}
    for name in given:
        if name not in ours | theirs:
            raise ConfigError(f"sandbox: no option {name!r}; {did_you_mean(name, ours | theirs)}")
    options = replace(options, **{name: value for name, value in given.items() if name in ours})
    of_program = of_program.override({name: value for name, value in given.items() if name in theirs})
    if of_program.memory_mb >= options.container_memory_mb:
        raise ConfigError(
            f"sandbox: memory_mb ({of_program.memory_mb}) is what one program may use: it must be less than "
            f"container_memory_mb ({options.container_memory_mb}), what all of a container's have"
        )
    return options, of_program
