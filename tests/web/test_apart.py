"""Pages of the live web are read in a process apart: the same documents, and no page holds its reader up."""

import asyncio
import gc
import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from toolenvs.errors import WebError
from toolenvs.web import apart
from toolenvs.web.apart import Renderer
from toolenvs.web.browser import Browser
from toolenvs.web.faults import Fault
from toolenvs.web.render import packing, render

URL = "https://a.test/b"
MINUTES = "<p>x</p><a " + " ".join(f'a{number}=">"' for number in range(180_000)) + ">y"
"""No parser that follows the standard reads these attributes in less than minutes."""
PAGES = [
    "<title>T</title><h1 id=a>H</h1><p>words <a href=/x#y>link</a> \u00fc\u2020\ud800[0\u2020x]",
    "<form action=/f method=post><input type=hidden name=h value=1><input name=q value='a&quot;b'>"
    "<select name=s multiple><option selected>one<option value=2>two</select><button>Go</button></form>",
    "<pre>a\n\n b</pre><table><tr><td>1<td>2</table>" + "<p>z" * 2_000,
    "",
]


@pytest.fixture
def renderer() -> Any:
    one = Renderer()
    yield one
    one.close()


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("decoded", [True, False])
async def test_documents_are_those_of_render(renderer: Renderer, page: str, decoded: bool) -> None:
    body = page if decoded else page.encode("utf-8", "replace")
    made = await renderer.render(body, url=URL, content_type="text/html", timeout_s=60.0)
    assert made == render(body, url=URL)
    assert packing.read(json.loads(json.dumps(packing.written(made)))) == made


async def test_a_page_that_takes_too_long_is_ended_and_the_next_one_is_read(renderer: Renderer) -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with pytest.raises(Fault, match="takes too long") as caught:
        await renderer.render(MINUTES, url=URL, content_type="text/html", timeout_s=1.0)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert caught.value.status == "timeout"
    assert (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime) < 1.0 + apart.GRACE_S + 1.0
    made = await renderer.render("<p>next", url=URL, content_type="text/html", timeout_s=60.0)
    assert made.lines == ("next",)


async def test_many_at_once_hold_no_honest_page_up_for_good(renderer: Renderer) -> None:
    bad = [renderer.render(MINUTES, url=URL, content_type="text/html", timeout_s=0.3) for _ in range(6)]
    good = [renderer.render(f"<p>{n}", url=URL, content_type="text/html", timeout_s=60.0) for n in range(6)]
    told = await asyncio.gather(*bad, *good, return_exceptions=True)
    assert [isinstance(one, Fault) for one in told] == [True] * 6 + [False] * 6
    assert [one.lines for one in told[6:]] == [(str(n),) for n in range(6)]  # type: ignore[union-attr]


async def test_a_process_is_kept_however_much_memory_the_one_has_that_started_it(renderer: Renderer) -> None:
    large = bytearray(400_000_000)
    large[::4096] = b"x" * len(large[::4096])
    await renderer.render("<p>x", url=URL, content_type="text/html", timeout_s=60.0)
    (worker,) = renderer._idle
    await renderer.render("<p>x", url=URL, content_type="text/html", timeout_s=60.0)
    assert renderer._idle == [worker]


async def test_a_process_that_was_killed_meanwhile_is_replaced(renderer: Renderer) -> None:
    await renderer.render("<p>x", url=URL, content_type="text/html", timeout_s=60.0)
    (worker,) = renderer._idle
    os.kill(worker._process.pid, signal.SIGKILL)
    worker._process.wait()
    assert (await renderer.render("<p>x", url=URL, content_type="text/html", timeout_s=60.0)).lines == ("x",)


async def test_with_ever_less_memory_a_page_is_whole_or_has_a_status_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    large = "<table>" + "<td>x" * 390_000
    whole, faults = render(large, url=URL), []
    for memory_mb in range(90, 40, -6):
        monkeypatch.setattr(apart, "MEMORY_MB", memory_mb)
        renderer = Renderer()
        try:
            assert await renderer.render(large, url=URL, content_type="text/html", timeout_s=60.0) == whole
        except Fault as fault:
            faults.append(fault.status)
        except WebError:  # too little for the process itself
            break
        finally:
            renderer.close()
    assert set(faults) == {"too_large"}


def test_a_live_page_that_takes_too_long_has_the_status_timeout(live: Callable[..., Browser], network: Any) -> None:
    network.names = {"site.org": ["93.184.215.14"]}
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n"
    network.answers = [b"HTTP/1.1 404 No\r\nConnection: close\r\n\r\n", head + MINUTES.encode()]
    browser = live(timeout_s=3.0)
    page = browser.open("http://site.org/bomb")
    assert (page.status, page.url) == ("timeout", "http://site.org/bomb")
    assert "takes too long" in page.text
    assert browser.open("http://site.org/").status == "ok"


PROGRAM = """
import asyncio, os, sys
from toolenvs.web import apart
from toolenvs.web.faults import Fault
from toolenvs.web.render.child import peak_kb
one = apart.renderer()
async def go(page, timeout_s=60.0):
    try:
        return len((await one.render(page, url="http://a.test/", content_type="text/html", timeout_s=timeout_s)).lines)
    except Fault as fault:
        return fault.status
async def all():
    print(await go("<p>x"), flush=True)
    before = peak_kb()
    print(await go("<p>x</p><a " + " ".join(f'a{n}=">"' for n in range(180_000)) + ">y", 1.0))
    print(await go("<table>" + "<td>x" * 390_000))
    print((peak_kb() - before) >> 10)
asyncio.run(all())
child = os.fork()
if not child:
    assert apart.renderer() is not one
    one = apart.renderer()
    os._exit(asyncio.run(go("<p>x<p>y")))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print([worker._process.pid for worker in one._idle])
"""


def test_the_reader_grows_little_and_leaves_nothing_behind() -> None:
    done = subprocess.run([sys.executable, "-W", "error", "-c", PROGRAM], capture_output=True, text=True, check=True)
    *told, grown_mb, forked, workers = done.stdout.split("\n")[:-1]
    assert told == ["1", "timeout", "1"]
    assert int(grown_mb) <= 50
    assert forked == "2"
    assert done.stderr == ""
    for pid in json.loads(workers):
        assert not Path(f"/proc/{pid}").exists()
    gc.collect()
