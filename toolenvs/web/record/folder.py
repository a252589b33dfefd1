"""A folder of files as a site: each file at the address that a plain web server would give it."""

import mimetypes
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from toolenvs.errors import ConfigError
from toolenvs.web.record.writer import SiteWriter
from toolenvs.web.store import MAX_BODY_BYTES

_INDEXES = ("index.html", "index.htm")
_TYPES = {
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "application/xhtml+xml",
    ".css": "text/css",
    ".js": "text/javascript",
    ".json": "application/json",
    ".txt": "text/plain",
    ".svg": "image/svg+xml",
}


def from_folder(
    site: SiteWriter, folder: str | Path, url: str, *, keep: Callable[[Path], bool] = lambda path: True
) -> int:
    """Add all files of a folder; gives how many.

    The address of a folder with an index page leads to it. Links out of the folder, hidden files and files too large
    for a page are left out.

    Args:
        site: what to add to.
        folder: whose files.
        url: the folder's own address.
        keep: of a path relative to the folder, whether to take it.

    Raises:
        ConfigError: there is no such folder, or `url` is no address.
    """
    root = Path(folder).resolve()
    if not root.is_dir():
        raise ConfigError(f"{folder} is no folder: give the one that holds the site's files")
    base = url if url.endswith("/") else url + "/"
    added = 0
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if any(part.startswith(".") for part in relative.parts) or not keep(relative):
            continue
        if not path.is_file() or not path.resolve().is_relative_to(root) or path.stat().st_size > MAX_BODY_BYTES:
            continue
        body, address = path.read_bytes(), base + quote(relative.as_posix())
        headers = [("content-type", content_type(path.name))]
        site.add(address, body, headers=headers)
        if path.name in _INDEXES:
            for other in (address[: -len(path.name)], address[: -len(path.name)].rstrip("/")):
                if other not in site:
                    site.add(other, b"", status=301, headers=[("location", address)])
        added += 1
    return added


def content_type(name: str) -> str:
    """What a server says of a file of that name; a charset is left to the file."""
    known = _TYPES.get(Path(name).suffix.lower())
    return known or mimetypes.guess_type(name)[0] or "application/octet-stream"
