"""WARC files (ISO 28500), the form in which crawlers record: read by warcio."""

from pathlib import Path

from toolenvs.errors import ConfigError, MissingExtraError
from toolenvs.web.record.writer import SiteWriter

_MAX_BYTES = 16_000_000
"""Of one unpacked body; a larger one is cut there and kept."""


def from_warc(site: SiteWriter, path: str | Path) -> int:
    """Add the answers of a WARC or ARC file, packed or not; gives how many.

    Bodies are unpacked, and of several answers for one address the last stands. Requests, other records, and answers
    whose address cannot be asked for are left out.

    Raises:
        ConfigError: the file is missing or damaged.
        MissingExtraError: warcio is not installed.
    """
    try:
        from warcio.archiveiterator import ArchiveIterator
        from warcio.exceptions import ArchiveLoadFailed
    except ImportError as error:
        raise MissingExtraError("warcio", "web", "reading WARC files") from error
    added = 0
    try:
        with Path(path).open("rb") as file:
            for record in ArchiveIterator(file, arc2warc=True):
                if record.rec_type != "response" or record.http_headers is None:
                    continue
                status = record.http_headers.get_statuscode()
                url = record.rec_headers.get_header("WARC-Target-URI") or ""
                body = record.content_stream().read(_MAX_BYTES)
                headers = [(name, value) for name, value in record.http_headers.headers if name.lower() not in _CODED]
                if not status.isdigit() or not url.startswith(("http://", "https://")):
                    continue
                try:
                    site.add(url, body, status=int(status), headers=headers)
                except ConfigError:  # an address that no browser asks for
                    continue
                added += 1
    except (OSError, ArchiveLoadFailed) as error:
        raise ConfigError(f"{path} cannot be read as a WARC file: {error}") from error
    return added


_CODED = frozenset(("content-encoding", "transfer-encoding", "content-length"))
"""Headers about how the body was sent; it is kept unpacked."""
