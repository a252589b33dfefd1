"""Pages made to be slow, large or empty; and what holds of any page at all."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.web.document import Document
from toolenvs.web.render import MAX_BYTES, render
from toolenvs.web.render.controls import MAX_FIELDS
from toolenvs.web.render.lines import MAX_LINES, MAX_LINKS

URL = "https://a.test/b/c.html"
_MARK = re.compile(r"\[(\d+)[†‡]")


def read(html: str | bytes, content_type: str = "text/html") -> Document:
    return render(html.encode() if isinstance(html, str) else html, url=URL, content_type=content_type)


@pytest.fixture(scope="module")
def honest() -> float:
    """CPU seconds that an honest page of the largest size takes."""
    page = "<div class=x><p>some words that are <b>read</b></div>\n" * 34_000
    started = time.process_time()
    assert len(read(page).lines) == 33_333
    return time.process_time() - started


BOMBS = {
    "nested div": "x" + "<div>" * 390_000,
    "nested span": "<span>x" * 280_000,
    "nested tables": "<table><tr><td>x" * 3_000,
    "many nested tables": "<table><tr><td>x" * 125_000,
    "one tag of 200,000 attributes": "<p>x</p><a " + " ".join(f"a{i}" for i in range(200_000)) + ">y",
    "attributes of the body": "x" + "".join(f"<body a{i}>" for i in range(130_000)),
    "bold in each paragraph": "<p>x" + "".join(f"<b id={i}>" for i in range(60_000)) + "<p>x" * 60_000,
    "a little bold in each paragraph": "<p>" + "".join(f"<b id={i}>" for i in range(310)) + "<p>x" * 310,
    "60,000 links": "<a href=/x>y</a>" * 60_000,
    "options": "<select>" + "<option>a" * 200_000,
    "lists": "<ul><li>x" * 60_000,
    "forms": "<form><div>x" * 160_000,
    "fields": "<input name=x>" * 140_000,
    "buttons": "<button>x</button>" * 30_000,
    "open quotes": "<p>x</p>" + "<a b='" * 300_000,
    "open tags": "<p>x</p>" + "<a " * 600_000,
    "brackets": "<" * 2_000_000,
    "comments": "x" + "<!--" * 400_000,
    "ampersands": "&" * 2_000_000,
    "breaks": "x<br>" * 400_000,
    "blank lines": "<pre>x" + "\n" * 1_900_000 + "y",
    "titles": "<p>x</p>" + "<title>" * 250_000,
    "scripts": "<p>x</p>" + "<script>" * 240_000,
    "cells": "<table>" + "<td>x" * 390_000,
    "hidden": "<p>x</p>" + "<p hidden>" * 190_000,
    "half a mark": "[1" * 900_000 + "†",
    "frames": "<iframe src=x></iframe>" * 20_000,
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_hostile_page_takes_no_more_than_an_honest_one_some_times_over(name: str, honest: float) -> None:
    started = time.process_time()
    page = read(BOMBS[name])
    seconds = time.process_time() - started
    assert page.lines, "never empty silently"
    assert seconds < 8 * honest
    assert len(page.lines) <= MAX_LINES
    assert len(page.links) <= MAX_LINKS
    assert len(page.fields) <= MAX_FIELDS


def test_what_is_cut_is_told() -> None:
    assert read("<p>x" * (MAX_BYTES // 4 + 1)).truncated == ("bytes", "tags", "lines")
    assert read("<a href=x>y</a> " * 2_001).truncated == ("links",)
    assert read("<input>" * 2_001).truncated == ("fields",)
    assert read("<p>x</p><a " + "b " * 40_000 + ">y</a>").truncated == ("tag",)
    assert "depth" in read("x" + "<div>" * 20_000).truncated
    assert read("<div>" * 300 + "x").truncated == ()
    assert read("\n".join("x" * 50_001), "text/plain").truncated == ("lines",)
    assert read("<p>x").truncated == ()


def test_all_words_of_a_deep_page_are_kept() -> None:
    page = read("".join(f"<div>w{i}" for i in range(5_000)))
    assert page.lines == tuple(f"w{i}" for i in range(5_000))


_TAGS = st.sampled_from(
    ["a", "b", "p", "div", "span", "ul", "ol", "li", "dl", "dt", "dd", "table", "tr", "td", "th", "caption",
     "pre", "code", "h1", "h2", "br", "hr", "img", "form", "input", "select", "option", "textarea", "button",
     "label", "sup", "svg", "title", "script", "style", "template", "iframe", "noscript", "plaintext", "xmp",
     "body", "html", "head", "base", "meta",]
)  # fmt: skip
_ATTRIBUTES = st.sampled_from(
    ["", " href=x", " href='#i'", " id=i", " name=n", " hidden", " type=checkbox", " type=hidden", " onclick=x",
     " style='display:none'", " role=presentation", " alt='†[1†'", " value='&amp;]'", " action=/f", " data-te-id=3"]
)  # fmt: skip
_PIECES = st.one_of(
    st.builds("<{}{}>".format, _TAGS, _ATTRIBUTES),
    st.builds("</{}>".format, _TAGS),
    st.text(max_size=8),
    st.sampled_from(["\n", " ", "&nbsp;", "&#8203;", "†", "[0†x]", "[", "]", "<!--", "-->", "<", ">", '"', "\r"]),
)


def _holds(page: Document) -> None:
    assert all("\n" not in line and "\r" not in line for line in page.lines)
    assert all(0 <= line < len(page.lines) for line in page.anchors.values())
    items = sorted([*page.links, *page.fields], key=lambda item: item.number)
    assert [item.number for item in items] == list(range(len(items))), "numbers are consecutive"
    marks = [(int(number), line) for line, text in enumerate(page.lines) for number in _MARK.findall(text)]
    assert sorted(marks) == [(item.number, item.line) for item in items], "each stands where it says, and no other"
    assert all(link.url.startswith(("http://", "https://")) for link in page.links)
    assert all(field.form is None or field.form < len(page.forms) for field in page.fields)
    _reads_on(page, 7)
    _reads_on(page, 50)


def _reads_on(page: Document, most: int) -> None:
    """Views from the top on give all lines, whole."""
    line = offset = 0
    text: list[str] = []
    while line < len(page.lines):
        view = page.view(line, most, offset=offset)
        assert len(view.text) <= most
        assert (view.next_line, view.next_offset) > (line, offset)
        if offset and view.first_line == line:
            text[-1] += view.text.split("\n")[0]
            text.extend(view.text.split("\n")[1:])
        else:
            text.extend(view.text.split("\n"))
        line, offset = view.next_line, view.next_offset
    assert tuple(text) == page.lines


@given(st.lists(_PIECES, max_size=30).map("".join))
def test_any_markup(html: str) -> None:
    page = render(html, url=URL)
    _holds(page)
    assert render(html, url=URL) == page


@given(st.binary(max_size=300), st.sampled_from(["text/html", "text/plain", "application/json", "", "x", "text/xml"]))
def test_any_bytes(body: bytes, content_type: str) -> None:
    page = read(body, content_type)
    if content_type in ("text/html", ""):
        _holds(page)
    else:
        _reads_on(page, 11)
