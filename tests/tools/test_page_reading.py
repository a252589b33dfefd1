"""Pages by their address: in pieces, around what a search has shown, and through the guard."""

from typing import Any

import pytest

from toolenvs import loop, schema
from toolenvs.errors import PageError, ToolError
from toolenvs.tasks.task import Task
from toolenvs.tools import page_access, page_crawl, page_search
from toolenvs.tools._pages import linked, plain
from toolenvs.web.page import Page
from toolenvs.web.render import render

TASK = Task(id="t", question="Who wrote it?", golds=("x",))
URL = "https://world.test/works/167.html"
MISSING = "https://world.test/nobody.html"


def opened(module: Any, **options: Any) -> Any:
    return loop.run(module.Tool(schema.read(module.Options, options, "test")).open(TASK, seed=0, progress=0.0))


def read(session: Any, url: Any) -> Any:
    return loop.run(session.call({"url": url}))


def test_links_are_written_with_their_addresses() -> None:
    html = b"""<title>T</title><p>See <a href="/a">one [of] two</a>, [3] and <a href="#x"><b>here</b></a>.
    <form action="/s"><input name="q" value="w"></form>"""
    document = render(html, url="https://a.test/p", content_type="text/html")
    text = linked(document)
    assert "See [one [of] two](https://a.test/a), [3] and [here](https://a.test/p#x)." in text
    assert "†" not in text
    assert "‡" not in text
    assert "See one [of] two, [3] and here." in plain(document)
    for strange in ("]]][[", "[99†not a link] of [this page", "[1† [2† x ] ]"):
        made = render(f"<pre>{strange}</pre>".encode(), url="https://a.test/p", content_type="text/html")
        assert linked(made).count("]") >= strange.count("]") - strange.count("†")


def test_pieces_are_the_page_and_what_is_kept_is_their_beginning() -> None:
    session = opened(page_access, piece_chars=100, kept_chars=9, heading="<{number}>")
    result = read(session, URL)
    pieces = [piece.text.partition(">")[2] for piece in result.pieces]
    assert "".join(pieces) == read(opened(page_access, heading=""), URL).text
    assert [len(piece) for piece in pieces[:-1]] == [100] * (len(pieces) - 1)
    assert [piece.text.partition(">")[0] for piece in result.pieces] == [f"<{n + 1}" for n in range(len(pieces))]
    assert result.pieces[0].kept == f"<1>{pieces[0][:9]}..."
    assert result.text == "\n".join(piece.text for piece in result.pieces)  # where no turn only reads


def test_limits_of_a_page() -> None:
    assert len(read(opened(page_access, piece_chars=50, max_pieces=2), URL).pieces) == 2
    assert len(read(opened(page_access, page_chars=120, piece_chars=50), URL).pieces) == 3
    [whole] = read(opened(page_access, kept_chars=10_000), URL).pieces
    assert whole.kept is None
    [gone] = read(opened(page_access, kept_chars=0, heading=""), URL).pieces
    assert gone.kept == "..."
    with pytest.raises(PageError, match="piece_chars = 0 is out of range"):
        schema.read(page_access.Options, {"piece_chars": 0}, "test")
    with pytest.raises(PageError, match="timeout_s = 0 is out of range"):
        schema.read(page_access.Options, {"timeout_s": 0}, "test")


@pytest.mark.parametrize("module", [page_access, page_crawl])
@pytest.mark.parametrize(
    ("url", "status"),
    [
        (MISSING, "not_found"),
        ("file:///etc/passwd", "bad_url"),
        ("not an address", "bad_url"),
        ("x" * 9_999, "bad_url"),
    ],
)
def test_what_cannot_be_read(module: Any, url: str, status: str) -> None:
    result = read(opened(module), url)
    assert result.status == status
    assert not result.pieces
    assert result.text == module.Options().failed.replace("{status}", status)


@pytest.mark.parametrize("module", [page_access, page_crawl])
def test_the_live_web_is_guarded(module: Any) -> None:
    session = opened(module, site="live", allow=["a.test"], deny=["a.test/answers"])
    for url in ("http://169.254.169.254/", "http://localhost:8000/", "https://b.test/", "https://a.test/answers/1"):
        assert read(session, url).status == "blocked"  # and no name was looked up
    loop.run(session.close())


@pytest.mark.parametrize("module", [page_access, page_crawl])
@pytest.mark.parametrize("url", [None, "", " ", 3, [URL]])
def test_no_address(module: Any, url: Any) -> None:
    with pytest.raises(ToolError, match="'url' must be the address"):
        read(opened(module), url)


@pytest.mark.parametrize("module", [page_access, page_crawl])
def test_a_page_that_says_nothing_is_told_as_such(module: Any) -> None:
    class Empty:
        async def aopen(self, url: str) -> Page:
            return Page(document=render(b"<p> <p>", url=url, content_type="text/html"), url=url)

    session = opened(module)
    session._browser = Empty()
    result = read(session, URL)
    assert (result.status, result.text) == ("empty", module.Options().failed.replace("{status}", "empty"))


def test_a_crawl_reads_around_what_the_search_has_shown() -> None:
    search = opened(page_search, topk=5, text_chars=60)
    crawl = opened(page_crawl, window_chars=80, head_chars=30)
    loop.run(search.call({"query": "ballad Fedruvash Goro Nosotosk"}))
    assert read(crawl, URL).text == "The world / works\n# The Silent"  # no search is known to it
    crawl.sessions = {"page_search": search}
    assert URL in search.texts
    text = read(crawl, URL).text
    assert len(text) == 80
    assert "is a ballad by Goro Nosotosk" in text
    search.texts[URL] = "quite another thing"
    assert read(crawl, URL).text == "The world / works\n# The Silent"
    copy = loop.run(crawl.fork())
    assert read(copy, URL).text.startswith("The world")


class Redirected:
    """A browser that a redirect leads to another address."""

    async def aopen(self, url: str) -> Page:
        html = b"<p>one alpha beta<p>two gamma delta"
        document = render(html, url="https://a.test/new", content_type="text/html")
        return Page(document=document, url=document.url)


def test_a_page_that_has_moved_is_still_what_the_search_has_shown() -> None:
    search, crawl = opened(page_search), opened(page_crawl, window_chars=9, head_chars=3)
    crawl.sessions, crawl._browser = {"page_search": search}, Redirected()
    search.texts = {"https://a.test/old": "gamma delta"}
    assert read(crawl, "https://A.test/old#part").text == " gamma de"
    assert read(crawl, "https://a.test/other").text == "one"


@pytest.mark.parametrize(
    ("shown", "window"),
    [
        ("alpha beta", " alpha be"),  # the first line that fits best
        ("gamma delta", " gamma de"),
        ("omega", "two\nomega"),  # at the end
        ("zeta", "one alpha be"),  # nowhere: the head
        ("", "one alpha be"),
    ],
)
def test_windows(shown: str, window: str) -> None:
    text = "one alpha beta\ntwo gamma delta\nthree alpha beta\nand two\nomega"
    assert page_crawl.window(text, shown, page_crawl.Options(window_chars=9, head_chars=12)) == window
    assert page_crawl.window("short", shown, page_crawl.Options(window_chars=9, head_chars=12)) == "short"
