"""What running one query gave, as far as a judge looks at it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Row = tuple[Any, ...]


class Outcome(Protocol):
    """As much of `toolenvs.databases.Result` as is compared; `Table` is one without a database."""

    @property
    def status(self) -> str:
        """ "ok", or a word for what went wrong ("error", "timeout", "refused", ...)."""
        ...

    @property
    def columns(self) -> Sequence[str]:
        """Names of the columns, in order; empty for a statement that is no query."""
        ...

    @property
    def rows(self) -> Sequence[Row]:
        """The rows in the order in which they came."""
        ...


@dataclass(frozen=True, slots=True)
class Table:
    """An outcome that is held in hand."""

    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    status: str = "ok"
