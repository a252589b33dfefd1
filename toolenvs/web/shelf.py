"""Rendered pages of a recorded site, in a folder that all processes of this machine share.

A page of the large manuals takes ten times as long to render as to read back. What is there was made from the same
recording (its fingerprint is in the folder's name) by the same code (so is a digest of that), and is compared with its
own digest when it is read; whatever is missing, damaged or cannot be written is rendered.
"""

import contextlib
import functools
import hashlib
import json
import os
import shutil
import tempfile
import zlib
from importlib.metadata import version
from pathlib import Path

from toolenvs.web.render import packing
from toolenvs.web.source import Loaded

_DIGEST_BYTES = 16
_PARTS = (
    "render",
    "transport",
    "document.py",
    "content_types.py",
    "fetch.py",
    "limits.py",
    "source.py",
    "shelf.py",
    "urls.py",
)
"""What decides how a page is loaded, rendered and kept."""


class Shelf:
    """The folder of one recording."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        """Use what is there.

        Args:
            folder: of the rendered pages of all recordings.
            fingerprint: of the recording.
        """
        self._folder = folder / f"{fingerprint[:24]}-{_code()}"
        self._writes = True

    def get(self, url: str) -> Loaded | None:
        """The page of an address; None where it is not there whole."""
        try:
            kept = self._file(url).read_bytes()
            packed = kept[_DIGEST_BYTES:]
            if _digest(packed) != kept[:_DIGEST_BYTES]:
                return None
            data = json.loads(zlib.decompress(packed))
            if data["of"] != url:
                return None
            document = packing.read(data["document"])
            return Loaded(document, data["fragment"], data["http_status"], data["truncated"])
        except (OSError, ValueError, KeyError, TypeError, zlib.error):
            return None

    def put(self, url: str, page: Loaded) -> None:
        """Keep a page, if that can be done."""
        if not self._writes:
            return
        data = {
            "of": url, "fragment": page.fragment, "http_status": page.http_status, "truncated": page.truncated,
            "document": packing.written(page.document),
        }  # fmt: skip
        packed = zlib.compress(json.dumps(data, separators=(",", ":")).encode(), 1)
        try:
            if not self._folder.is_dir():
                self._begin()
            with tempfile.NamedTemporaryFile(dir=self._folder, delete=False) as part:
                part.write(_digest(packed) + packed)
            os.replace(part.name, self._file(url))
        except OSError:  # no room, or not allowed: all goes on without
            self._writes = False
            with contextlib.suppress(OSError, NameError):
                os.unlink(part.name)

    def _begin(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        recording = self._folder.name.partition("-")[0]
        for other in self._folder.parent.glob(f"{recording}-*"):  # made by other code
            if other != self._folder:
                shutil.rmtree(other, ignore_errors=True)

    def _file(self, url: str) -> Path:
        return self._folder / hashlib.sha256(url.encode()).hexdigest()[:40]


def _digest(packed: bytes) -> bytes:
    return hashlib.blake2b(packed, digest_size=_DIGEST_BYTES).digest()


@functools.cache
def _code() -> str:
    """A digest of what renders pages."""
    digest = hashlib.sha256(version("selectolax").encode())
    here = Path(__file__).parent
    for part in _PARTS:
        path = here / part
        for file in sorted(path.glob("*.py")) if path.is_dir() else [path]:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
