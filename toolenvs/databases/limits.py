"""What one query may use."""

from dataclasses import dataclass, fields, replace
from typing import Any

from toolenvs.errors import ConfigError, did_you_mean

MOST = 2**31 - 1
"""Of any limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one query may use."""

    timeout_s: float = 5.0
    """Wall-clock deadline, a backstop behind `max_steps`: at most half a second later the query's process is killed."""
    max_steps: int = 20_000_000
    """SQLite: steps of its virtual machine, a budget that is met at the same point on every run."""
    max_rows: int = 1_000
    """Rows that are kept; further ones are counted, as far as that is quick."""
    max_bytes: int = 1_000_000
    """Of the kept rows together, a number or NULL as 8."""
    max_value_bytes: int = 262_144
    """SQLite: of any text, blob or stored row, those within the query too."""
    max_sql_bytes: int = 65_536
    """Of the query itself."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= MOST:
                raise ConfigError(f"databases: {field.name} must be a positive number, not {value!r} (at most {MOST})")
            if field.name != "timeout_s" and not isinstance(value, int):
                raise ConfigError(f"databases: {field.name} must be a whole number, not {value!r}")

    def override(self, **options: Any) -> "Limits":
        """These limits with some replaced.

        Raises:
            ConfigError: an option is unknown or no positive number.
        """
        known = {field.name for field in fields(self)}
        for name in options:
            if name not in known:
                raise ConfigError(f"databases: no limit {name!r}; {did_you_mean(name, known)}")
        return replace(self, **options)
