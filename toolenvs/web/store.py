"""Recorded sites: what was sent for each address, in one SQLite file that is only read.

    with PageStore("python3-doc.site") as store:
        store.get("https://docs.python.org/3/library/os.html")      # -> Recorded(status, headers, body) or None

A file is written once, by `toolenvs.web.record`, and then never changed: processes and threads may share it. Bodies are
kept as they were sent, compressed by zlib, each with the SHA-256 of its bytes; what cannot be read back as it was
written is an error, not a page.
"""

import hashlib
import json
import os
import sqlite3
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from toolenvs.errors import WebError

FORMAT = 1
"""Raised when a change makes old files unreadable."""
MAX_BODY_BYTES = 64_000_000
"""Of one page; no more is unpacked, whatever the file says."""
KEPT_BYTES = 32_000_000
"""Of bodies that were unpacked last: a browser asks for the same style sheets and scripts with every page."""
SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE bodies (digest BLOB PRIMARY KEY, size INTEGER NOT NULL, packed BLOB NOT NULL);
CREATE TABLE pages (
    url TEXT PRIMARY KEY, status INTEGER NOT NULL, headers TEXT NOT NULL, digest BLOB NOT NULL REFERENCES bodies
) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Recorded:
    """What was sent for an address."""

    url: str
    """In canonical form, without a fragment."""
    status: int
    headers: tuple[tuple[str, str], ...]
    """Names in lower case, in the order in which they were sent."""
    body: bytes
    """As it was sent; a content encoding is among the headers."""

    def header(self, name: str) -> str:
        """The first header of that name, "" where there is none."""
        return next((value for key, value in self.headers if key == name.lower()), "")


class PageStore:
    """A recorded site. Safe to use from several threads and in forked children.

    Args:
        path: the file.

    Raises:
        WebError: it is missing, damaged, or of another format; says what to do.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._local = threading.local()
        self._open: list[tuple[int, sqlite3.Connection]] = []
        self._closed = False
        self._kept: OrderedDict[str, Recorded] = OrderedDict()
        self._kept_bytes = 0
        self._lock = threading.Lock()  # never waited for: a fork may have left it locked
        if not self.path.is_file():
            raise WebError(f"there is no recorded site {self.path}: make one with `toolenvs site build`")
        meta = dict(self._rows("SELECT key, value FROM meta"))
        if meta.get("format") != str(FORMAT):
            raise self._bad(f"it has format {meta.get('format')!r}, not {FORMAT}")
        self.meta: Mapping[str, str] = {key: value for key, value in meta.items() if key not in ("format",)}
        """What was said of the site when it was made: "name", "home", "title", "licence", "source", "fingerprint"."""
        self.home = meta.get("home", "")
        """Where a reader begins; "" for nowhere in particular."""
        self.fingerprint = meta.get("fingerprint", "")
        """Of all addresses, statuses, headers and bodies: equal fingerprints, equal answers."""
        if fingerprint(self._rows("SELECT url, status, headers, digest FROM pages ORDER BY url")) != self.fingerprint:
            raise self._bad("its pages are not those that were written")

    def get(self, url: str) -> Recorded | None:
        """What was sent for an address; None where nothing was recorded.

        Args:
            url: in canonical form (`toolenvs.web.urls.canonical`), without a fragment.

        Raises:
            WebError: the file is damaged, or was closed.
        """
        kept = self._kept_page(url)
        if kept is not None:
            return kept
        rows = self._rows(
            "SELECT status, headers, digest, size, packed FROM pages JOIN bodies USING (digest) WHERE url = ?", url
        )
        if not rows:
            return None
        status, headers, digest, size, packed = rows[0]
        try:
            body = zlib.decompressobj().decompress(packed, min(size, MAX_BODY_BYTES) + 1)
        except zlib.error as error:
            raise self._bad(f"the body of {url} cannot be unpacked ({error})") from error
        if hashlib.sha256(body).digest() != digest:
            raise self._bad(f"the body of {url} is not the one that was written")
        page = Recorded(url, status, tuple((name, value) for name, value in json.loads(headers)), body)
        self._keep(page)
        return page

    def _kept_page(self, url: str) -> Recorded | None:
        if self._closed or not self._lock.acquire(blocking=False):
            return None
        try:
            if url in self._kept:
                self._kept.move_to_end(url)
            return self._kept.get(url)
        finally:
            self._lock.release()

    def _keep(self, page: Recorded) -> None:
        if len(page.body) > KEPT_BYTES // 4 or not self._lock.acquire(blocking=False):
            return
        try:
            if page.url not in self._kept:
                self._kept[page.url] = page
                self._kept_bytes += len(page.body)
            while self._kept_bytes > KEPT_BYTES:
                _, dropped = self._kept.popitem(last=False)
                self._kept_bytes -= len(dropped.body)
        finally:
            self._lock.release()

    def __contains__(self, url: str) -> bool:
        return bool(self._rows("SELECT 1 FROM pages WHERE url = ?", url))

    def __len__(self) -> int:
        return int(self._rows("SELECT count(*) FROM pages")[0][0])

    def urls(self) -> list[str]:
        """All addresses, sorted."""
        return [url for (url,) in self._rows("SELECT url FROM pages ORDER BY url")]

    def pages(self) -> Iterator[Recorded]:
        """Everything that was recorded, in the order of `urls`."""
        for url in self.urls():
            page = self.get(url)
            if page is not None:
                yield page

    def close(self) -> None:
        """Let go of the file; a second call does nothing."""
        self._closed = True
        self._kept = OrderedDict()
        self._kept_bytes = 0
        for pid, connection in self._open:
            if pid == os.getpid():
                connection.close()
        self._open.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rows(self, query: str, *values: str) -> list[Any]:
        try:
            return self._connection().execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise self._bad(str(error)) from error

    def _connection(self) -> sqlite3.Connection:
        """This thread's own; a forked child opens another."""
        if self._closed:
            raise WebError(f"the recorded site {self.path} was closed: open it again")
        held: tuple[int, sqlite3.Connection] | None = getattr(self._local, "held", None)
        if held is None or held[0] != os.getpid():
            address = f"{self.path.resolve().as_uri()}?mode=ro&immutable=1"
            connection = sqlite3.connect(address, uri=True, check_same_thread=False, isolation_level=None)
            held = self._local.held = os.getpid(), connection
            self._open.append(held)
        return held[1]

    def _bad(self, why: str) -> WebError:
        return WebError(
            f"the recorded site {self.path} cannot be used ({why}): make it again, by `toolenvs site build`"
        )


def fingerprint(rows: Iterable[tuple[str, int, str, bytes]]) -> str:
    """Of the pages of a site, given by address, status, headers and digest in the order of their addresses."""
    digest = hashlib.sha256()
    for url, status, headers, body in rows:
        for part in (url.encode(), str(status).encode(), headers.encode(), body):
            digest.update(b"%d " % len(part) + part)
    return digest.hexdigest()
