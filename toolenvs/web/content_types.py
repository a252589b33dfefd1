"""Whether what a server sent can be shown as lines: by its first bytes, then by its declared type."""

from toolenvs.web.faults import Fault

_MAGIC = {
    b"%PDF-": "a PDF file",
    b"\x89PNG": "an image (PNG)",
    b"GIF8": "an image (GIF)",
    b"\xff\xd8\xff": "an image (JPEG)",
    b"RIFF": "an image, sound or film (RIFF)",
    b"\x00\x00\x01\x00": "an icon",
    b"PK\x03\x04": "a ZIP archive or an office file",
    b"\x1f\x8b": "an archive (gzip)",
    b"BZh": "an archive (bzip2)",
    b"\xfd7zXZ": "an archive (xz)",
    b"7z\xbc\xaf": "an archive (7z)",
    b"Rar!": "an archive (RAR)",
    b"(\xb5/\xfd": "an archive (zstd)",
    b"\x7fELF": "a program",
    b"MZ\x90": "a program",
    b"wOF": "a font",
    b"OggS": "a sound or film (Ogg)",
    b"ID3": "a sound (MP3)",
    b"\xd0\xcf\x11\xe0": "an office file",
    b"SQLite format 3": "a database (SQLite)",
}
_BOMS = (b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\x00\x00\xfe\xff")
_TEXT = {"json", "xml", "javascript", "ecmascript", "yaml", "x-yaml", "toml", "sql", "x-sh", "graphql", "x-ndjson"}
_LOOKED_AT = 1_024


def shown_as(content_type: str, body: bytes) -> str:
    """The content type that a body is rendered as, with the parameters that its server declared.

    Raises:
        Fault: unsupported_type, it is no text.
    """
    declared, _, parameters = content_type.partition(";")
    declared = declared.strip().lower()
    head = body[:_LOOKED_AT]
    kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)
    if kind is not None:
        raise _unsupported(kind, body)
    wide = head.startswith(_BOMS) or "utf-16" in parameters.lower() or "utf-32" in parameters.lower()
    if b"\0" in head and not wide:
        raise _unsupported(f"no text ({declared})" if declared else "no text", body)
    family, _, subtype = declared.partition("/")
    if declared in ("text/html", "application/xhtml+xml"):
        return content_type
    if family == "text" or subtype in _TEXT or subtype.endswith(("+json", "+xml")):
        return content_type
    if declared in ("", "application/octet-stream", "application/unknown") or "/" not in declared:
        start = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
        looks = start.startswith((b"<!doctype html", b"<html", b"<head", b"<body", b"<title", b"<h1", b"<p>", b"<a "))
        return ("text/html" if looks else "text/plain") + (f";{parameters}" if parameters else "")
    raise _unsupported(f"of the type {declared}", body)


def _unsupported(what: str, body: bytes) -> Fault:
    told = f"the page is {what}, {len(body):,} bytes were loaded: only HTML, text and JSON are shown; open another page"
    return Fault("unsupported_type", told)
