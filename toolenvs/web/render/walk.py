"""From tags and text to lines, links and fields."""

import re
from collections.abc import Callable
from dataclasses import replace

from toolenvs.web.document import Document
from toolenvs.web.render.controls import Controls
from toolenvs.web.render.lines import MAX_INDENT, Full, escaped, joined
from toolenvs.web.render.tables import layouts
from toolenvs.web.render.tags import NOTHING, Does, Tag, known, level, tag_of

FENCE = "```"
_REFRESH = re.compile(r"\s*[\d.]*\s*[;,]\s*(?:url\s*=)?\s*[\"']?([^\"']+)", re.I)


def walk(parts: list[str], url: str, cut: tuple[str, ...], content_type: str) -> Document:
    """The document that a stream of text and tags shows.

    Args:
        parts: text, tag, text ... as `toolenvs.web.render.parse.parts` gives it.
        url: of the page.
        cut: what was cut off before.
        content_type: of the document.
    """
    page = _Page(parts, url, cut)
    try:
        page.read()
    except Full:
        page.cut.append("lines")
    return page.document(url, content_type)


class _Page(Controls):
    """All of a page."""

    def read(self) -> None:
        """All of the stream."""
        parts, buffer, append, anchors = self.parts, self.buffer, self.buffer.append, self.anchors
        does: dict[Does, Callable[[Tag, int], int | None]] = {
            Does.LINK: self._link, Does.LINK_END: self._link_end, Does.BLOCK: self.block, Does.ITEM: self._item,
            Does.ITEM_END: self._item_end, Does.HEADING: self._heading, Does.CELL: self._cell,
            Does.CELL_END: self._cell_end, Does.ROW: self._row, Does.ROW_END: self._row_end, Does.BREAK: self.block,
            Does.IMAGE: self._image, Does.PRE: self._pre, Does.PRE_END: self._pre_end, Does.INDENT: self._indent,
            Does.INDENT_END: self._indent_end, Does.LIST: self._list, Does.LIST_END: self._list_end,
            Does.TABLE: self._table, Does.TABLE_END: self._table_end, Does.RAISED: self._raised, Does.SKIP: self._skip,
            Does.INPUT: self._input, Does.SELECT: self._select, Does.TEXTAREA: self._textarea,
            Does.BUTTON: self._button, Does.FORM: self._form, Does.FORM_END: self._form_end, Does.TITLE: self._title,
            Does.BASE: self._base, Does.META: self._meta, Does.FRAME: self._frame, Does.APART: self._apart,
        }  # fmt: skip
        acts = [does.get(kind) for kind in Does]
        place, end = 1, len(parts)
        self.text(parts[0])
        while place < end:
            written = parts[place]
            tag = known.get(written)
            if tag is None:
                tag = tag_of(written)
            if tag is not NOTHING:
                act = acts[tag[0]]
                moved = act(tag, place) if act is not None else None
                if tag.id and tag.id not in anchors:
                    anchors[tag.id] = len(self.lines)
                if tag.pressed:
                    self.control(tag)
                if moved is not None:
                    place = moved
            text = parts[place + 1]
            place += 2
            if self.pre and not self.in_cell:
                self.text(text)
            elif text and (buffer or not text.isspace()):
                append(text)
        self.block(NOTHING, place)

    def document(self, url: str, content_type: str) -> Document:
        """What was read."""
        last = len(self.lines) - 1
        anchors = {name: min(line, last) for name, line in self.anchors.items()} if self.lines else {}
        fields, forms = self.filled_in(last)
        title = self.title or next((line.lstrip("# ") for line in self.lines if line.startswith("#")), "")
        links = tuple(link if link.line <= last else replace(link, line=max(last, 0)) for link in self.links)
        return Document(
            url=url, title=title, lines=tuple(self.lines), links=links, anchors=anchors, fields=fields,
            forms=forms, content_type=content_type, truncated=tuple(dict.fromkeys(self.cut)),
        )  # fmt: skip

    # lists and headings

    def _list(self, tag: Tag, place: int) -> None:
        self.block(tag, place)
        start = tag.attributes.get("start", "1")
        counts = tag.name == "ol"
        self.lists.append(
            (int(start) if start.isascii() and start.isdigit() and len(start) < 10 else 1) if counts else None
        )
        self.indent += 1

    def _list_end(self, tag: Tag, place: int) -> None:
        self.block(tag, place)
        if self.lists:
            self.lists.pop()
            self.indent -= 1

    def _item(self, tag: Tag, place: int) -> None:
        self.block(tag, place)
        mark = "* "
        if self.lists and (count := self.lists[-1]) is not None:
            mark = f"{count}. "
            self.lists[-1] = count + 1
        if not self.pre:
            self.bullet = "  " * min(max(self.indent - 1, 0), MAX_INDENT) + mark

    def _item_end(self, tag: Tag, place: int) -> None:
        self.block(tag, place)
        self.bullet = None

    def _heading(self, tag: Tag, place: int) -> None:
        self.block(tag, place)
        if not self.pre:
            self.bullet = "#" * level(tag.name) + " "

    def _indent(self, tag: Tag, place: int) -> None:
        self.block(tag, place)
        self.indent += 1

    def _indent_end(self, tag: Tag, place: int) -> None:
        self.block(tag, place)
        self.indent = max(self.indent - 1, 0)

    # links

    def _link(self, tag: Tag, place: int) -> None:
        if self.link is not None:
            self.mark_link(last=True)
        attributes = tag.attributes
        href = attributes.get("href")
        if href is None:
            return
        url = self.join(href)
        if url is None:
            if href.lstrip()[:11].lower() == "javascript:":
                self.control(tag)
            return
        called = attributes.get("aria-label") or attributes.get("alt") or attributes.get("title") or ""
        self.link = (url, called, attributes.get("data-te-id", ""))
        self.link_from = len(self.buffer)
        if tag.name == "area":
            self.mark_link(last=True)
            self._apart(tag, place)

    def _link_end(self, tag: Tag, place: int) -> None:
        if self.link is not None:
            self.mark_link(last=True)

    def _frame(self, tag: Tag, place: int) -> None:
        self.block(tag, place)
        url = self.join(tag.attributes.get("src", ""))
        if tag.attributes.get("src") and url:
            self.link = (url, "", tag.attributes.get("data-te-id", ""))
            self.link_from = len(self.buffer)
            called = tag.attributes.get("title") or tag.attributes.get("name") or ""
            self.buffer.append(f"frame: {called}" if called else "frame")
            self.mark_link(last=True)
            self.block(tag, place)

    def _meta(self, tag: Tag, place: int) -> None:
        if tag.attributes.get("http-equiv", "").lower() != "refresh":
            return
        to = _REFRESH.match(tag.attributes.get("content", ""))
        url = self.join(to[1]) if to else None
        if url is not None and url != self.join.page:
            self.link = (url, "", "")
            self.link_from = len(self.buffer)
            self.buffer.append("this page leads on to " + url.replace("&", "&amp;"))
            self.mark_link(last=True)
            self.block(tag, place)

    # tables

    def _table(self, tag: Tag, place: int) -> None:
        self.block(tag, place)
        if self.layouts is None:
            self.layouts = layouts(self.parts, place)
        self.tables.append(self.layouts.get(place, True) or self.in_cell)
        self.rows.append([])

    def _table_end(self, tag: Tag, place: int) -> None:
        self.block(tag, place)
        if self.tables:
            self.tables.pop()
            self.rows.pop()

    def _row(self, tag: Tag, place: int) -> None:
        self.block(tag, place)
        if self.rows:
            self.rows[-1].clear()

    def _cell(self, tag: Tag, place: int) -> None:
        self.block(tag, place)
        if self.tables and not self.tables[-1]:
            self.in_cell = True

    def _cell_end(self, tag: Tag, place: int) -> None:
        if not (self.tables and not self.tables[-1]):
            self.block(tag, place)
            return
        if self.link is not None:
            self.mark_link(last=True)
        self.rows[-1].append(joined("".join(self.buffer)))
        self.buffer.clear()
        self.in_cell = False

    def _row_end(self, tag: Tag, place: int) -> None:
        if not self.rows or self.tables[-1]:
            self.block(tag, place)
            return
        row = self.rows[-1]
        if any(row):
            self.put("  " * min(self.indent, MAX_INDENT) + f"| {' | '.join(row)} |")
        row.clear()

    # what stands within a line

    def _apart(self, tag: Tag, place: int) -> None:
        self.buffer.append(" ")

    def _raised(self, tag: Tag, place: int) -> None:
        """A power must not be read as digits of its base."""
        if self.buffer and self.buffer[-1][-1:].isalnum() and self.parts[place + 1][:1].isalnum():
            self.buffer.append("^")

    def _image(self, tag: Tag, place: int) -> None:
        told = " ".join(tag.attributes.get("alt", "").split())
        if told:
            self.buffer.append(f"[image: {escaped(told)}]")

    def _pre(self, tag: Tag, place: int) -> None:
        self.block(tag, place)
        if self.in_cell:
            return
        self.pre += 1
        if self.pre == 1:
            self.bullet = None
            if tag.id:
                self.anchors.setdefault(tag.id, len(self.lines))
            self.put(FENCE)
            self.pre_from = len(self.lines)

    def _pre_end(self, tag: Tag, place: int) -> None:
        self.block(tag, place)
        if self.in_cell or not self.pre:
            return
        self.pre -= 1
        if self.pre == 0:
            while len(self.lines) > self.pre_from and not self.lines[-1]:
                self.lines.pop()
            if len(self.lines) == self.pre_from:
                self.lines.pop()
            else:
                self.put(FENCE)

    # what is not shown, or shown elsewhere

    def _skip(self, tag: Tag, place: int) -> int:
        return self.end_of(tag.name, place)

    def _title(self, tag: Tag, place: int) -> int:
        if not self.in_body and not self.title:
            self.title = joined(self.parts[place + 1])
        return self.end_of("title", place)

    def _base(self, tag: Tag, place: int) -> None:
        if "href" in tag.attributes:
            self.join.rebase(tag.attributes["href"])
