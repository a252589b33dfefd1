"""The backend `postgresql`."""

from collections.abc import Mapping
from typing import Any, ClassVar

from toolenvs.databases.base import Database


class Postgres(Database):
    """A database of a PostgreSQL server, as a role that may only read; `toolenvs.databases.postgres.role` makes one.

    The server's clock goes on, and it has no budget of steps: a query that does too much ends by its deadline. A result
    that depends on the clock says so (`Result.repeatable`).
    """

    dialect: ClassVar[str] = "postgres"
    engine: ClassVar[str] = "toolenvs.databases.postgres.engine:PostgresEngine"
    extra: ClassVar[str] = "postgres"

    def _opening(self, source: str) -> Mapping[str, Any]:
        return {"conninfo": source}
