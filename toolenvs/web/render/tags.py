"""What a tag does to the lines of a page."""

import re
from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple


class Does(IntEnum):
    """The kinds of tags, those of most pages first."""

    NOTHING = 0
    LINK = 1
    LINK_END = 2
    BLOCK = 3
    ANCHOR = 4
    ITEM = 5
    HEADING = 6
    CELL = 7
    CELL_END = 8
    ROW = 9
    ROW_END = 10
    BREAK = 11
    IMAGE = 12
    PRE = 13
    PRE_END = 14
    INDENT = 15
    INDENT_END = 16
    LIST = 17
    LIST_END = 18
    TABLE = 19
    TABLE_END = 20
    RAISED = 21
    SKIP = 22
    INPUT = 23
    SELECT = 24
    TEXTAREA = 25
    BUTTON = 26
    FORM = 27
    FORM_END = 28
    TITLE = 29
    BASE = 30
    META = 31
    FRAME = 32
    APART = 33
    ITEM_END = 34


class Tag(NamedTuple):
    """One tag, read."""

    does: Does
    name: str
    attributes: Mapping[str, str]
    id: str = ""
    pressed: bool = False
    """Whether a script waits for a click on it."""


NOTHING = Tag(Does.NOTHING, "", {})

_BLOCKS = (
    "address",
    "article",
    "aside",
    "body",
    "center",
    "details",
    "dialog",
    "dir",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "header",
    "hgroup",
    "hr",
    "html",
    "legend",
    "listing",
    "main",
    "menu",
    "nav",
    "p",
    "search",
    "section",
    "summary",
    "caption",
    "optgroup",
    "option",
    "frameset",
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_STARTS: dict[str, Does] = {
    **dict.fromkeys(_BLOCKS, Does.BLOCK),
    **dict.fromkeys(_HEADINGS, Does.HEADING),
    **dict.fromkeys(("script", "style", "template", "datalist", "annotation", "annotation-xml", "desc", "metadata",
                     "noframes", "noembed"), Does.SKIP),
    **dict.fromkeys(("text", "tspan"), Does.APART),
    "a": Does.LINK, "area": Does.LINK, "li": Does.ITEM, "dd": Does.INDENT, "blockquote": Does.INDENT,
    "ul": Does.LIST, "ol": Does.LIST, "table": Does.TABLE, "tr": Does.ROW, "td": Does.CELL, "th": Does.CELL,
    "br": Does.BREAK, "img": Does.IMAGE, "pre": Does.PRE, "sup": Does.RAISED, "input": Does.INPUT,
    "select": Does.SELECT, "textarea": Does.TEXTAREA, "button": Does.BUTTON, "form": Does.FORM, "title": Does.TITLE,
    "base": Does.BASE, "meta": Does.META, "iframe": Does.FRAME, "frame": Does.FRAME,
}  # fmt: skip
_ENDS: dict[str, Does] = {
    **dict.fromkeys(_BLOCKS, Does.BLOCK),
    **dict.fromkeys((*_HEADINGS, "li"), Does.ITEM_END),
    **dict.fromkeys(("text", "tspan"), Does.APART),
    "a": Does.LINK_END, "dd": Does.INDENT_END, "blockquote": Does.INDENT_END, "ul": Does.LIST_END,
    "ol": Does.LIST_END, "table": Does.TABLE_END, "tr": Does.ROW_END, "td": Does.CELL_END, "th": Does.CELL_END,
    "pre": Does.PRE_END, "form": Does.FORM_END,
}  # fmt: skip
_ATTRIBUTE = re.compile(r'([^\s=]+)="([^"]*)"')
_HIDDEN_STYLE = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.I)
_PRESSED = frozenset(("button", "link", "checkbox", "radio", "switch", "tab", "menuitem", "option"))
_NUMBERED = (Does.LINK, Does.INPUT, Does.SELECT, Does.TEXTAREA, Does.BUTTON, Does.FRAME)
_NOT_PRESSED = frozenset(("label", "summary", "html", "body", "table", "tbody", "thead", "tr", "option", "form"))

known: dict[str, Tag] = {}
"""Tags that were read before, without those that stand in one place only; for the inner loop."""
_MAX_KNOWN = 10_000


def level(name: str) -> int:
    """Of a heading, 1 to 6."""
    return _HEADINGS[name]


def unescaped(text: str) -> str:
    """What a text or value of the stream says."""
    if "&" not in text:
        return text
    for code, character in (("&nbsp;", "\xa0"), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", '"'), ("&amp;", "&")):
        text = text.replace(code, character)
    return text


def read(tag: str) -> Tag:
    """A tag of the stream, without its brackets."""
    if tag[:1] == "/":
        name = tag[1:]
        does = _ENDS.get(name, Does.NOTHING)
        return Tag(does, name, {}) if does else NOTHING
    name, _, rest = tag.partition(" ")
    does = _STARTS.get(name, Does.NOTHING)
    if not rest:
        if name == "dialog":
            return Tag(Does.SKIP, name, {})
        return Tag(does, name, {}) if does else NOTHING
    try:
        attributes = dict([part.split('="', 1) for part in rest[:-1].split('" ')])
    except ValueError:  # a name with a quotation mark in it
        attributes = dict(_ATTRIBUTE.findall(rest))
    if "&" in rest:
        attributes = {key: unescaped(value) for key, value in attributes.items()}
    if "hidden" in attributes or ("style" in attributes and _HIDDEN_STYLE.search(attributes["style"])):
        return Tag(Does.SKIP, name, attributes)
    anchor = attributes.get("id", "")
    if name == "a":
        anchor = anchor or attributes.get("name", "")
        if "href" in attributes:
            return Tag(Does.LINK, name, attributes, anchor)
        does = Does.NOTHING
    elif name == "dialog" and "open" not in attributes:
        return Tag(Does.SKIP, name, attributes)
    pressed = (
        ("onclick" in attributes or "data-te-id" in attributes or attributes.get("role", "").lower() in _PRESSED)
        and does not in _NUMBERED
        and does is not Does.SKIP
        and name not in _NOT_PRESSED
    )
    if not does and not anchor and not pressed:
        return NOTHING
    return Tag(does or Does.ANCHOR, name, attributes, anchor, pressed)


def tag_of(written: str) -> Tag:
    """`read`, remembered where the same tag may come again."""
    tag = known.get(written)
    if tag is None:
        tag = read(written)
        if not tag.id and tag.does is not Does.LINK and len(written) < 200:
            if len(known) >= _MAX_KNOWN:
                known.clear()
            known[written] = tag
    return tag
