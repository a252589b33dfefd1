"""Finding in pages, and reading them piece by piece."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.web.document import Document, fold

PAGE = Document(
    url="https://a.test/",
    title="T",
    lines=("# The first", "See [0†the  open() function] for STRASSE", "", "a [1†x[0]] b [2‡text q: y] c", "the straße"),
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see THE open()  function for", (1,)),
        ("the", (0, 1, 4)),
        ("strasse", (1, 4)),
        ("x[0] b", (3,)),
        ("first\nSee", ()),
        ("nowhere", ()),
        ("", ()),
        (" \n", ()),
        ("0†the", ()),
    ],
)
def test_find_reads_what_a_reader_does(text: str, found: tuple[int, ...]) -> None:
    assert PAGE.find(text) == found


@given(st.lists(st.text(alphabet="ab [0†]‡\xa0ß", max_size=12), max_size=8), st.text(alphabet="ab ß", max_size=4))
def test_find_gives_the_lines_that_hold_it(lines: list[str], text: str) -> None:
    wanted = fold(text).strip()
    expected = tuple(line for line, content in enumerate(lines) if wanted and wanted in fold(content))
    assert Document(url="", title="", lines=tuple(lines)).find(text) == expected


def test_a_view_ends_with_a_whole_line() -> None:
    page = Document(url="", title="", lines=("aaaa", "bb", "cccccccccc", ""))
    first = page.view(0, 8)
    assert (first.text, first.next_line, first.last_line) == ("aaaa\nbb", 2, 1)
    cut = page.view(2, 8)
    assert (cut.text, cut.next_line, cut.next_offset, cut.last_line) == ("cccccccc", 2, 8, 2)
    rest = page.view(2, 8, offset=8)
    assert (rest.text, rest.next_line, rest.next_offset) == ("cc\n", 4, 0)
    past = page.view(9, 8)
    assert (past.text, past.next_line, past.last_line) == ("", 4, 3)


def test_a_view_can_count_tokens() -> None:
    page = Document(url="", title="", lines=("one two three", "four five", "six"))
    view = page.view(0, 5, count=lambda text: len(text.split()))
    assert (view.text, view.next_line) == ("one two three\nfour five", 2)
    assert page.view(0, 2, count=lambda text: len(text.split())).text.split() == ["one", "two"]
