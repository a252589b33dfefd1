"""Manners on the live web: robots.txt, the pace, no forms that change something, nothing shared between episodes."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from toolenvs.web.browser import Browser
from toolenvs.web.transport import pace
from toolenvs.web.transport.pace import Pace

Live = Callable[..., Browser]
PUBLIC = ["93.184.215.14"]


def answer(body: str, status: str = "200 OK", **headers: str) -> bytes:
    fields = {
        "Content-Type": "text/html",
        "Connection": "close",
        **{n.replace("_", "-"): v for n, v in headers.items()},
    }
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in fields.items()), "", body]
    return "\r\n".join(lines).encode()


def asked(network: Any) -> list[str]:
    return [stream.written.split(b"\r\n")[0].decode() for stream in network.streams]


RULES = "User-agent: *\nDisallow: /private\nCrawl-delay: 3\n\nUser-agent: toolenvs\nDisallow: /ours\n"


def test_robots_txt_is_read_once_and_obeyed(live: Live, network: Any) -> None:
    network.names = {"site.org": PUBLIC, "other.org": PUBLIC}
    network.answers = [answer(RULES)]
    browser = live()
    assert browser.open("http://site.org/ours/x").status == "blocked"
    assert browser.open("http://site.org/private").status == "ok"  # the rules for us are the other ones
    page = browser.open("http://site.org/ours")
    assert page.text.startswith("Error (blocked): robots: site.org")
    assert browser.open("http://other.org/ours").status == "ok"
    assert asked(network) == [
        "GET /robots.txt HTTP/1.1", "GET /private HTTP/1.1", "GET /robots.txt HTTP/1.1", "GET /ours HTTP/1.1",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("robots", "status"),
    [
        (answer("", "404 Not Found"), "ok"), (answer("", "403 Forbidden"), "ok"), (answer("", "500 Oops"), "blocked"),
        (answer("", "503 Busy"), "blocked"), (answer("\ufeffUser-agent: *\nDisallow: /"), "blocked"),
        (answer("<html>no rules"), "ok"),
        (answer("", "200 OK", Content_Encoding="br"), "ok"), (answer("\0\1\2"), "ok"),
    ],
)  # fmt: skip
def test_a_robots_txt_of_any_kind(live: Live, network: Any, robots: bytes, status: str) -> None:
    network.names = {"site.org": PUBLIC}
    network.answers = [robots]
    assert live().open("http://site.org/").status == status


def test_a_robots_txt_may_be_elsewhere(live: Live, network: Any) -> None:
    network.names = {"site.org": PUBLIC, "www.site.org": PUBLIC}
    moved = answer("", "301 Moved", Location="https://www.site.org/robots.txt")
    network.answers = [moved, answer("User-agent: *\nDisallow: /")]
    assert live().open("http://site.org/").status == "blocked"
    inside = answer("", "301 Moved", Location="http://127.0.0.1/robots.txt")
    network.answers = [inside]
    assert live().open("http://site.org/").status == "blocked"
    assert all(host == PUBLIC[0] for host, _ in network.connected)


def test_a_fork_knows_the_rules(live: Live, network: Any) -> None:
    network.names = {"site.org": PUBLIC}
    network.answers = [answer(RULES)]
    browser = live()
    browser.open("http://site.org/")
    fork = browser.fork()
    assert fork.open("http://site.org/ours").status == "blocked"
    assert asked(network).count("GET /robots.txt HTTP/1.1") == 1
    fork.close()


async def test_the_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    now, slept = [100.0], []

    async def sleep(seconds: float) -> None:
        slept.append(round(seconds, 3))
        now[0] += seconds

    monkeypatch.setattr(pace.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(pace.asyncio, "sleep", sleep)
    keeper = Pace(1.0)
    for host, delay_s in [("a", 0), ("b", 0), ("a", 0), ("a", 3.0), ("a", 0), ("a", 1e9), ("a", 0)]:
        await keeper.wait(host, delay_s)
    assert slept == [1.0, 1.0, 3.0, 1.0, 10.0]
    now[0] += 60
    await keeper.wait("a")
    assert len(slept) == 5


def test_the_pace_does_not_count_towards_the_deadline(live: Live, network: Any) -> None:
    network.names = {"site.org": PUBLIC}
    browser = live(pace_s=0.15, timeout_s=0.3)
    assert [browser.open(f"http://site.org/{n}").status for n in range(4)] == ["ok"] * 4


def test_forms_that_change_something_are_not_sent(live: Live, network: Any) -> None:
    network.names = {"site.org": PUBLIC}
    forms = "<form method=post action=/buy><button>Buy</button></form>"
    forms += "<form action=/s><input name=q><button>Find</button></form>"
    network.answers = [answer("", "404 Not Found"), answer(forms)]
    browser = live()
    page = browser.open("http://site.org/")
    before = len(network.connected)
    buy, field, find = page.document.fields
    told = browser.click(buy.number)
    assert told.status == "blocked"
    assert "POST" in told.text
    assert len(network.connected) == before
    browser.type(field.number, "x")
    assert browser.click(find.number).url == "http://site.org/s?q=x"


def test_cookies_are_of_one_episode_and_one_host(live: Live, network: Any) -> None:
    network.names = {"a.org": PUBLIC, "b.org": PUBLIC, "sub.a.org": PUBLIC}
    network.answers = [answer("", "404 Not Found"), answer("x", Set_Cookie="id=1")]
    first, second = live(), live()
    first.open("http://a.org/")
    for browser, url in [
        (first, "http://b.org/"),
        (second, "http://a.org/"),
        (first, "http://sub.a.org/"),
        (first, "http://a.org/2"),
    ]:
        browser.open(url)
    sent = {stream.written for stream in network.streams if b"Cookie: id=1" in stream.written}
    assert [written.split(b"\r\n")[0] for written in sent] == [b"GET /2 HTTP/1.1"]


async def test_episodes_at_once_share_nothing(live: Live, network: Any) -> None:
    """Each has its own connections, cookies, history, cursors, bytes and pace."""
    network.names = {"site.org": PUBLIC}
    browsers = [live(pace_s=0.05) for _ in range(8)]

    async def episode(number: int) -> list[tuple[str, int | None]]:
        seen = []
        for step in range(3):
            page = await browsers[number].aopen(f"http://site.org/{number}/{step}")
            seen.append((page.url, page.cursor))
        return seen

    for number, seen in enumerate(await asyncio.gather(*map(episode, range(8)))):
        assert seen == [(f"http://site.org/{number}/{step}", step) for step in range(3)]
    assert {browser.bytes_used for browser in browsers} == {browsers[0].bytes_used}
    assert browsers[0].bytes_used > 0
    assert len({id(browser._fetcher.transport) for browser in browsers}) == 8


def test_what_is_asked_for_says_who_asks_and_only_gzip(live: Live, network: Any) -> None:
    network.names = {"site.org": PUBLIC}
    live().open("http://site.org/x?y=1#z")
    head = network.streams[-1].written.decode()
    assert head.startswith("GET /x?y=1 HTTP/1.1\r\nHost: site.org\r\n")
    assert "\r\nAccept-Encoding: gzip\r\n" in head
    assert "\r\nUser-Agent: toolenvs\r\n" in head
    assert "Cookie" not in head
