"""The lines of a page while they are written, and the links in them."""

from toolenvs.web.document import Field, Form, Link
from toolenvs.web.render.join import Joiner
from toolenvs.web.render.tags import Tag, unescaped

MAX_LINKS = 2_000
MAX_LINES = 50_000
MAX_INDENT = 12
"""Levels of lists that are indented further."""
_PERMALINKS = frozenset(("¶", "#", "§", "🔗", "[#]", "[¶]", "Link to this heading"))


class Full(Exception):
    """No more lines are taken."""


class Lines:
    """A page on the way to lines. `buffer` is the text of the line that is being written, still escaped."""

    def __init__(self, parts: list[str], url: str, cut: tuple[str, ...]) -> None:
        self.parts = parts
        self.cut = list(cut)
        self.join = Joiner(url)
        self.title = ""
        self.lines: list[str] = []
        self.buffer: list[str] = []
        self.links: list[Link] = []
        self.fields: list[Field] = []
        self.forms: list[Form] = []
        self.anchors: dict[str, int] = {}
        self.number = 0
        self.in_body = False
        # lists
        self.indent = 0
        self.lists: list[int | None] = []
        self.bullet: str | None = None
        # the open link: its address, what it is called without text, its element, and where in `buffer` it begins
        self.link: tuple[str, str, str] | None = None
        self.link_from = 0
        # tables: whether each is a layout; the row of the innermost
        self.layouts: dict[int, bool] | None = None  # found out at the first table
        self.tables: list[bool] = []
        self.rows: list[list[str]] = []
        self.in_cell = False
        # preformatted text
        self.pre = 0
        self.pre_from = 0
        # forms
        self.form: int | None = None
        self.form_ids: dict[str, int] = {}
        self.named_forms: dict[int, str] = {}
        self.hidden: list[list[tuple[str, str]]] = []
        self.filled: set[int] = set()

    def text(self, text: str) -> None:
        """Text of the page; preformatted text ends a line at each of its own."""
        if not self.pre or self.in_cell or "\n" not in text:
            if text:
                self.buffer.append(text)
            return
        if self.link is not None:
            first, _, text = text.partition("\n")
            self.buffer.append(first)
            self.mark_link(last=False)
            text = "\n" + text
        *whole, rest = ("".join(self.buffer) + text).split("\n")
        self.buffer.clear()
        for line in whole:
            self._literal(line)
        self.link_from = 0
        if rest:
            self.buffer.append(rest)

    def _literal(self, line: str) -> None:
        shown = unescaped(line).replace("\xa0", " ").rstrip()
        if shown or len(self.lines) > self.pre_from:
            self.put(shown)

    def put(self, line: str) -> None:
        """Add a line."""
        if len(self.lines) >= MAX_LINES:
            raise Full
        self.lines.append(line)

    def block(self, tag: Tag, place: int) -> None:
        """End the line that is being written; in the cell of a table, a space stands for the end."""
        if tag.name == "body":
            self.in_body = True
        buffer = self.buffer
        if not buffer:
            return
        if self.in_cell:
            buffer.append(" ")
            return
        if self.link is not None:
            self.mark_link(last=False)
        text = "".join(buffer)
        buffer.clear()
        self.link_from = 0
        if self.pre:
            if text.strip():
                self._literal(text)
            return
        text = joined(text)
        if text:
            if self.bullet is not None:
                text, self.bullet = self.bullet + text, None
            elif self.indent:
                text = "  " * min(self.indent, MAX_INDENT) + text
            self.put(text)

    def mark_link(self, *, last: bool) -> None:
        """Put the mark of the open link around its text; one that shows nothing yet stays open if it goes on."""
        assert self.link is not None
        url, called, element = self.link
        buffer, start = self.buffer, self.link_from
        inner = buffer[start] if len(buffer) == start + 1 else "".join(buffer[start:])
        text = joined(inner)
        if not text and not last:
            return
        self.link = None
        if text in _PERMALINKS and url.partition("#")[0] == self.join.page and "#" in url:
            del self.buffer[self.link_from :]
            return
        if len(self.links) >= MAX_LINKS:
            self.cut.append("links")
            return
        if not text:
            if url.partition("#")[0] == self.join.page:  # an anchor, or a permalink that shows an icon
                return
            text = " ".join(called.split()) or url.rstrip("/").rpartition("/")[2] or url
            inner = text.replace("&", "&amp;")
        elif not self.pre or self.in_cell:
            inner = inner.replace("&nbsp;", " ")
        if text == inner:  # as most are
            buffer[start:] = (f"[{self.number}†{inner}]",)
            self.links.append(Link(self.number, len(self.lines), text, url, element))
            self.number += 1
            return
        bare = inner.strip()
        before, _, after = inner.partition(bare)
        self.buffer[self.link_from :] = [before, f"[{self.number}†{bare}]", after]
        self.links.append(Link(self.number, len(self.lines), text, url, element))
        self.number += 1

    def end_of(self, name: str, place: int) -> int:
        """Where the element that starts at `place` ends."""
        parts, depth, start, end = self.parts, 1, name + " ", "/" + name
        if name in (
            "input",
            "img",
            "br",
            "hr",
            "meta",
            "link",
            "area",
            "embed",
            "source",
            "track",
            "col",
            "wbr",
            "param",
        ):
            return place
        place += 2
        while place < len(parts):
            written = parts[place]
            if written == end:
                depth -= 1
                if not depth:
                    return place
            elif written == name or written.startswith(start):
                depth += 1
            place += 2
        return len(parts) - 2


def escaped(text: str) -> str:
    """Text as it stands in the stream."""
    return text.replace("&", "&amp;").replace("<", "&lt;")


def joined(text: str) -> str:
    """Text of the stream as it is shown on one line."""
    return " ".join((unescaped(text) if "&" in text else text).split())
