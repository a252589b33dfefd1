"""Applications that misbehave: they wait, they never stop, they break, they answer nothing."""

import asyncio
import gzip
from typing import Any

import pytest

from toolenvs import web
from toolenvs.errors import WebError

HTML = [(b"content-type", b"text/html")]


def app(act: Any) -> Any:
    async def called(scope: Any, receive: Any, send: Any) -> None:
        await act(scope, receive, send)

    return called


async def start(send: Any, status: int = 200, headers: Any = HTML) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def body(send: Any, content: bytes, more: bool = False) -> None:
    await send({"type": "http.response.body", "body": content, "more_body": more})


async def waits(scope: Any, receive: Any, send: Any) -> None:
    await asyncio.sleep(3_600)


async def never_stops(scope: Any, receive: Any, send: Any) -> None:
    await start(send)
    while True:
        await body(send, b"<p>again and again", more=True)


async def in_pieces(scope: Any, receive: Any, send: Any) -> None:
    await start(send)
    for piece in (b"<p>one ", b"and ", b"two"):
        await body(send, piece, more=True)
    await body(send, b"")


async def bomb(scope: Any, receive: Any, send: Any) -> None:
    await start(send, headers=[*HTML, (b"content-encoding", b"gzip")])
    await body(send, gzip.compress(b"a" * 50_000_000))


async def nothing(scope: Any, receive: Any, send: Any) -> None:
    return


async def breaks_late(scope: Any, receive: Any, send: Any) -> None:
    await start(send)
    await body(send, b"<p>half", more=True)
    raise KeyError("lost")


async def told(scope: Any, receive: Any, send: Any) -> None:
    await start(send, headers=[(b"content-type", b"text/plain")])
    message = await receive()
    again = await receive()
    shown = {
        name: scope[name] for name in ("method", "path", "raw_path", "query_string", "scheme", "http_version", "server")
    }
    await body(send, repr((shown, message["body"], again["type"])).encode())


def open_(act: Any, **options: Any) -> web.Page:
    with web.open(app(act), **options) as browser:
        return browser.open()


def test_one_that_waits_is_not_waited_for() -> None:
    assert open_(waits, timeout_s=0.2).status == "timeout"


def test_one_that_never_stops_is_cut() -> None:
    page = open_(never_stops, max_body_bytes=10_000)
    assert (page.status, page.truncated) == ("ok", True)


def test_pieces_are_one_page() -> None:
    assert open_(in_pieces).document.lines == ("one and two",)


def test_what_it_compresses_is_capped_too() -> None:
    page = open_(bomb)
    assert (page.status, page.truncated) == ("ok", True)
    assert sum(map(len, page.document.lines)) <= 2_000_000


@pytest.mark.parametrize("act", [nothing, breaks_late])
def test_one_that_breaks_is_not_the_page_s_fault(act: Any) -> None:
    with pytest.raises(WebError, match="the application failed at GET http://app.test/"):
        open_(act)


def test_what_an_application_is_told() -> None:
    with web.open(app(told), home="https://shop.test:8443/") as browser:
        browser.open()
        line = browser.open("/a%20b%2Fc/\u00fc?x=%20y&z").document.lines[0]
    assert line == repr((
        {"method": "GET", "path": "/a b/c/\u00fc", "raw_path": b"/a%20b%2Fc/%C3%BC", "query_string": b"x=%20y&z",
         "scheme": "https", "http_version": "1.1", "server": ("shop.test", 8443)}, b"", "http.disconnect",
    ))  # fmt: skip


async def test_many_episodes_on_one_application_at_once() -> None:
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0.01)
        await start(send)
        await body(send, f"<p>{scope['path']}".encode())

    source = web.shared(app(answer), stateless=True)
    browsers = [source.browser() for _ in range(20)]
    pages = await asyncio.gather(*(browser.aopen(f"http://app.test/{n}") for n, browser in enumerate(browsers)))
    assert [page.document.lines[0] for page in pages] == [f"/{n}" for n in range(20)]
    assert {page.cursor for page in pages} == {0}


def test_shared_sources_are_one(tmp_path: Any) -> None:
    application = app(in_pieces)
    first = web.shared(application, stateless=True)
    assert web.shared(application, stateless=True) is first
    assert web.shared(application) is not first
    with pytest.raises(web.ConfigError, match="limits are given to its browser"):
        web.shared(application, timeout_s=3)
    with first.browser(max_hits=3) as browser:
        assert browser.open().status == "ok"
    assert first.browser().open().status == "ok"  # closing an episode leaves the source open
