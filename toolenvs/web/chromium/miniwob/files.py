"""Files of MiniWoB++ as they are served: a page comes whole, so that no look at it is taken before its parts are."""

import base64
import mimetypes
import re
from functools import lru_cache
from pathlib import Path

_SCRIPT = re.compile(rb"""<script src=["']([\w./-]+)["']></script>""")
_NOT_INLINE = re.compile(rb"</?script|<!--", re.IGNORECASE)
"""What would be read as markup within a script."""
_PICTURE = re.compile(rb"""(\bcontent:\s*url\()["']?([\w./-]+)["']?\)""")
"""A picture that takes the place of an element: the element has no size until the picture is there."""


@lru_cache(maxsize=1024)
def served(path: Path) -> tuple[str, bytes]:
    """The media type of a file and its bytes, with the scripts and the pictures that its layout rests on put in.

    One request stands for what would be ten, and no look at the page is taken before they are answered: a script cannot
    ask whether a picture that a style names has come.
    """
    kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    body = path.read_bytes()
    if path.suffix in (".html", ".css"):
        body = _PICTURE.sub(lambda match: _picture(path, match), body)
    if path.suffix == ".html":
        body = _SCRIPT.sub(lambda match: _script(path, match), body)
    return kind, body


def _script(page: Path, match: re.Match[bytes]) -> bytes:
    named = page.parent / match[1].decode()
    code = named.read_bytes() if named.is_file() else b""
    fits = code and code.isascii() and not _NOT_INLINE.search(code)
    return b"<script>" + code + b"\n</script>" if fits else match[0]


def _picture(sheet: Path, match: re.Match[bytes]) -> bytes:
    named = sheet.parent / match[2].decode()
    kind = mimetypes.guess_type(named.name)[0]
    if kind is None or not named.is_file():
        return match[0]
    return match[1] + b"data:" + kind.encode() + b";base64," + base64.b64encode(named.read_bytes()) + b")"
