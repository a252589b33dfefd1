"""The one Chromium of a process: found, started, shared, started again, and gone when it is not needed."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.web.chromium.conftest import Site, alive, descendants, left
from toolenvs.errors import ConfigError, MissingExtraError, WebError
from toolenvs.web import chromium
from toolenvs.web.app import Application
from toolenvs.web.chromium import containment, engine
from toolenvs.web.chromium.browser import ChromiumBrowser
from toolenvs.web.chromium.engine import Engine
from toolenvs.web.limits import Limits


def _gone(processes: set[tuple[int, str]], within_s: float = 60.0) -> bool:
    until = time.monotonic() + within_s
    while alive(processes) and time.monotonic() < until:
        time.sleep(0.05)
    return not alive(processes)


def _browser(site: Site, one: Engine) -> ChromiumBrowser:
    return ChromiumBrowser(Application(site), Limits(timeout_s=20.0), engine=one)


def test_nothing_is_left_after_close(site: Site, temporary: Path) -> None:
    before = descendants(os.getpid())
    site.add("/", "<p>x")
    with Engine(containment.setting(memory_mb=900)) as one:
        assert (one.isolation, one.version, one.generation) == (None, "", 0)
        with _browser(site, one) as browser:
            assert browser.open("http://app.test/").status == "ok"
        assert browser.isolation == one.isolation in containment.ISOLATIONS
        started = descendants(os.getpid()) - before
        assert len(started) > 4
        assert left(temporary)
    assert _gone(started)
    assert left(temporary) == []
    with pytest.raises(WebError, match="closed"):
        one.run(one.context())
    one.close()


def test_a_chromium_that_was_killed_is_infrastructure_and_starts_again(site: Site) -> None:
    site.add("/", "<p>x<a href=/two>two</a>")
    site.add("/two", "<p>two")
    site.add("/hang", "<script>for(;;);</script>")
    with Engine(containment.setting(memory_mb=900)) as one, _browser(site, one) as idle, _browser(site, one) as busy:
        assert idle.open("http://app.test/").status == "ok"

        async def killed_within() -> None:
            action = asyncio.create_task(busy.aopen("http://app.test/hang"))
            await asyncio.sleep(0.5)
            _kill_browsers()
            await action

        with pytest.raises(WebError, match="Chromium"):
            asyncio.run(killed_within())
        with pytest.raises(WebError, match="Chromium"):  # its page went with it
            idle.click(0)
        assert idle.open("http://app.test/").status == busy.open("http://app.test/two").status == "ok"
        assert one.generation == 2


@pytest.mark.parametrize("killed", ["chromium", "driver"])
@pytest.mark.parametrize("action", ["open", "click"])
async def test_an_action_does_not_wait_for_its_deadline_when_chromium_is_gone(
    site: Site, action: str, killed: str
) -> None:
    site.add("/", "<p>x<button onclick='for(;;);'>b")
    site.add("/hang", "<script>for(;;);</script>")
    with Engine(containment.setting(memory_mb=900)) as one:
        browser = ChromiumBrowser(Application(site), Limits(timeout_s=100_000.0), engine=one)
        assert (await browser.aopen("http://app.test/")).status == "ok"
        acting = asyncio.create_task(browser.aopen("http://app.test/hang") if action == "open" else browser.aclick(0))
        while action == "open" and ("GET", "/hang", b"") not in site.asked:
            await asyncio.sleep(0.05)
        await asyncio.sleep(0.5)
        assert not acting.done()
        _kill_browsers(b'"memory_mb": 900' if killed == "chromium" else b"run-driver")
        async with asyncio.timeout(60.0):  # a small part of the action's own time
            with pytest.raises(WebError, match="Chromium ended"):
                await acting
        assert (await browser.aopen("http://app.test/")).status == "ok"
        assert one.generation == 2
        browser.close()


def _kill_browsers(called: bytes = b'"memory_mb": 900') -> None:
    for pid, _ in descendants(os.getpid()):
        with contextlib.suppress(OSError):
            if called in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)


def test_nothing_is_left_when_the_parent_is_killed(temporary: Path) -> None:
    program = """
from toolenvs.web.chromium import shared
import time
one = shared()
async def go():
    context = await one.context()
    page = await context.new_page()
    await page.set_content("<script>for(;;);</script>", wait_until="commit")
import asyncio, concurrent.futures
future = one.submit(go())
try:
    future.result(20)
except concurrent.futures.TimeoutError:
    pass
print("ready", flush=True)
time.sleep(600)
"""
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "ready\n"
    started = descendants(parent.pid)
    assert len(started) > 4
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert _gone(started)
    until = time.monotonic() + 30
    while left(temporary) and time.monotonic() < until:
        time.sleep(0.05)
    assert left(temporary) == []


def test_a_process_ends_by_itself_and_a_fork_gets_an_engine_of_its_own() -> None:
    program = """
import os
from toolenvs.errors import WebError
from toolenvs.web import chromium
one = chromium.shared()
assert chromium.shared() is one and chromium.shared(memory_mb=700) is not one
async def pages(engine):
    context = await engine.context()
    page = await context.new_page()
    title = await page.evaluate("6 * 7")
    await engine.give_back(context)
    return title
assert one.run(pages(one)) == 42
child = os.fork()
if not child:
    code = 1
    try:
        try:
            one.run(pages(one))
        except WebError as error:
            assert "forked" in str(error)
            other = chromium.shared()
            assert other is not one and other.run(pages(other)) == 42
            chromium.shutdown()
            code = 0
    finally:
        os._exit(code)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert one.run(pages(one)) == 42
print("done")
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_it_rests_when_it_was_not_used_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "LINGER_S", 0.05)
    before = descendants(os.getpid())
    with Engine(containment.setting()) as one:

        async def use() -> None:
            await one.give_back(await one.context())

        one.run(use())
        assert _gone(descendants(os.getpid()) - before)
        one.run(use())
        assert one.generation == 2


def test_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv(containment.EXECUTABLE, raising=False)
    with pytest.raises(WebError, match="no chromium on the PATH: install one .*apt-get install chromium"):
        containment.find()
    with pytest.raises(WebError, match="'/nowhere' is no program"):
        containment.find("/nowhere")
    named = tmp_path / "mine"
    named.write_text("")
    named.chmod(0o755)
    monkeypatch.setenv(containment.EXECUTABLE, str(named))
    assert containment.find() == str(named)
    monkeypatch.setitem(sys.modules, "playwright", None)
    monkeypatch.setitem(sys.modules, "playwright.async_api", None)
    with pytest.raises(MissingExtraError, match=r"playwright.*toolenvs\[chromium\]"):
        chromium.shared(executable=str(named))


@pytest.mark.parametrize(
    "options",
    [{"isolation": "walls"}, {"min_isolation": "walls"}, {"memory_mb": 1}, {"memory_mb": True}, {"files_mb": 0}],
)
def test_settings_that_cannot_be_used_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        containment.setting(**options)
