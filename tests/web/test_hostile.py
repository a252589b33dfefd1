"""Servers that mean harm, on this machine: bombs, endless and slow answers, and what is no HTTP at all."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.web.hostile import PAGES
from toolenvs.web.browser import Browser
from toolenvs.web.guard import Policy

HOSTILE = Path(__file__).with_name("hostile.py")
TIMEOUT_S = 1.0
Make = Callable[..., Browser]

EXPECTED = {
    "ok": {
        "/good": "good", "/gzip": "packed well", "/gzip-members": "one and two", "/gzip-rubbish": "then rubbish",
        "/status-299": "unusual but good", "/status-204": "", "/json": '"a"', "/text": "zeile zwei ü",
        "/xhtml": "strict", "/untyped": "no type", "/charset-bad": "grüß", "/utf-16": "wide", "/to-good": "good",
        "/gzip-empty": "", "/cookies": "x",
    },
    "cut": {
        "/gzip-cut": "ABC", "/gzip-bomb": "aaaa", "/endless": "x", "/short": "the first part",
        "/chunks-cut": "the first part",
    },
    "decode": {
        "/gzip-no": "gzip", "/gzip-bomb-twice": "gzip, gzip", "/gzip-listed": "gzip", "/brotli": "'br'",
        "/deflate": "deflate", "/zstd": "zstd",
    },
    "timeout": dict.fromkeys(
        ["/drip", "/drip-chunks", "/drip-headers", "/drip-status", "/silent", "/early-hints"], "whole answer"
    ),
    "too_large": {"/headers-endless": "headers", "/header-long": "headers"},
    "http_status": {
        "/chunks-bad": "broke off", "/length-bad": "broke off", "/length-twice": "broke off", "/closed": "broke off",
        "/ssh": "broke off", "/http09": "broke off", "/http2": "broke off", "/status-999": "999", "/status-304": "304",
        "/status-401": "401", "/status-503": "503", "/nowhere": "302",
    },
    "not_found": {"/status-410": "no page", "/none": "no page"},
    "too_many_redirects": {"/loop": "/loop", "/loop-bodies": "/loop-bodies"},
    "unsupported_type": {
        "/pdf": "PDF", "/png": "PNG", "/zip": "ZIP", "/binary": "no text", "/film": "video/mp4",
    },
}  # fmt: skip
ENDING_SOMEHOW = [
    "/endless-chunks",
    "/continues",
    "/chunk-extension",
    "/trailers",
    "/gzip-endless",
    "/gzip-members-endless",
    "/smuggled",
]
"""Stopped by whichever cap is met first."""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with subprocess.Popen([sys.executable, str(HOSTILE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        yield int(server.stdout.readline())
        assert server.stdin is not None
        server.stdin.close()


@pytest.fixture
def make(live: Make, network: Any, port: int) -> Make:
    """Browsers that may go to the one server of this file, and to no other place of this machine."""
    network.real = {("127.0.0.1", port)}
    network.names = {"hostile.org": ["127.0.0.1"]}

    def made(**options: Any) -> Browser:
        policy = Policy(allow=("*",), endpoints=frozenset({("127.0.0.1", port)}))
        return live(policy=policy, **{"timeout_s": TIMEOUT_S, **options})

    return made


ROWS = [(path, status, said) for status, paths in EXPECTED.items() for path, said in paths.items()]


@pytest.mark.parametrize(("path", "status", "said"), [row for row in ROWS if row[1] != "timeout"])
def test_answers(make: Make, port: int, path: str, status: str, said: str) -> None:
    page = make(timeout_s=20.0).open(f"http://hostile.org:{port}{path}")
    assert page.status == ("ok" if status == "cut" else status)
    assert said in page.text
    assert page.truncated == (status == "cut")
    assert page.text.count("\n") == 0 or page.status == "ok"
    if status == "cut":
        assert "is cut" in page.text


async def test_what_never_ends_ends_by_the_deadline(make: Make, port: int) -> None:
    paths = [*EXPECTED["timeout"], *ENDING_SOMEHOW]
    browsers = [make() for _ in paths]
    pages = await asyncio.gather(
        *(browser.aopen(f"http://hostile.org:{port}{path}") for browser, path in zip(browsers, paths, strict=True))
    )
    for path, page in zip(paths, pages, strict=True):
        if path in EXPECTED["timeout"]:
            assert page.status == "timeout", path
        else:
            assert page.status in ("timeout", "http_status", "too_large", "decode", "ok"), path
    after = await browsers[0].aopen(f"http://hostile.org:{port}/good")
    assert after.status == "ok"


def test_a_cancelled_load_leaves_the_browser_usable(make: Make, port: int) -> None:
    browser = make(timeout_s=60.0)

    async def cancelled() -> None:
        task = asyncio.ensure_future(browser.aopen(f"http://hostile.org:{port}/silent"))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert browser.open(f"http://hostile.org:{port}/good").status == "ok"


def test_bytes_of_an_episode_are_limited(make: Make, port: int) -> None:
    browser = make(max_total_bytes=3_000_000, timeout_s=20.0)
    assert browser.open(f"http://hostile.org:{port}/endless").truncated
    assert browser.open(f"http://hostile.org:{port}/endless").truncated
    page = browser.open(f"http://hostile.org:{port}/good")
    assert page.status == "budget"
    assert browser.view(0, cursor=0).status == "ok"
    fork = browser.fork()
    assert fork.open(f"http://hostile.org:{port}/good").status == "budget"
    fork.close()
    assert make().open(f"http://hostile.org:{port}/good").status == "ok"


def test_nothing_answers(live: Make, network: Any) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # and nobody listens
        port = closed.getsockname()[1]
        network.real = {("127.0.0.1", port)}
        policy = Policy(allow=("*",), endpoints=frozenset({("127.0.0.1", port)}))
        page = live(policy=policy).open(f"http://127.0.0.1:{port}/")
    assert page.status == "not_found"
    assert "nothing answers" in page.text


CHILD = """
import json, sys
from toolenvs import web
from toolenvs.web.guard import Policy
from toolenvs.web.render.child import peak_kb as peak

port, paths = int(sys.argv[1]), json.loads(sys.argv[2])
policy = Policy(allow=("*",), endpoints=frozenset({("127.0.0.1", port)}))
browser = web.open("live", policy=policy, pace_s=0, timeout_s=2.0)
assert browser.open(f"http://127.0.0.1:{port}/good").status == "ok"
before, told = peak(), {}
for path in paths:
    page = browser.open(f"http://127.0.0.1:{port}{path}")
    told[path] = [page.status, page.truncated, (peak() - before) // 1024]
print(json.dumps(told))
"""


def test_bombs_take_little_memory(port: int) -> None:
    paths = ["/gzip-bomb", "/gzip-bomb-twice", "/brotli", "/deflate", "/endless", "/endless-chunks", "/gzip-endless",
             "/gzip-members-endless", "/headers-endless", "/header-long", "/chunk-extension", "/trailers",
             "/loop-bodies", *PAGES]  # fmt: skip
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(port), json.dumps(paths)], stdout=subprocess.PIPE, text=True, check=True
    )
    told = json.loads(child.stdout)
    assert list(told) == paths
    growth = {path: grown_mb for path, (_, _, grown_mb) in told.items()}
    assert max(growth.values()) <= 50, growth
    assert told["/gzip-bomb"][:2] == ["ok", True]
    assert told["/page-quoted"][0] == "timeout"
    assert told["/page-nested"][:2] == ["ok", True]
    assert {told[path][0] for path in PAGES} <= {"ok", "timeout"}
    assert told["/brotli"][0] == told["/deflate"][0] == told["/gzip-bomb-twice"][0] == "decode"
