"""One episode: cursors that keep what they showed, a history, and links, lines and words of a page."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs import web
from toolenvs.errors import ConfigError, ForkError
from toolenvs.web.browser import Browser

PAGES = {
    "/": "<title>Home</title><h1>Home</h1><p><a href=a>To A</a> and <a href='b#far'>far in B</a>"
    + "<p><a href='#end'>end</a>"
    + "".join(f"<p>filler {n}" for n in range(40))
    + "<p id=end>the end",
    "/a": "<title>A</title><p>alpha <b>beta</b> gamma"
    + "<p><a href=/>home</a> <a href=/gone>gone</a> <a href='mailto:x'>mail</a>",
    "/b": "<title>B</title>" + "".join(f"<p>line {n}" for n in range(100)) + "<p id=far>far away <a href=/a>A</a>",
    "/long": "<title>Long</title><p>" + "word " * 1_000 + "needle " + "word " * 1_000 + "<p>after",
    "/empty": "",
}


def site(pages: dict[str, Any]) -> Any:
    """An application that keeps nothing: a page, a (status, headers, body) or a function for each path."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        found = pages.get(scope["path"], (404, {}, b""))
        if callable(found):
            message = await receive()
            found = found(scope, message.get("body", b""))
        status, headers, body = found if isinstance(found, tuple) else (200, {"content-type": "text/html"}, found)
        body = body.encode() if isinstance(body, str) else body
        fields = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": status, "headers": fields})
        await send({"type": "http.response.body", "body": body})

    return app


@pytest.fixture
def browser() -> Any:
    with web.open(site(PAGES), stateless=True, home="http://site.test/") as browser:
        yield browser


def test_open_shows_where_it_is_and_numbered_lines(browser: Browser) -> None:
    page = browser.open()
    assert page.status == "ok"
    assert page.cursor == 0
    assert page.url == "http://site.test/"
    assert page.http_status == 200
    lines = page.text.split("\n")
    assert lines[0] == "[0] Home (http://site.test/)"
    assert lines[1] == f"lines 0-{page.last_line} of {len(page.document.lines)}"
    assert lines[2].startswith("L0: ")
    assert [link.url for link in page.links][:2] == ["http://site.test/a", "http://site.test/b#far"]
    assert page.error is None


def test_links_open_at_their_line(browser: Browser) -> None:
    browser.open()
    page = browser.click(1)
    assert (page.cursor, page.url) == (1, "http://site.test/b")
    assert page.document.lines[page.first_line].startswith("far away")
    within = browser.open("#far")
    assert (within.cursor, within.first_line, within.document) == (2, page.first_line, page.document)
    assert browser.open("/b#nowhere").first_line == 0
    assert browser.open("/b", line=7).first_line == 7


def test_a_link_within_the_page_loads_nothing(browser: Browser) -> None:
    page = browser.open()
    end = browser.click(2)
    assert end.document is page.document
    assert end.document.lines[end.first_line] == "the end"


def test_a_cursor_keeps_what_it_showed(browser: Browser) -> None:
    first = browser.open("http://site.test/a")
    second = browser.open("http://site.test/b")
    assert (first.cursor, second.cursor) == (0, 1)
    assert browser.view(0, cursor=0).text == first.text
    assert browser.find("beta", cursor=0).hits
    assert browser.find("beta").hits == ()
    assert browser.click(0, cursor=0).url == "http://site.test/"  # page A's link, though B is the present one
    assert browser.cursor == 2


def test_back_and_forward(browser: Browser) -> None:
    browser.open()
    browser.click(0)
    browser.open("/b", line=50)
    back = browser.back()
    assert (back.cursor, back.url) == (1, "http://site.test/a")
    assert browser.back().cursor == 0
    past = browser.back()
    assert past.status == "no_such_line"
    assert browser.cursor == 0
    assert browser.forward().cursor == 1
    ahead = browser.forward()
    assert (ahead.cursor, ahead.first_line) == (2, 50)
    browser.back()
    browser.open("/")
    assert browser.forward().status == "no_such_line"
    assert browser.back().cursor == 1


def test_reading_on_shows_every_line_once(browser: Browser) -> None:
    page = browser.open("/b") if browser.cursor is not None else browser.open("http://site.test/b")
    total = len(page.document.lines)
    with web.open(site(PAGES), stateless=True, max_view_chars=200) as small:
        page = small.open("http://app.test/b")
        seen = list(range(page.first_line, page.last_line + 1))
        while page.last_line < total - 1:
            page = small.view()
            assert page.status == "ok"
            seen += range(page.first_line, page.last_line + 1)
        assert seen == list(range(total))
        assert small.view().status == "no_such_line"
        assert small.view(3).first_line == 3


def test_a_line_longer_than_a_view_is_read_in_parts() -> None:
    with web.open(site(PAGES), stateless=True, max_view_chars=1_000) as browser:
        page = browser.open("http://app.test/long")
        text = ""
        while page.status == "ok":
            assert len(page.text) < 1_200
            for line in page.text.split("\n")[2:]:
                number, _, shown = line.partition(": ")
                text += ("\n" if number == "L1" else "") + shown.removeprefix("...")
            page = browser.view()
        assert text == "\n".join(browser.view(0).document.lines)


def test_a_view_counts_tokens_where_it_is_told_how() -> None:
    with web.open(site(PAGES), stateless=True, max_view_chars=60, count=lambda text: len(text.split())) as browser:
        page = browser.open("http://app.test/b")
        assert 0 < page.last_line < 60
        assert sum(len(line.split()) for line in page.text.split("\n")[2:]) <= 60


def test_find(browser: Browser) -> None:
    browser.open("http://site.test/a")
    page = browser.find("ALPHA  beta\tGamma")
    assert (page.status, page.hits, page.cursor) == ("ok", (0,), 0)
    assert page.text.split("\n")[1:] == ["1 of 2 lines hold 'ALPHA  beta\\tGamma'", "L0: alpha beta gamma"]
    assert "no line of 2 holds" in browser.find("delta").text
    assert browser.find(" ").status == "no_such_line"
    long = browser.open("/long")
    hit = browser.find("needle")
    assert hit.hits == (0,)
    assert "needle" in hit.text
    assert len(hit.text) < 600 < len(long.document.lines[0])


def test_many_hits_are_counted_and_numbered() -> None:
    with web.open(site(PAGES), stateless=True, max_hits=3) as browser:
        browser.open("http://app.test/b")
        page = browser.find("line")
        assert len(page.hits) == 100
        assert page.text.count("\n") == 4
        assert "100 of 101 lines hold 'line'; the first 3 are shown, the others are L3, L4" in page.text


@pytest.mark.parametrize(
    ("act", "status"),
    [
        (lambda b: b.open("docs/x"), "bad_url"),
        (lambda b: b.open("file:///etc/passwd"), "bad_url"),
        (lambda b: b.open("/gone"), "not_found"),
        (lambda b: b.open("http://elsewhere.org/"), "not_found"),
        (lambda b: b.click(99), "no_such_link"),
        (lambda b: b.click(-1), "no_such_link"),
        (lambda b: b.click(True), "no_such_link"),
        (lambda b: b.open(99), "no_such_link"),
        (lambda b: b.open(0, cursor=5), "no_such_line"),
        (lambda b: b.view(10_000), "no_such_line"),
        (lambda b: b.view(-1), "no_such_line"),
        (lambda b: b.view(0, cursor=-1), "no_such_line"),
        (lambda b: b.find("x", cursor=9), "no_such_line"),
        (lambda b: b.open("/b", line=1_000), "no_such_line"),
        (lambda b: b.type(0, "x"), "no_such_link"),
        (lambda b: b.submit(), "no_such_link"),
        (lambda b: b.press("Enter"), "needs_browser"),
        (lambda b: b.search("x"), "needs_browser"),
        (lambda b: b.search(" "), "bad_url"),
        (lambda b: b.open(3.5), "no_such_link"),
    ],
)
def test_what_cannot_be_done_is_told_and_changes_nothing(
    browser: Browser, act: Callable[[Browser], web.Page], status: str
) -> None:
    before = browser.open()
    page = act(browser)
    assert page.status == status
    assert page.text.startswith(f"Error ({status}): ")
    assert "\n" not in page.text
    assert page.error == page.text
    assert page.cursor is None
    assert browser.cursor == 0
    assert browser.view(0).text == before.text


def test_nothing_open_yet(browser: Browser) -> None:
    for page in (
        browser.view(),
        browser.find("x"),
        browser.click(0),
        browser.back(),
        browser.open("#x"),
        browser.submit(),
    ):
        assert page.status in ("no_such_line", "bad_url")


def test_an_empty_page(browser: Browser) -> None:
    page = browser.open("http://site.test/empty")
    assert page.status == "ok"
    assert "an empty page" in page.text
    assert browser.view().status == "ok"


async def test_the_asynchronous_face(browser: Browser) -> None:
    page = await browser.aopen()
    assert page.cursor == 0
    assert (await browser.aclick(0)).url == "http://site.test/a"
    assert (await browser.afind("beta")).hits == (0,)
    assert (await browser.aback()).cursor == 0
    assert (await browser.aforward()).cursor == 1
    assert (await browser.aview(1)).first_line == 1
    blocking = browser.open("/b")  # from within a running loop, as in a notebook
    assert blocking.cursor == 2
    await browser.aclose()


def test_forks_go_their_own_way(browser: Browser) -> None:
    browser.open()
    browser.open("/b", line=10)
    fork = browser.fork()
    assert fork.view(10).text == browser.view(10).text
    fork.open("/a")
    browser.back()
    assert (fork.cursor, browser.cursor) == (2, 0)
    assert browser.view(0, cursor=2).status == "no_such_line"
    assert fork.back().cursor == 1
    assert fork.view().first_line == browser.view(cursor=1).first_line
    fork.close()
    assert browser.open("/a").status == "ok"
    with pytest.raises(ConfigError, match="closed"):
        fork.open("/a")


def test_an_application_that_keeps_state_says_whether_it_forks() -> None:
    with web.open(site(PAGES)) as browser, pytest.raises(ForkError, match="replay"):
        browser.fork()


def test_pages_of_an_episode_are_limited() -> None:
    with web.open(site(PAGES), stateless=True, max_pages=2) as browser:
        assert [browser.open("http://app.test/a").status for _ in range(3)] == ["ok", "ok", "budget"]
        assert browser.view(0, cursor=0).status == "ok"


@pytest.mark.parametrize(
    ("source", "options"),
    [("live", {}), (3, {}), ("", {}), (site(PAGES), {"backend": "lynx"}), (site(PAGES), {"timeouts": 3}),
     (site(PAGES), {"timeout_s": 0}), (site(PAGES), {"max_hits": 2.5}), (site(PAGES), {"home": "x"})],
)  # fmt: skip
def test_wrong_options_are_told(source: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="web: "):
        web.open(source, **options)


@given(
    st.lists(
        st.tuples(st.sampled_from(["open", "click", "back", "forward", "view", "find"]), st.integers(0, 4)), max_size=25
    )
)
def test_cursors_never_change(actions: list[tuple[str, int]]) -> None:
    """Whatever is done, each page can be shown again as it was, and back and forward undo each other."""
    paths = ["/", "/a", "/b#far", "/long", "/gone"]
    with web.open(site(PAGES), stateless=True) as browser:
        first: dict[int, web.Page] = {}
        for action, number in actions:
            page = {
                "open": lambda number=number: browser.open("http://app.test" + paths[number]),
                "click": lambda number=number: browser.click(number),
                "back": browser.back,
                "forward": browser.forward,
                "view": lambda number=number: browser.view(number),
                "find": lambda: browser.find("a"),
            }[action]()
            if page.cursor is not None and page.cursor not in first:
                assert page.cursor == len(first)
                first[page.cursor] = page
            if action == "back" and page.status == "ok":
                assert browser.forward().status == "ok"
                assert browser.back().text == page.text
        for cursor, page in first.items():
            assert browser.view(page.first_line, cursor=cursor).text == page.text
