"""Limits as frozen dataclasses of numbers: checked when they are made, replaced by name."""

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from toolenvs.errors import ConfigError, did_you_mean

MOST = 2**31 - 1
"""Of any limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NumericLimits:
    """Positive numbers; whole ones but for seconds, whose names end in `_s`.

    Raises:
        ConfigError: one is no such number, or above `MOST`.
    """

    room: ClassVar[str]
    """Whose limits they are, for messages."""
    least: ClassVar[float] = 5e-324
    """Of any but those of `may_be_zero`; by default the smallest number above 0."""
    may_be_zero: ClassVar[tuple[str, ...]] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name in self.may_be_zero else self.least
            if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= MOST:
                raise ConfigError(
                    f"{self.room}: {field.name} must be a positive number, not {value!r} (at most {MOST})"
                )
            if not field.name.endswith("_s") and not isinstance(value, int):
                raise ConfigError(f"{self.room}: {field.name} must be a whole number, not {value!r}")

    def override(self, **options: Any) -> Self:
        """These limits with some replaced.

        Raises:
            ConfigError: an option is unknown or no positive number.
        """
        known = {field.name for field in fields(self)}
        for name in options:
            if name not in known:
                raise ConfigError(f"{self.room}: no limit {name!r}; {did_you_mean(name, known)}")
        return replace(self, **options)
