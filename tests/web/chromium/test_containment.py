"""Nothing leaves Chromium but what is fetched for it: pages that try everything, and sockets that listen."""

import contextlib
import select
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.web.chromium.conftest import PATIENT_S, Site
from toolenvs.errors import WebError
from toolenvs.web.app import Application
from toolenvs.web.chromium import containment, probe
from toolenvs.web.chromium.browser import ChromiumBrowser
from toolenvs.web.chromium.engine import Engine
from toolenvs.web.limits import Limits


class Listener:
    """A TCP and a UDP socket of one port on the loopback interface, which count what arrives and answer nothing."""

    def __init__(self) -> None:
        self.tcp = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.tcp.getsockname()[1]
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", self.port))
        self.arrived = 0
        self._stop, wake = socket.socketpair()
        self._thread = threading.Thread(target=self._watch, args=(wake,))
        self._thread.start()

    def _watch(self, wake: socket.socket) -> None:
        with wake:
            while True:
                ready = select.select([self.tcp, self.udp, wake], [], [])[0]
                if self.tcp in ready:
                    self.tcp.accept()[0].close()
                    self.arrived += 1
                elif self.udp in ready:
                    self.udp.recv(4096)
                    self.arrived += 1
                else:  # told to stop, and nothing waits any more
                    return

    def close(self) -> int:
        """What arrived in all."""
        self._stop.close()
        self._thread.join()
        self.tcp.close()
        self.udp.close()
        return self.arrived


@pytest.fixture
def listener() -> Iterator[Listener]:
    one = Listener()
    yield one
    if one.tcp.fileno() >= 0:
        one.close()


def attack(port: int) -> str:
    """A page that reaches for a port in every way that a page has, and says so when it is through."""
    at = f"127.0.0.1:{port}"
    return f"""<!doctype html><title>attack</title>
<link rel=dns-prefetch href="http://{at}/"><link rel=preconnect href="http://{at}/">
<link rel=prefetch href="http://{at}/prefetch"><link rel=preload as=script href="http://{at}/preload">
<link rel=stylesheet href="http://{at}/style"><link rel=manifest href="http://{at}/manifest">
<link rel=icon href="http://{at}/icon"><base target=_self>
<style>body {{ background: url(http://{at}/background) }} @font-face {{ font-family: f; src: url(http://{at}/font) }}
p {{ font-family: f }}</style>
<p>text</p><img src="http://{at}/img"><iframe src="http://{at}/frame"></iframe><iframe src="http://localhost:{port}/"></iframe>
<video src="http://{at}/video" autoplay></video><object data="http://{at}/object"></object><embed src="http://{at}/embed">
<script src="http://{at}/script"></script>
<a id=ping href="#x" ping="http://{at}/ping">ping</a>
<iframe name=sink></iframe><form id=form action="http://{at}/form" method=post target=sink><input name=a value=1></form>
<script>
const tries = [
  () => fetch("http://{at}/fetch", {{mode: "no-cors"}}),
  () => navigator.sendBeacon("http://{at}/beacon", "x"),
  () => new WebSocket("ws://{at}/socket"),
  () => new WebSocket("ws://localhost:{port}/socket"),
  () => new EventSource("http://{at}/events"),
  () => new Worker(URL.createObjectURL(new Blob(["fetch('http://{at}/worker'); new WebSocket('ws://{at}/w')"]))),
  () => new SharedWorker(URL.createObjectURL(new Blob(["new WebSocket('ws://{at}/s')"]))),
  () => navigator.serviceWorker.register("/worker.js"),
  () => new WebTransport("https://{at}/transport"),
  () => {{
    const peer = new RTCPeerConnection({{iceTransportPolicy: "all", iceServers: [
      {{urls: "turn:{at}?transport=tcp", username: "u", credential: "c"}},
      {{urls: "turn:{at}?transport=udp", username: "u", credential: "c"}}, {{urls: "stun:{at}"}}]}});
    peer.createDataChannel("d");
    return peer.createOffer().then((offer) => peer.setLocalDescription(offer));
  }},
  () => document.getElementById("form").submit(),
  () => document.getElementById("ping").click(),
  () => window.open("http://{at}/window"),
  () => {{ const request = new XMLHttpRequest(); request.open("GET", "http://{at}/xhr"); request.send(); }},
  () => document.body.append(Object.assign(document.createElement("iframe"), {{src: "http://{at}/late"}})),
];
Promise.allSettled(tries.map((go) => Promise.resolve().then(go))).then(() => document.title = "tried");
</script>"""


@pytest.mark.parametrize("isolation", ["namespace", "flags"])
def test_nothing_arrives(isolation: str, listener: Listener, site: Site) -> None:
    site.add("/", attack(listener.port))
    site.add("/worker.js", "fetch('/x')", "text/javascript")
    with Engine(containment.setting(isolation=isolation)) as engine:
        with ChromiumBrowser(Application(site), Limits(timeout_s=PATIENT_S), engine=engine) as browser:
            page = browser.open("http://app.test/")
            assert page.status in ("ok", "not_found"), page.text  # its window.open leads to what this site has not
            browser.look()
        # without anything that answers for it: only the wall is left
        engine.run(_bare(engine, attack(listener.port)))
    assert listener.close() == 0


def test_a_free_chromium_would_reach_the_listener(listener: Listener) -> None:
    """The same page does connect where nothing holds it: the test above can fail."""

    async def go() -> None:
        from playwright.async_api import async_playwright

        async with async_playwright() as playwright:
            browser = await playwright.chromium.launch(
                executable_path=containment.find(), chromium_sandbox=False, args=["--disable-gpu"]
            )
            page = await browser.new_page()
            await page.evaluate(_WRITE, attack(listener.port))
            await page.wait_for_function("document.title === 'tried'")
            await browser.close()

    import asyncio

    asyncio.run(go())
    assert listener.close() >= 8


_WRITE = "(html) => { document.open(); document.write(html); document.close(); }"


async def _bare(engine: Engine, html: str) -> None:
    from playwright.async_api import Error

    context = await engine.context()
    page = await context.new_page()
    await page.evaluate(_WRITE, html)
    await page.wait_for_function("document.title === 'tried'")
    address = html.partition('href="')[2].partition('"')[0]
    with pytest.raises(Error, match="ERR_"):
        await page.goto(address)
    await engine.give_back(context)


@pytest.mark.parametrize(
    "address",
    ["file:///etc/passwd", "data:text/html,<p>x", "chrome://version", "javascript:1", "view-source:http://app.test/",
     "about:blank", "blob:http://app.test/1", "devtools://devtools/bundled/inspector.html", "filesystem:http://app.test/"],
)  # fmt: skip
def test_other_schemes_are_refused(browse: Any, site: Site, address: str) -> None:
    site.add("/", f"<p>home</p><a href='{address}'>go</a><script>location = '{address}'</script>")
    site.add("/plain", "<p>plain")
    browser = browse()
    assert browser.open(address).status == "bad_url"
    page = browser.open("http://app.test/")
    assert (page.status, page.url) in (("ok", "http://app.test/"), ("bad_url", ""))
    assert "root:" not in page.text
    assert browser.open("http://app.test/plain").document.lines == ("plain",)


def test_a_page_is_held_by_a_user_of_its_own_and_chromiums_sandbox(engine: Engine, browse: Any, site: Site) -> None:
    import os
    from pathlib import Path

    from tests.web.chromium.conftest import descendants

    site.add("/", "<p>x")
    browse().open("http://app.test/")
    if engine.isolation != "namespace":
        assert {tier.isolation: tier.works for tier in probe()}["namespace"] is False
        return
    pages = []
    for pid, _ in descendants(os.getpid()):
        with contextlib.suppress(OSError):
            if b"--type=renderer" in Path(f"/proc/{pid}/cmdline").read_bytes():
                pages.append(Path(f"/proc/{pid}"))
    assert pages
    for page in pages:
        status = dict(line.split(":\t", 1) for line in (page / "status").read_text().splitlines() if ":\t" in line)
        assert status["Seccomp"] == "2"
        assert status["NoNewPrivs"] == "1"
        assert int(status["CapEff"], 16) == 0
        assert os.readlink(page / "ns" / "net") != os.readlink("/proc/self/ns/net")
        assert os.readlink(page / "ns" / "pid") != os.readlink("/proc/self/ns/pid")
        if os.getuid() == 0:
            assert page.stat().st_uid != 0


def test_probe_names_what_holds_and_what_it_does_not_cover() -> None:
    tiers = probe()
    assert [tier.isolation for tier in tiers] == list(containment.ISOLATIONS)
    assert any(tier.works and "Chromium" in tier.detail for tier in tiers)
    assert all(tier.does_not_cover for tier in tiers)


def test_what_is_not_held_strongly_enough_is_refused(tmp_path: Any) -> None:
    failing = tmp_path / "browser"
    failing.write_text("#!/bin/sh\necho nothing to see >&2\nexit 3\n")
    failing.chmod(0o755)
    tmp_path.chmod(0o755)
    setting = containment.setting(executable=str(failing), min_isolation="namespace")
    assert setting.tries() == ("namespace",)
    with Engine(setting) as engine, pytest.raises(WebError, match="does not start .*namespace"):
        engine.run(engine.context())
