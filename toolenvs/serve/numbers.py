"""The numbers in a server's settings."""

from collections.abc import Collection
from dataclasses import fields
from typing import Any

from toolenvs.errors import ConfigError

_LEAST = 1e-9
_MOST = 2**40


def check_numbers(settings: Any, server: str, *, or_zero: Collection[str] = ()) -> None:
    """Refuse numbers that are not positive, or beyond all measure; text and lists pass.

    Args:
        settings: a dataclass.
        server: what it is of, for the message.
        or_zero: fields that may be 0.

    Raises:
        ConfigError: names the field and its value.
    """
    for entry in fields(settings):
        value = getattr(settings, entry.name)
        if isinstance(value, str | tuple):
            continue
        least = 0 if entry.name in or_zero else _LEAST
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value < _MOST:
            raise ConfigError(f"{server}: {entry.name} must be a positive number, not {value!r}")
