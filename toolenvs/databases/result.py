"""What one query gave."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from toolenvs.databases import render

Status = Literal["ok", "error", "timeout", "refused"]
Value = bool | int | float | Decimal | str | bytes | None
"""NULL is None. Dates, times, intervals, lists and the like are texts, in the engine's own writing."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one query gave; whatever the query does, this and no exception is the answer."""

    status: Status
    """ok; error: the engine, or a limit on memory or on the size of a row, stopped it; timeout: it met its budget of
    steps or its deadline; refused: it is not exactly one query that only reads, and was not run."""
    columns: tuple[str, ...] = ()
    """Names in the order of the query; the same name may stand twice."""
    rows: tuple[tuple[Value, ...], ...] = ()
    """In the engine's order; at most `max_rows`, and `max_bytes` together."""
    truncated: bool = False
    """Whether there are more rows than `rows`."""
    total_rows: int | None = None
    """How many rows there are; None where counting them all would have taken too long."""
    code: str | None = None
    """Why there are no rows, None where status is ok. refused: empty, multi_statement, too_long, forbidden, not_a_query
    (it explains or describes, where an answer was asked for). error: syntax (not a text of SQL at all: it holds a NUL
    character or half of a surrogate pair), sql, no_such_column, too_big (one row is larger than `max_bytes`), memory,
    crashed (it broke the engine's process). timeout: timeout."""
    error: str | None = None
    """One line for the reader of the query: what was wrong and what to do. Names no path of the server."""
    steps: int | None = None
    """SQLite: steps of its virtual machine until the last kept row, counted by the thousand, the same on every run;
    None for the other engines and where the query did not run."""
    repeatable: bool = True
    """Whether another run gives the same; False where the query reads a clock that cannot be stopped (PostgreSQL), or
    takes a sample without naming its seed (PostgreSQL, DuckDB)."""
    seconds: float = 0.0
    """Wall time from request to answer, when the query ran; see `toolenvs.databases.kept`."""

    @property
    def text(self) -> str:
        """`shown()`."""
        return render.shown(self)

    def shown(self, *, max_rows: int = 50, max_chars: int = 8_000, max_cell_chars: int = 500) -> str:
        """The result as a model reads it; see `toolenvs.databases.render`.

        Args:
            max_rows: rows that are shown.
            max_chars: characters that the shown rows may have together; the first is shown even so.
            max_cell_chars: characters of one value that are shown.
        """
        return render.shown(self, max_rows=max_rows, max_chars=max_chars, max_cell_chars=max_cell_chars)
