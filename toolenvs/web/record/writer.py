"""Write the file of a recorded site: beside its place, and renamed into it when it is whole."""

import contextlib
import hashlib
import json
import os
import sqlite3
import tempfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

from toolenvs.errors import ConfigError
from toolenvs.web.faults import Fault
from toolenvs.web.store import FORMAT, MAX_BODY_BYTES, SCHEMA, fingerprint
from toolenvs.web.urls import canonical

_LEFT_OUT = frozenset(("connection", "date", "keep-alive", "set-cookie", "transfer-encoding", "content-length"))
"""Headers that say nothing of the page, or would let one episode know another."""


class SiteWriter:
    """Writes one site. Used as a context manager: an error in the block leaves what was there before.

    Args:
        path: the file to write.
        home: where a reader begins.
        about: what is known of the site, by words of your own ("name", "title", "licence", "source").

    Raises:
        ConfigError: the file cannot be written, or `home` is no address.
    """

    def __init__(self, path: str | Path, *, home: str = "", **about: str) -> None:
        self.path = Path(path)
        self._meta = {**about, "home": _canonical(home) if home else ""}
        self.pages = 0
        """Pages that were added."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=f".{self.path.name}-", dir=self.path.parent)
        except OSError as error:
            raise ConfigError(f"the site {self.path} cannot be written ({error}): choose another place") from error
        os.close(handle)
        self._aside = Path(name)
        self._connection = sqlite3.connect(name, isolation_level=None, check_same_thread=False)
        self._connection.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;" + SCHEMA)

    def add(self, url: str, body: bytes, *, status: int = 200, headers: Iterable[tuple[str, str]] = ()) -> None:
        """Add a page; one of the same address is replaced.

        Args:
            url: absolute; a fragment is left out.
            body: as it was sent.
            status: of HTTP.
            headers: as they were sent; those that say nothing of the page are left out.

        Raises:
            ConfigError: the address cannot be asked for, or the body is too large.
        """
        if len(body) > MAX_BODY_BYTES:
            raise ConfigError(f"the body of {url} has {len(body):,} bytes, at most {MAX_BODY_BYTES:,} are kept")
        kept = [[name.lower(), value] for name, value in headers if name.lower() not in _LEFT_OUT]
        digest = hashlib.sha256(body).digest()
        here = self._connection.execute("SELECT 1 FROM bodies WHERE digest = ?", (digest,)).fetchone()
        if here is None:
            row = (digest, len(body), zlib.compress(body, 9))
            self._connection.execute("INSERT INTO bodies VALUES (?, ?, ?)", row)
        page = (_canonical(url), int(status), json.dumps(kept, ensure_ascii=False), digest)
        self._connection.execute("INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?)", page)
        self.pages += 1

    def __contains__(self, url: str) -> bool:
        found = self._connection.execute("SELECT 1 FROM pages WHERE url = ?", (_canonical(url),)).fetchone()
        return found is not None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self._finish()
        finally:
            with contextlib.suppress(sqlite3.Error):
                self._connection.close()
            self._aside.unlink(missing_ok=True)

    def _finish(self) -> None:
        connection = self._connection
        rows = connection.execute("SELECT url, status, headers, digest FROM pages ORDER BY url").fetchall()
        if not rows:
            raise ConfigError(f"the site {self.path} would have no page: nothing was found to record")
        connection.execute("DELETE FROM bodies WHERE digest NOT IN (SELECT digest FROM pages)")
        meta = {**self._meta, "format": str(FORMAT), "fingerprint": fingerprint(rows)}
        connection.executemany("INSERT INTO meta VALUES (?, ?)", sorted(meta.items()))
        connection.execute("COMMIT")
        connection.execute("VACUUM")
        connection.close()
        with self._aside.open("rb") as file:
            os.fsync(file.fileno())
        self._aside.chmod(0o644)
        self._aside.rename(self.path)


def _canonical(url: str) -> str:
    try:
        return canonical(url).text
    except Fault as fault:
        raise ConfigError(f"{url!r:.200} cannot be the address of a page: {fault.told}") from None
