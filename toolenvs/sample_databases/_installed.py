"""Files of packages that pip installed, read without importing the package."""

import functools
import hashlib
import sqlite3
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from toolenvs.errors import MissingExtraError, TaskError

EXTRA = "databases"


@functools.cache
def version(package: str, needed_for: str) -> str:
    """Of an installed package.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        raise MissingExtraError(package, EXTRA, needed_for) from None


def file(package: str, path: str, needed_for: str) -> Path:
    """A file that an installed package brought, by the end of its path.

    Raises:
        MissingExtraError: the package is not installed.
        TaskError: it is, and the file is not there.
    """
    version(package, needed_for)
    for listed in metadata.files(package) or ():
        if listed.as_posix().endswith(path):
            found = Path(str(listed.locate())).resolve()
            if found.is_file():
                return found
    raise TaskError(f"{needed_for}: the package {package!r} is installed without its file {path}; {_again(package)}")


def content(package: str, path: str, sha256: str, needed_for: str) -> bytes:
    """A file's bytes, which must be those that the builder was written for.

    Raises:
        MissingExtraError: the package is not installed.
        TaskError: the file is not there, or is another one.
    """
    data = file(package, path, needed_for).read_bytes()
    told = hashlib.sha256(data).hexdigest()
    if told != sha256:
        raise TaskError(
            f"{needed_for}: {path} of the package {package!r} is not the file that was read before (sha256 "
            f"{told[:12]}, not {sha256[:12]}); {_again(package)}"
        )
    return data


def check_rows(base: sqlite3.Connection, counts: Mapping[str, int], needed_for: str) -> None:
    """Whether each table has as many rows as it should, and every reference leads somewhere.

    Raises:
        TaskError: no.
    """
    for table, wanted in counts.items():
        (found,) = base.execute(f"SELECT count(*) FROM {table}").fetchone()
        if found != wanted:
            raise TaskError(f"{needed_for}: the table {table} has {found} rows where {wanted} are due")
    if base.execute("PRAGMA foreign_key_check").fetchone():
        raise TaskError(f"{needed_for}: a reference leads to no row")


def _again(package: str) -> str:
    return f"install it again: pip install --force-reinstall --no-deps {package}"
