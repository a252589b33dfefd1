"""Bytes to text as a browser decodes them: mark, header, declaration, UTF-8, and at last Windows-1252."""

import codecs
import re

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xfe\xff", "utf-16-be"), (b"\xff\xfe", "utf-16-le"))
_HEAD_BYTES = 1024
"""Of the beginning, where a declaration must stand (HTML standard, 13.2.3.2)."""
_META = re.compile(rb"<meta\b[^>]*?\bcharset\s*=\s*[\"']?\s*([^\s\"'/>;]+)", re.I)
_XML = re.compile(rb"<\?xml\b[^>]*?\bencoding\s*=\s*[\"']([^\"']+)[\"']", re.I)
_HEADER = re.compile(r"\bcharset\s*=\s*[\"']?\s*([^\s\"';,]+)", re.I)

_READ_AS = {
    "ascii": "cp1252", "iso8859-1": "cp1252", "cp1252": "cp1252", "iso8859-9": "cp1254", "cp1254": "cp1254",
    "iso8859-11": "cp874", "tis-620": "cp874", "cp874": "cp874", "gb2312": "gb18030", "gbk": "gb18030",
    "gb18030": "gb18030", "big5": "big5hkscs", "big5hkscs": "big5hkscs", "shift_jis": "cp932", "cp932": "cp932",
    "euc_kr": "cp949", "cp949": "cp949", "euc_jp": "euc_jp", "iso2022_jp": "iso2022_jp", "utf-8": "utf-8",
    "utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-16-le": "utf-16-le", "utf-16-be": "utf-16-be",
    "koi8-r": "koi8-r", "koi8-u": "koi8-u", "mac-roman": "mac-roman", "mac-cyrillic": "mac-cyrillic", "cp866": "cp866",
    **{f"iso8859-{part}": f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)},
    **{f"cp{page}": f"cp{page}" for page in (1250, 1251, 1253, 1255, 1256, 1257, 1258)},
}  # fmt: skip
"""Python's name of a codec -> the one that the Encoding standard has for its labels; no others are text."""


def decode(body: bytes, content_type: str = "", *, declared: bool = True) -> tuple[str, str]:
    """The text of a body, and the codec that it was read by. Never fails: what is wrong becomes U+FFFD.

    Args:
        body: as it was sent, without a content encoding.
        content_type: the header, with its charset if it has one.
        declared: whether the body may name its charset itself, as HTML and XML do.
    """
    for mark, marked in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(marked, "replace"), marked
    named = _HEADER.search(content_type)
    codec = known(named[1]) if named else None
    if codec is None and declared:
        codec = _declared(body[:_HEAD_BYTES])
    if codec is not None:
        return body.decode(codec, "replace"), codec
    try:
        return body.decode("utf-8"), "utf-8"
    except UnicodeDecodeError as error:
        before = body[: error.start]
        if error.reason == "unexpected end of data" and not before.isascii():  # cut inside a character
            return before.decode("utf-8"), "utf-8"
    return body.decode("cp1252", "replace"), "cp1252"


def known(label: str) -> str | None:
    """The codec that a label stands for; None where it is no charset of the web."""
    try:
        return _READ_AS.get(codecs.lookup(label.strip()).name)
    except (LookupError, ValueError, UnicodeError):
        return None


def _declared(head: bytes) -> str | None:
    for pattern in (_META, _XML):
        if found := pattern.search(head):
            codec = known(found[1].decode("ascii", "replace"))
            if codec is not None:
                return "utf-8" if codec.startswith("utf-16") else codec  # it could be read, so it is not UTF-16
    return None
