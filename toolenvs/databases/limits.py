"""What one query may use."""

from dataclasses import dataclass
from typing import ClassVar

from toolenvs.limits import NumericLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits(NumericLimits):
    """What one query may use."""

    room: ClassVar[str] = "databases"

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
