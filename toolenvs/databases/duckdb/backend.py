"""The backend `duckdb`."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from toolenvs.databases.base import Database
from toolenvs.errors import DatabaseError


class DuckDb(Database):
    """A file of DuckDB, which no other process may have open for writing.

    DuckDB has no budget of steps: a query that does too much ends by its deadline, and by memory.
    """

    dialect: ClassVar[str] = "duckdb"
    engine: ClassVar[str] = "toolenvs.databases.duckdb.engine:DuckDbEngine"
    extra: ClassVar[str] = "duckdb"
    memory_mb: ClassVar[int] = 2_048  # of address space: it reserves much more than it uses

    def _opening(self, source: str) -> Mapping[str, Any]:
        self.path = Path(source).resolve()
        if not self.path.is_file():
            raise DatabaseError(f"there is no database file {source!r}")
        rest = self.path.with_name(self.path.name + ".wal")
        if rest.is_file() and rest.stat().st_size:
            raise DatabaseError(
                f"{source!r} has changes that are not in the file yet ({rest.name}): "
                "open it once with duckdb, run CHECKPOINT, and close it"
            )
        return {"path": str(self.path)}

    def fingerprint(self) -> str:
        """SHA-256 of the file as it is now, in hexadecimal digits."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
