"""The backend `sqlite`."""

import hashlib
import os
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from toolenvs.databases.base import Database
from toolenvs.errors import DatabaseError


class Sqlite(Database):
    """A file of SQLite, which must not change while it is open."""

    dialect: ClassVar[str] = "sqlite"
    engine: ClassVar[str] = "toolenvs.databases.sqlite.engine:SqliteEngine"

    def _opening(self, source: str) -> Mapping[str, Any]:
        self.path = Path(source).resolve()
        if not self.path.is_file():
            raise DatabaseError(f"there is no database file {source!r}")
        for ending in ("-wal", "-journal"):
            rest = self.path.with_name(self.path.name + ending)
            if rest.is_file() and rest.stat().st_size:
                raise DatabaseError(
                    f"{source!r} has changes that are not in the file yet ({rest.name}): "
                    "open it once with sqlite3, run PRAGMA wal_checkpoint(TRUNCATE), and close it"
                )
        return {"path": str(self.path)}

    def _identity(self, opening: Mapping[str, Any]) -> Hashable:
        told = os.stat(opening["path"])
        return opening["path"], told.st_dev, told.st_ino, told.st_size, told.st_mtime_ns

    def fingerprint(self) -> str:
        """SHA-256 of the file as it is now, in hexadecimal digits."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
