"""Bytes of a web page to numbered lines: `render(body, url=...)` gives a `Document`.

One block of the page is one line, whole: a paragraph, an item of a list (`* `, or its number), a heading (`## `), a row
of a table (`| a | b |`); of preformatted text each line is one, between lines of three backticks. Links stand as
`[number†text]` and fields as `[number‡kind name: value]`. What a browser does not show is left out, and so are
characters that show nothing.

Every limit is told in `Document.truncated`; no input makes it fail, and time and memory grow with the size of the body,
at most 2 MB. What this does not cover: a page made to hide one tag of tens of thousands of attributes behind quoted
brackets keeps the parser busy for seconds; pages of the live web can be rendered in a process that can be killed.
"""

from toolenvs.web.document import Document
from toolenvs.web.render.charset import decode
from toolenvs.web.render.clean import clean
from toolenvs.web.render.fields import field_mark
from toolenvs.web.render.parse import parts
from toolenvs.web.render.text import lines_of
from toolenvs.web.render.walk import walk

__all__ = ["MAX_BYTES", "field_mark", "render"]

MAX_BYTES = 2_000_000
_HTML = ("text/html", "application/xhtml+xml", "")


def render(body: bytes | str, *, url: str, content_type: str = "text/html", max_bytes: int = MAX_BYTES) -> Document:
    """The lines, links and fields of a page.

    Args:
        body: without a content encoding; as text, from a browser that decoded it.
        url: where it was found; links are relative to it, or to the base that the page names.
        content_type: the header, with its charset if it has one. HTML and XHTML are parsed, JSON on one line is laid
            out, and everything else is taken for plain text.
        max_bytes: of the body that are read.

    Raises:
        MissingExtraError: selectolax is not installed.
    """
    kind = content_type.partition(";")[0].strip().lower()
    cut: tuple[str, ...] = ()
    if len(body) > max_bytes:
        body, cut = body[:max_bytes], ("bytes",)
    if isinstance(body, bytes):
        body, _ = decode(body, content_type, declared=kind in _HTML or kind.endswith("xml"))
    if kind not in _HTML:
        lines, more = lines_of(clean(body), kind)
        title = url.partition("?")[0].rstrip("/").rpartition("/")[2]
        return Document(url=url, title=title, lines=lines, content_type=kind, truncated=cut + more)
    stream, more = parts(body, xml=kind.endswith("xml"))
    return walk(stream, url, cut + more, kind or "text/html")
