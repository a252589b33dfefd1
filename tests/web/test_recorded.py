"""A recorded site: every page at once and always the same, shared by episodes that share nothing else."""

import asyncio
import gzip
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolenvs import web
from toolenvs.errors import ConfigError, WebError
from toolenvs.web.document import Document
from toolenvs.web.record import SiteWriter
from toolenvs.web.recorded import Recording
from toolenvs.web.source import Loaded, Rendered

HTML = (("content-type", "text/html"),)
HOME = "https://docs.test/"


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sites") / "docs.site"
    with SiteWriter(path, home=HOME) as site:
        links = "".join(f"<p><a href=page{n}#end>page {n}</a>" for n in range(20))
        form = "<form action=find><input name=q><button>Go</button></form>"
        site.add(HOME, f"<title>Docs</title>{links}{form}".encode(), headers=HTML)
        for n in range(20):
            text = f"<title>Page {n}</title><p>about subject{n}" + "<p>text" * 50 + f"<p id=end>end of {n}"
            site.add(f"{HOME}page{n}", gzip.compress(text.encode()), headers=(*HTML, ("content-encoding", "gzip")))
        site.add(f"{HOME}old", b"", status=301, headers=(("location", "page3#end"),))
        site.add(f"{HOME}loop", b"", status=302, headers=(("location", "/loop"),))
        site.add(f"{HOME}away", b"", status=302, headers=(("location", "http://127.0.0.1/"),))
        site.add(f"{HOME}gone", b"<p>gone", status=410, headers=HTML)
        site.add(f"{HOME}find?q=tea", b"<p>found tea", headers=HTML)
        site.add(f"{HOME}picture.png", b"\x89PNG\r\n", headers=(("content-type", "image/png"),))
        site.add(f"{HOME}bomb", gzip.compress(b"a" * 5_000_000), headers=(*HTML, ("content-encoding", "gzip")))
    return path


@pytest.fixture
def source(path: Path) -> Iterator[Recording]:
    source = Recording(path)
    yield source
    source.close()


def test_pages_as_they_were(path: Path) -> None:
    with web.open(path) as browser:
        page = browser.open()
        assert (page.url, page.document.title) == (HOME, "Docs")
        third = browser.click(3)
        assert third.document.lines[third.first_line] == "end of 3"
        assert browser.open("/old").url == f"{HOME}page3"
        assert browser.open("/old").first_line == third.first_line
        assert browser.open("/page3").first_line == 0  # the anchor of before is not kept with the page
        assert browser.open("HTTPS://DOCS.test:443/x/../page3").document is third.document
        cut = browser.open("/bomb")
        assert (cut.status, cut.truncated) == ("ok", True)


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/none", "not_found"), ("/gone", "not_found"), ("http://elsewhere.org/", "not_found"),
        ("http://127.0.0.1/", "not_found"), ("/loop", "too_many_redirects"), ("/away", "not_found"),
        ("/picture.png", "unsupported_type"), ("file:///etc/passwd", "bad_url"),
    ],
)  # fmt: skip
def test_nothing_else_is_there(source: Recording, address: str, status: str) -> None:
    with source.browser() as browser:
        browser.open()
        assert browser.open(address).status == status
        assert browser.bytes_used == 0


def test_forms_find_what_was_recorded(source: Recording) -> None:
    with source.browser() as browser:
        page = browser.open()
        field = page.document.fields[0].number
        browser.type(field, "tea")
        assert browser.submit().document.lines == ("found tea",)
        browser.back()
        browser.type(field, "jam")
        assert browser.submit().status == "not_found"


def test_search(source: Recording, path: Path) -> None:
    with source.browser(max_results=3) as browser:
        page = browser.search("subject7")
        assert page.status == "ok"
        assert [link.url for link in page.links] == [f"{HOME}page7"]
        assert "about subject7" in page.text
        assert browser.click(0).url == f"{HOME}page7"
        assert len(browser.search("text about").links) == 3
        first = browser.search("subject1")
        second = browser.search("subject2")
        assert browser.view(0, cursor=first.cursor).text == first.text != second.text
        assert browser.open(0, cursor=first.cursor).url == f"{HOME}page1"
    with web.open(path, index=False) as browser:
        assert browser.search("subject7").status == "needs_browser"


def test_what_episodes_share_is_rendered_once(source: Recording) -> None:
    with source.browser() as one, source.browser() as other:
        assert one.open().document is other.open().document
        one.open("/page1")
        assert other.cursor == 0
        fork = one.fork()
        assert fork.view(0, cursor=1).document is one.view(0, cursor=1).document
        fork.open("/page2")
        assert one.cursor == 1


def test_a_blocking_action_needs_no_loop_and_works_in_one(source: Recording) -> None:
    async def inside() -> str:
        return source.browser().open().text

    outside = source.browser().open().text
    assert asyncio.run(inside()) == outside


def test_episodes_in_threads(source: Recording) -> None:
    told: list[list[str]] = []

    def episode() -> None:
        with source.browser() as browser:
            browser.open()
            told.append([browser.open(f"/page{n}").text for n in range(20)] + [browser.search("subject4").text])

    threads = [threading.Thread(target=episode) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 6
    assert all(texts == told[0] for texts in told)


def test_least_used_pages_are_rendered_again() -> None:
    kept = Rendered(max_chars=10_000)
    pages = {str(n): Loaded(Document(str(n), "", ("x" * 3_000,))) for n in range(4)}
    for url, page in pages.items():
        kept.put(url, page)
        kept.get("0")
    assert kept.get("0") is pages["0"]
    assert kept.get("1") is None
    assert kept.get("3") is pages["3"]


def test_a_small_cache_changes_nothing_that_is_seen(path: Path) -> None:
    with web.open(path, cache_chars=1) as small, web.open(path) as large:
        for address in (HOME, "/page1", "/page2", "/page1", "/old"):
            assert small.open(address).text == large.open(address).text


def test_shared(path: Path) -> None:
    source = web.shared(path)
    assert web.shared(str(path)) is source
    with source.browser() as browser:
        assert browser.open().status == "ok"
    assert source.browser().open().status == "ok"


def test_wrong_files_and_options_are_told(path: Path, tmp_path: Path) -> None:
    with pytest.raises(WebError, match="there is no recorded site"):
        web.open(tmp_path / "none.site")
    with pytest.raises(ConfigError, match="home='nowhere'"):
        web.open(path, home="nowhere")
    browser = web.open(path)
    browser.close()
    browser.close()
    with pytest.raises(ConfigError, match="closed"):
        browser.open()


def test_a_fictional_world_needs_no_file() -> None:
    with web.open("sites/world:100") as browser:
        page = browser.open()
        assert page.status == "ok"
        assert page.links
        assert browser.click(page.links[0].number).status == "ok"
        name = browser.view(0).document.title
        found = browser.search(name)
        assert name in found.text


def test_a_site_that_was_not_built_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(WebError, match="toolenvs site build git-doc"):
        web.open("sites/git-doc")
    with pytest.raises(ConfigError, match="did you mean"):
        web.open("sites/git-docs")
