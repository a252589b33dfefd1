"""A page as an agent reads it: numbered lines, one a block of the page, with numbered links and fields in them."""

import bisect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

_BRACKET = re.compile(r"\[\d+[†‡]|[\[\]]")  # what opens the mark of a link or field, and other brackets


@dataclass(frozen=True, slots=True)
class Link:
    """A link; it stands in its line as `[number†text]`."""

    number: int
    """From 0, counted together with the fields."""
    line: int
    """The line that it stands in, from 0."""
    text: str
    """What the page shows for it; the last part of the address where it shows nothing."""
    url: str
    """Absolute, with its fragment; http or https."""
    element: str = ""
    """The element's attribute data-te-id, which the driver of a real browser sets; "" elsewhere."""


@dataclass(frozen=True, slots=True)
class Field:
    """A control of a form; it stands in its line as `[number‡kind name: value]`."""

    number: int
    """From 0, counted together with the links."""
    line: int
    """The line that it stands in, from 0."""
    kind: str
    """"text", "password", "textarea", "checkbox", "radio", "select", "submit", "button", "file", or another type of
    input that takes text, by its HTML name ("number", "date", ...)."""
    name: str
    """What its value is sent under; "" for one that sends nothing."""
    value: str
    """Its value before anything was typed; of a select the chosen option's (the first of several), of a checkbox or
    radio button what is sent when it is on."""
    options: tuple[tuple[str, str], ...] = ()
    """Of a select: each option's value and what is shown for it."""
    form: int | None = None
    """The form that it belongs to, an index of `Document.forms`; None for one outside of all."""
    checked: bool = False
    """Of a checkbox or a radio button."""
    disabled: bool = False
    """Can be neither changed nor sent."""
    multiple: bool = False
    """Of a select: several options may be chosen."""
    chosen: tuple[str, ...] = ()
    """Of a select: the values of all chosen options."""
    label: str = ""
    """What the page calls it: the text of a button, else its placeholder or title."""
    element: str = ""
    """As `Link.element`."""


@dataclass(frozen=True, slots=True)
class Form:
    """Where the fields of a form are sent."""

    url: str
    """Absolute; "" where the page names one that is neither http nor https."""
    method: str
    """"get" or "post"."""
    encoding: str
    """The content type of a post: "application/x-www-form-urlencoded", "multipart/form-data" or "text/plain"."""
    hidden: tuple[tuple[str, str], ...] = ()
    """Names and values that are sent but not shown."""


@dataclass(frozen=True, slots=True)
class View:
    """A stretch of a document's lines."""

    text: str
    """The lines, joined by line feeds."""
    first_line: int
    """The line that it begins in, from 0."""
    next_line: int
    """Where to read on; the number of lines at the end of the document."""
    next_offset: int = 0
    """Characters of `next_line` that were shown already: more than 0 only after a line too long for one view."""

    @property
    def last_line(self) -> int:
        """The last line of which something is shown; `first_line - 1` where nothing is."""
        return self.next_line if self.next_offset else self.next_line - 1


@dataclass(frozen=True)
class Document:
    """A page that was rendered. Immutable: episodes, threads and cursors may share one."""

    url: str
    """Where it was found, after redirects."""
    title: str
    """On one line; "" where it has none."""
    lines: tuple[str, ...]
    """One a block (a paragraph, an item, a row of a table), not wrapped; of preformatted text one a line."""
    links: tuple[Link, ...] = ()
    """In the order of their numbers."""
    anchors: Mapping[str, int] = field(default_factory=dict)
    """An element's id, or an anchor's name -> the line that it begins in."""
    fields: tuple[Field, ...] = ()
    """In the order of their numbers."""
    forms: tuple[Form, ...] = ()
    """In the order of the page."""
    content_type: str = "text/html"
    """Without parameters, in lower case."""
    truncated: tuple[str, ...] = ()
    """What was cut off, none of it silently: "bytes", "tag" (one too long), "tags", "depth", "links", "fields" or
    "lines"."""

    @cached_property
    def _items(self) -> dict[int, Link | Field]:
        items: list[Link | Field] = [*self.links, *self.fields]
        return {item.number: item for item in items}

    def item(self, number: int) -> Link | Field | None:
        """The link or field of this number; None where there is none."""
        return self._items.get(number)

    @cached_property
    def _folded(self) -> tuple[str, list[int]]:
        """What `find` reads: all lines folded and joined, and where each begins."""
        starts, lines, start = [], [], 0
        for line in self.lines:
            folded = fold(line)
            starts.append(start)
            lines.append(folded)
            start += len(folded) + 1
        return "\n".join(lines), starts

    def find(self, text: str) -> tuple[int, ...]:
        """The lines that hold `text`, ascending; none for a text without a character that shows.

        Upper and lower case are the same, so are any stretches of white space, and the marks of links do not count:
        a phrase is found that begins before a link and ends in it.
        """
        wanted = fold(text).strip()
        if not wanted:
            return ()
        whole, starts = self._folded
        found: list[int] = []
        place = whole.find(wanted)
        while place >= 0:
            line = bisect.bisect_right(starts, place) - 1
            found.append(line)
            place = whole.find(wanted, starts[line + 1]) if line + 1 < len(starts) else -1
        return tuple(found)

    def view(
        self, first_line: int = 0, max_chars: int = 4000, *, offset: int = 0, count: Callable[[str], int] = len
    ) -> View:
        """As many whole lines from `first_line` as fit; a first line that is longer by itself is cut.

        Reading on from `next_line` and `next_offset` gives all of the document, and always ends.

        Args:
            first_line: from 0; past the end gives an empty view.
            max_chars: the most that `count` may give for the text, line feeds included.
            offset: characters of `first_line` to leave out.
            count: what is counted, characters by default; for tokens, a tokenizer's count, which must not fall as a
                text grows.
        """
        first_line = max(first_line, 0)
        if first_line >= len(self.lines):
            return View("", len(self.lines), len(self.lines))
        start = self.lines[first_line][offset:]
        if (size := count(start)) > max_chars:
            kept = _fitting(start, max_chars, count)
            return View(start[:kept], first_line, first_line, offset + kept)
        shown, line, feed = [start], first_line + 1, count("\n")
        while line < len(self.lines):
            size += feed + count(self.lines[line])
            if size > max_chars:
                break
            shown.append(self.lines[line])
            line += 1
        return View("\n".join(shown), first_line, line)


def fold(text: str) -> str:
    """`text` as `Document.find` compares it: without the marks of links, case or the kind of white space."""
    if "†" in text or "‡" in text:
        text = unmarked(text)
    return " ".join(text.casefold().split())


def unmarked(text: str) -> str:
    """`text` without the marks of links and fields, `[3†text]` as `text`.

    The bracket that closes a mark is the one that balances it.
    """
    kept: list[str] = []
    start = 0
    open_brackets: list[bool] = []  # for each, whether it opened a mark
    for match in _BRACKET.finditer(text):
        token = match.group()
        if token == "[":
            open_brackets.append(False)
        elif token != "]":
            open_brackets.append(True)
        elif not (open_brackets and open_brackets.pop()):
            continue
        if token != "[":
            kept.append(text[start : match.start()])
            start = match.end()
    kept.append(text[start:])
    return "".join(kept)


def _fitting(text: str, most: int, count: Callable[[str], int]) -> int:
    """The most characters of `text` that count at most `most`; at least 1, so that reading goes on."""
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[:middle]) <= most:
            low = middle
        else:
            high = middle - 1
    return low
