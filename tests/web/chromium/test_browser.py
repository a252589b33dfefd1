"""The actions of a browser over Chromium: the same as without one, and what only a real one can do."""

# ruff: noqa: E501, SIM117  (pages as they are written)

import asyncio
import contextlib
import os
import signal
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

from tests.web.chromium.conftest import PATIENT_S, Site, descendants
from toolenvs import web
from toolenvs.errors import ConfigError, ForkError, WebError
from toolenvs.web.app import Application
from toolenvs.web.chromium import containment
from toolenvs.web.chromium.browser import ChromiumBrowser
from toolenvs.web.chromium.engine import Engine
from toolenvs.web.limits import Limits
from toolenvs.web.text import TextBrowser

HOME = """<!doctype html><title>Home</title><h1>Hello &amp; welcome</h1>
<p>See <a href="/two">the second</a>, <a href="/moved">moved</a>, <a href="/gone">gone</a>,
<a href="/data.json">data</a>, <a href="#low">low</a>, <a href="/two#end" target=_blank>blank</a>,
<a href="/picture">picture</a>.</p>
<form action="/search"><input type=hidden name=h value=deep><input name=q placeholder=words>
<input name=n type=number value=3>
<select name=s><option value=a>Alpha<option value=b>Beta</select><select name=m multiple><option>x<option>y</select>
<input type=checkbox name=c value=1><input type=radio name=r value=1 checked><input type=radio name=r value=2>
<textarea name=t>old
text</textarea><button>Go</button></form>
<p style="display:none">not shown</p><p class=off><a href=/two>hidden by a style sheet</a></p>
<style>.off { display: none }</style><p id=low>Low</p>"""
TWO = "<title>Two</title><p>Second <a href='/'>home</a></p>" + "<p>filler</p>" * 30 + "<p id=end>The end</p>"


@pytest.fixture
def both(browse: Any, site: Site) -> Any:
    """Does an action in both backends and says what they gave: the same."""
    site.add("/", HOME)
    site.add("/two", TWO)
    site.add("/moved", "", location="/two", **{"set-cookie": "from=redirect; Path=/"})
    site.add("/data.json", '{"a": [1, 2]}', "application/json")
    site.add("/picture", b"\x89PNG\r\n\x1a\n", "image/png")
    site.add("/search", lambda scope, body: f"<title>Found</title><p>{parse_qsl(scope['query_string'].decode())}")
    site.add("/post", lambda scope, body: f"<p>posted {sorted(parse_qsl(body.decode()))}")
    text = TextBrowser(Application(site), Limits(timeout_s=PATIENT_S))
    real = browse()

    def act(name: str, *arguments: Any, **options: Any) -> web.Page:
        one = getattr(text, name)(*arguments, **options)
        other: web.Page = getattr(real, name)(*arguments, **options)
        assert other.text == one.text
        assert (other.status, other.cursor, other.http_status) == (one.status, one.cursor, one.http_status)
        assert (other.first_line, other.last_line, other.url) == (one.first_line, one.last_line, one.url)
        return other

    yield act
    text.close()


def _number(page: web.Page, name: str, place: int = 0) -> int:
    assert page.document is not None
    found = [field.number for field in page.document.fields if name in (field.name, field.label)]
    return found[place]


def test_links_history_and_lines_are_the_same(both: Any) -> None:
    both("open")
    for number, status in enumerate(["ok", "ok", "not_found", "ok", "ok", "ok", "unsupported_type", "ok"]):
        if number == 7:  # the first field
            break
        assert both("open", "http://app.test/").status == "ok"
        assert both("click", number).status == status
        both("view", 0)
    both("back")
    both("back")
    both("forward")
    both("find", "second HOME")
    assert both("click", 0, cursor=0).document.title == "Two"
    both("open", "/two#end")
    for wrong in ("/nowhere", "file:///etc/passwd", "http://other.test/", "http://app.test:99/"):
        assert both("open", wrong).status != "ok"
    assert both("click", 99).status == both("click", -1).status == "no_such_link"
    assert both("view", 99, cursor=0).status == both("view", 0, cursor=99).status == "no_such_line"


def test_a_link_that_a_style_sheet_hides_is_clicked_too(both: Any) -> None:
    page = both("open")
    hidden = next(link.number for link in page.links if "hidden" in link.text)
    assert both("click", hidden).document.title == "Two"


def test_forms_are_filled_and_sent_the_same(both: Any) -> None:
    page = both("open")
    assert "not shown" not in page.text
    both("type", _number(page, "q"), "two words & é")
    both("type", _number(page, "t"), "a\nb")
    both("type", _number(page, "n"), "42")
    both("select", _number(page, "s"), "Beta")
    both("select", _number(page, "m"), ["x", "y"])
    both("click", _number(page, "c"))
    state = both("click", _number(page, "r", 1))
    for wrong in ((_number(page, "s"), "x"), (_number(page, "c"), "x"), (0, "x"), (99, "x")):
        assert both("type", *wrong).status == "no_such_link"
    assert both("select", _number(page, "s"), "Gamma").status == "no_such_link"
    found = both("submit", _number(page, "q"))
    assert "two words & é" in found.text
    assert "'42'" in found.text
    # and from the state that was left, which is put back
    both("back")
    assert both("click", _number(page, "Go"), cursor=state.cursor).document.title == "Found"


def test_a_form_is_posted_with_what_scripts_added(browse: Any, site: Site) -> None:
    site.add("/", "<form method=post action=/post><input name=a required><button name=b value=2>Send</button></form>"
             "<script>document.forms[0].onsubmit = (e) => e.target.a.value += '!'</script>")  # fmt: skip
    site.add("/post", lambda scope, body: f"<p>posted {body.decode()}")
    browser = browse()
    page = browser.open("http://app.test/")
    refused = browser.submit(_number(page, "a"))
    assert refused.status == "no_such_link"
    assert "cannot be sent yet" in refused.text
    browser.type(_number(page, "a"), "x")
    assert browser.click(_number(page, "b")).document.lines == ("posted a=x%21&b=2",)
    assert site.asked[-1] == ("POST", "/post", b"a=x%21&b=2")


def test_scripts_change_the_page(browse: Any, site: Site) -> None:
    site.add(
        "/",
        """<title>S</title><p id=out>nothing</p><p id=got></p><input id=in name=in>
        <button onclick="say('pressed')">One</button>
        <a href="#" onclick="say('linked'); return false">Two</a>
        <a href="/x" onclick="event.preventDefault(); say('held')">Three</a><script>const say = (text) => out.textContent = text;
        const out = document.getElementById('out');
        document.getElementById('in').addEventListener('input', (e) => say('typed ' + e.target.value + e.isTrusted));
        document.addEventListener('keydown', (e) => say('key ' + e.key));
        document.addEventListener('mousedown', (e) => { if (e.clientX > 700) say('mouse ' + e.clientX) });
        document.addEventListener('mouseup', (e) => { if (e.clientX > 700) out.textContent += ' up ' + e.clientX });
        fetch('/data.json').then((r) => r.json()).then((j) =>
            document.getElementById('got').textContent = 'got ' + j.a);
        </script>""",
    )
    site.add("/data.json", '{"a": 1}', "application/json")
    browser = browse()
    page = browser.open("http://app.test/")
    assert page.document.lines[:2] == ("nothing", "got 1")
    assert browser.click(_number(page, "One")).document.lines[0] == "pressed"
    for link, told in zip(page.links, ("linked", "held"), strict=True):
        assert browser.click(link.number).document.lines[0] == told
    assert browser.type(_number(page, "in"), "abc").document.lines[0] == "typed abctrue"
    assert browser.press("ArrowDown").document.lines[0] == "key ArrowDown"
    assert browser.press("Nonsense").status == browser.press("").status == "no_such_link"
    assert browser.xy(800, 500).document.lines[0] == "mouse 800 up 800"
    assert browser.drag(800, 500, 900, 600).document.lines[0] == "mouse 800 up 900"
    assert browser.xy(-1, 5).status == "no_such_link"


def test_without_javascript_scripts_do_not_run(browse: Any, site: Site) -> None:
    site.add("/", "<p id=p>plain</p><noscript>no script</noscript><script>p.textContent = 'ran'</script>")
    assert browse(javascript=False).open("http://app.test/").document.lines[0] == "plain"
    assert browse().open("http://app.test/").document.lines[0] == "ran"


def test_windows_dialogs_and_downloads_do_not_stop_a_page(browse: Any, site: Site) -> None:
    site.add("/", """<title>D</title><p id=p>x</p><a href="#" onclick="window.open('/window'); return false">open</a>
        <a download href="/file">load</a><a href="#" onclick="window.open(''); return false">empty</a>
        <script>addEventListener('beforeunload', (e) => { e.preventDefault(); e.returnValue = 'x'; });
        alert('a');
        document.getElementById('p').textContent = [confirm('b'), prompt('c'), Notification.permission].join(' ')
        </script>""")  # fmt: skip
    site.add("/window", "<title>W</title><p>window")
    site.add("/file", b"\0\1\2", "application/octet-stream")
    browser = browse()
    page = browser.open("http://app.test/")
    assert page.document.lines[0] == "false denied"
    assert browser.click(page.links[2].number).document.title == "D"
    assert browser.click(page.links[0].number).document.title == "W"
    assert browser.click(page.links[1].number, cursor=0).status in ("ok", "unsupported_type")
    assert browser.open("http://app.test/window").status == "ok"


LOOPS = {
    "while loading": "<p>x<script>while (true);</script>",
    "when loaded": "<p>x<script>onload = () => { while (true); }</script>",
    "in promises": "<p>x<script>const f = () => Promise.resolve().then(f); f()</script>",
    "in requests": "<p>x<script>for (;;) { r = new XMLHttpRequest(); r.open('GET', '/x', false);"
    " try { r.send() } catch {} }</script>",  # past the most requests of a page, sending one fails
}


@pytest.mark.parametrize("page", LOOPS.values(), ids=LOOPS)
def test_a_page_that_never_ends_costs_its_own_action_only(page: str, browse: Any, site: Site) -> None:
    site.add("/", "<title>Good</title><p>good</p><a href=/loop>loop</a>")
    site.add("/loop", page)
    patient, hasty = browse(), browse(timeout_s=2.0)
    patient.open("http://app.test/")
    assert hasty.open("http://app.test/loop").status == "timeout"
    assert patient.look().document.title == "Good"


def test_a_page_that_hangs_later_is_opened_again(browse: Any, site: Site) -> None:
    site.add("/", "<title>G</title><input name=a><button onclick='for(;;);'>hang</button>"
             "<button onclick='go()'>ok</button><p id=p></p><script>const go = () => p.textContent = document.querySelector('input').value</script>")  # fmt: skip
    browser = browse(timeout_s=4.0)
    page = browser.open("http://app.test/")
    page = browser.type(_number(page, "a"), "kept")
    hung = browser.click(_number(page, "hang"))
    assert hung.status == "timeout"
    assert hung.document is None
    assert browser.click(_number(page, "ok")).document.lines[-1] == "kept"


def test_a_memory_bomb_is_bounded_and_ends_with_its_page(site: Site) -> None:
    site.add("/", "<p>x<script>const a = []; for (;;) a.push(new Uint8Array(1 << 24).fill(1))</script>")
    site.add("/good", "<p id=p>x<script>p.textContent = document.cookie</script>", **{"set-cookie": "kept=1; Path=/"})
    with Engine(containment.setting(memory_mb=384)) as small:
        with ChromiumBrowser(Application(site), Limits(timeout_s=PATIENT_S), engine=small) as browser:
            browser.open("http://app.test/good")
            before = _peak_mb()
            assert browser.open("http://app.test/").status in ("ok", "too_large")  # the script, or its page, fails
            assert _peak_mb() < before + 600
            assert browser.open("http://app.test/good").document.lines == ("kept=1",)


def test_a_page_that_crashed_is_opened_again(browse: Any, site: Site) -> None:
    site.add("/", "<p>x<a href=/two>two</a>")
    site.add("/two", TWO)
    browser = browse()
    browser.open("http://app.test/")
    for pid, _ in descendants(os.getpid()):
        with contextlib.suppress(OSError):
            if b"--type=renderer" in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)
    page = browser.click(0)
    assert page.status == "too_large" or page.document.title == "Two"  # as the crash is noticed within it or before
    assert browser.click(0, cursor=0).document.title == "Two"


def _peak_mb() -> int:
    """The largest process below this one, as it was at its largest."""
    peaks = [0]
    for pid, _ in descendants(os.getpid()):
        with contextlib.suppress(OSError, StopIteration):
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            peaks.append(next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM")))
    return max(peaks)


def test_scripts_that_lead_on_and_on_are_stopped(browse: Any, site: Site) -> None:
    site.add("/", "<p>x<script>location.href = '/?' + Math.random()</script>")
    site.add("/good", "<p>good")
    browser = browse()
    assert browser.open("http://app.test/").status == "too_many_redirects"
    assert browser.open("http://app.test/good").status == "ok"


def test_episodes_share_nothing(browse: Any, site: Site) -> None:
    site.add("/", "<p id=p></p><script>p.textContent = document.cookie + '|' + localStorage.length; "
             "document.cookie = 'js=1'; localStorage.a = 1</script>", **{"set-cookie": "server=2; HttpOnly"})  # fmt: skip
    first, second = browse(), browse()
    assert first.open("http://app.test/").document.lines == ("|0",)
    assert site.cookies == []
    assert first.open("http://app.test/").document.lines == ("js=1|1",)
    assert set(site.cookies[-1].split("; ")) == {"js=1", "server=2"}
    site.cookies.clear()
    assert second.open("http://app.test/").document.lines == ("|0",)
    assert site.cookies == []


def test_cookies_of_a_redirect_are_kept_and_dropped(browse: Any, site: Site) -> None:
    site.add("/in", "", location="/", **{"set-cookie": "a=1; Path=/; Max-Age=1000"})
    site.add("/out", "", location="/", **{"set-cookie": "a=; Path=/; Max-Age=0"})
    site.add("/", "<p id=p>x<script>p.textContent = '<' + document.cookie + '>'</script>")
    browser = browse()
    assert browser.open("http://app.test/in").document.lines == ("<a=1>",)
    assert site.cookies[-1] == "a=1"
    assert browser.open("http://app.test/out").document.lines == ("<>",)


def test_a_page_that_is_another_now_is_not_acted_upon(browse: Any, site: Site) -> None:
    count = iter(range(100))
    site.add("/", lambda scope, body: f"<p>visit {next(count)}</p><a href=/two>two</a>")
    site.add("/two", TWO)
    browser = browse()
    browser.open("http://app.test/")
    browser.click(0)
    assert browser.click(0, cursor=0).status == "no_such_link"
    assert browser.view(0, cursor=0).document.lines[0] == "visit 0"


def test_many_episodes_at_once(engine: Any, browse: Any, site: Site) -> None:
    site.add(
        "/",
        lambda scope, body: (
            f"<p>page {scope['query_string'].decode()}</p><a href=/two?{scope['query_string'].decode()}>on</a>"
        ),
    )
    site.add("/two", lambda scope, body: f"<p>two {scope['query_string'].decode()}")

    async def episode(number: int) -> None:
        async with browse() as browser:
            assert (await browser.aopen(f"http://app.test/?{number}")).document.lines[0] == f"page {number}"
            assert (await browser.aclick(0)).document.lines == (f"two {number}",)
            assert (await browser.aback()).document.lines[0] == f"page {number}"

    async def all_of_them() -> None:
        await asyncio.gather(*map(episode, range(6)))

    asyncio.run(all_of_them())


def test_a_cancelled_action_leaves_a_browser_that_works(browse: Any, site: Site) -> None:
    site.add("/", "<p>x<script>for(;;);</script>")
    site.add("/good", "<p>good")
    browser = browse()

    async def cancelled() -> None:
        task = asyncio.create_task(browser.aopen("http://app.test/"))
        await asyncio.sleep(0.5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert browser.open("http://app.test/good").status == "ok"


def test_a_site_that_fails_is_infrastructure(browse: Any, site: Site) -> None:
    def fail(scope: Any, body: bytes) -> str:
        raise RuntimeError("broken")

    site.add("/", fail)
    site.add("/good", "<p>good<a href=/>on</a>")
    browser = browse()
    with pytest.raises(WebError, match="broken"):
        browser.open("http://app.test/")
    browser.open("http://app.test/good")
    with pytest.raises(WebError, match="broken"):
        browser.click(0)


def test_what_cannot_be_done_is_said(browse: Any, site: Site) -> None:
    site.add("/", "<p>x")
    browser = browse()
    assert browser.look().status == browser.press("Tab").status == "no_such_line"
    browser.open("http://app.test/")
    assert browser.search("x").status == "needs_browser"
    with pytest.raises(ForkError, match="replay"):
        browser.fork()
    browser.close()
    browser.close()
    with pytest.raises(ConfigError, match="closed"):
        browser.open("http://app.test/")
    with pytest.raises(ConfigError, match="no option 'colour'"):
        web.open(site, backend="chromium", colour="red")
