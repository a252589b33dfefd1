"""One episode's tab: a page in a context of its own, what it asks for, and what is done to it.

Everything here runs on the engine's loop. A tab that hung or crashed is thrown away; the next action gets a new one.
"""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from toolenvs.errors import WebError
from toolenvs.web.chromium.answers import NotHtml, declared, handed_on, is_html, request_of, text_of
from toolenvs.web.chromium.cookies import set_cookie
from toolenvs.web.chromium.engine import CLOSE_TIMEOUT_S, Engine
from toolenvs.web.chromium.snapshot import Snapshot
from toolenvs.web.faults import Fault
from toolenvs.web.fetch import Fetched, Request
from toolenvs.web.urls import Url

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, CDPSession, Page, Route
    from playwright.async_api import Request as Asked

T = TypeVar("T")
_HERE = Path(__file__).parent
_IN_PAGE = (_HERE / "page.js").read_text("utf-8")
_BEFORE_PAGE = (_HERE / "init.js").read_text("utf-8")
_WORLD = "toolenvs"
_LOADED = {"document", "script", "stylesheet", "xhr", "fetch", "other", "manifest"}
"""Kinds of requests that are answered; images, fonts, films and pings are not, since the page is read as text."""

MAX_REQUESTS = 300
"""Of a page, in one action."""
MAX_NAVIGATIONS = 20
"""In one action, by scripts."""
QUIET_S = 1.0
"""How long the requests of a page are waited for once it is there."""
GRACE_S = 0.03
"""How long an action may take to begin a navigation, where nothing says that it does."""
_TURNS = 2
"""Of the page's own event loop before it is read, for what its scripts put off."""
PATIENCE = 0.75
"""Part of an action's time after which a page that still loads is read as it is."""

Load = Callable[[Request, str], Awaitable[Fetched]]
"""Answers a request that is sent with these cookies, a header's value."""


class Tab:
    """A page in a context of its own."""

    def __init__(self, engine: Engine, load: Load, *, timeout_s: float, max_chars: int, javascript: bool) -> None:
        """Nothing is opened yet.

        Args:
            engine: the browser.
            load: answers what the page asks for; raises Fault.
            timeout_s: of one action.
            max_chars: read of a page.
            javascript: whether the page's scripts run.
        """
        self._engine = engine
        self._load = load
        self._timeout_s = timeout_s
        self._max_chars = max_chars
        self._javascript = javascript
        self._context: BrowserContext | None = None
        self._page: Page | None = None
        self._session: CDPSession | None = None
        self._generation = 0
        self._opening = False
        self._throwing_away: set[asyncio.Task[None]] = set()
        self._forget()

    def _forget(self) -> None:
        self._frame = ""
        self._prepared: Fetched | None = None
        self._fetched: Fetched | None = None
        self._crashed = False
        self._happened = asyncio.Event()
        self._begun = self._ready = 0  # navigations of the page
        self._asked = self._in_flight = 0  # other requests
        self._outcome: Fetched | BaseException | None = None  # of a navigation that shows nothing by itself
        self._popup: Request | None = None

    @property
    def alive(self) -> bool:
        """Whether it holds a page, so that its state is the one of the last action."""
        return self._page is not None and not self._page.is_closed() and not self._crashed

    # actions; each within its time, or the tab is thrown away

    async def show(self, fetched: Fetched, fragment: str = "") -> Snapshot:
        """Open a page that was fetched already.

        Raises:
            Fault: why it cannot be shown.
            WebError: the browser died.
        """
        used = self.alive
        await self._opened()  # the start of a browser is no page's time
        try:
            return await self._bounded(self._show(fetched, fragment))
        except Crash:
            if not used:
                raise
        await self._opened()  # what pages before it left in the tab may have been too much
        return await self._bounded(self._show(fetched, fragment))

    async def look(self) -> Snapshot:
        """The page as it is now."""
        return await self._bounded(self._settled(0))

    async def click(self, mark: str, *, leads_on: bool) -> Snapshot:
        """Click an element; `leads_on`: it is a link or sends a form, unless a script prevents it."""
        return await self._bounded(self._click(mark, leads_on))

    async def fill(self, mark: str, text: str) -> Snapshot:
        """Type a text into a field, in place of what it held."""
        return await self._bounded(self._fill(mark, text))

    async def call(self, function: str, *arguments: Any) -> Snapshot:
        """Do what a function of `page.js` does that gives "done", or "gone" where there is no such element."""
        return await self._bounded(self._call(function, arguments))

    async def send(self, mark: str | None, index: int) -> Snapshot:
        """Send the form that an element belongs to, or the one of an index."""
        return await self._bounded(self._send(mark, index))

    async def press(self, keys: str) -> Snapshot:
        """Press a key, or several together."""
        return await self._bounded(self._press(keys))

    async def point(self, x: float, y: float, to: tuple[float, float] | None = None) -> Snapshot:
        """Click a point, or drag from it to another."""
        return await self._bounded(self._point(x, y, to))

    async def restore(self, changes: list[tuple[str, tuple[Any, ...]]]) -> Snapshot:
        """Calls of functions of `page.js`, then the page as it is."""

        async def go() -> Snapshot:
            for function, arguments in changes:
                await self._evaluate(function, *arguments)
            return await self._settled(0)

        return await self._bounded(go())

    async def cookies(self, url: Url) -> str:
        """What Chromium sends as cookies to an address."""
        self._still_there()
        if self._context is None:
            return ""
        cookies = await self._asked_browser(self._context.cookies(url.text))
        return "; ".join(f"{one.get('name')}={one.get('value')}" for one in cookies)

    async def keep_cookies(self, fetched: Fetched) -> None:
        """Have Chromium keep what an answer asked to keep that is not handed on to it."""
        if self._context is None:
            return
        for address, value in fetched.set_cookies:
            await self._asked_browser(set_cookie(self._context, address, value))

    async def close(self) -> None:
        """Give the context back."""
        context, self._context, self._page, self._session = self._context, None, None, None
        self._forget()
        if context is not None:
            await self._engine.give_back(context)
        if self._throwing_away:
            await asyncio.wait(self._throwing_away)

    # how they are done

    async def _bounded(self, action: Awaitable[Snapshot]) -> Snapshot:
        from playwright.async_api import Error

        self._asked = 0
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._engine.unless_gone(action)
        except (TimeoutError, Error) as error:
            crashed = self._crashed
            self._throw_away()
            if not crashed and not isinstance(error, TimeoutError):
                await self._engine.ended()
            self._still_there()
            if crashed:
                told = "the page needed more memory than a page may use, or broke its tab: open another page"
                raise Crash("too_large", told) from None
            if isinstance(error, TimeoutError):
                told = f"the page's scripts did not come to an end within {self._timeout_s:g} s: open another page"
                raise Fault("timeout", told) from None
            told = f"the page broke off ({str(error).splitlines()[0][:200]}): open it again or another page"
            raise Fault("timeout", told) from None
        except asyncio.CancelledError:
            self._throw_away()
            raise

    def _throw_away(self) -> None:
        """Close the page behind the caller's back: a hung one takes a moment to be killed. Cookies stay."""
        page, self._page, self._session = self._page, None, None
        self._forget()
        if page is not None:
            self._in_background(_close(page))

    def _in_background(self, closing: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(closing)
        self._throwing_away.add(task)
        task.add_done_callback(self._throwing_away.discard)

    def _still_there(self) -> None:
        """That the browser runs in which this episode began.

        Raises:
            WebError: it died, and the episode's cookies and pages with it; told once.
        """
        if self._context is not None and self._generation != self._engine.alive_generation:
            context, self._context = self._context, None
            self._throw_away()
            self._in_background(self._engine.give_back(context))
            raise WebError("Chromium ended: the cookies and pages of this episode are lost with it")

    async def _show(self, fetched: Fetched, fragment: str) -> Snapshot:
        page = self._held()
        self._prepared, self._fetched = fetched, None
        address = fetched.url.text
        if fragment and page.url.partition("#")[0] == address:  # or it would be a step within the page
            await page.goto("about:blank")
        await self._goto(page, address + (f"#{fragment}" if fragment else ""))
        return await self._settled(0)

    async def _goto(self, page: "Page", address: str) -> None:
        from playwright.async_api import Error

        before = self._begun
        try:
            await page.goto(address, wait_until="commit", timeout=0)
        except Error:
            if self._begun == before or self._crashed or page.is_closed():
                raise  # else it led elsewhere at once, or nowhere: `_settled` says which

    async def _click(self, mark: str, leads_on: bool) -> Snapshot:
        page = self._held()
        before = self._begun
        aim = await self._evaluate("aim", mark)
        if not aim["found"]:
            raise _gone()
        if aim["at"] is not None:
            await page.mouse.click(*aim["at"])
        if self._begun == before:
            fate = "missed" if aim["at"] is None else await self._evaluate("fate", again=False)
            if fate == "missed":
                await self._evaluate("clickByScript", mark, again=False)
                fate = await self._evaluate("fate", again=False)
            leads_on = leads_on and fate in ("passed", None)  # None: the page is being left already
        return await self._settled(self._timeout_s * PATIENCE if leads_on else GRACE_S, before)

    async def _fill(self, mark: str, text: str) -> Snapshot:
        page = self._held()
        before = self._begun
        how = await self._evaluate("ready", mark, text)
        if how == "gone":
            raise _gone()
        if how == "keys":
            if text:
                await page.keyboard.insert_text(text)
            else:
                await page.keyboard.press("Delete")
            await self._evaluate("leave", mark)
        return await self._settled(GRACE_S, before)

    async def _call(self, function: str, arguments: tuple[Any, ...]) -> Snapshot:
        before = self._begun
        if await self._evaluate(function, *arguments) == "gone":
            raise _gone()
        return await self._settled(GRACE_S, before)

    async def _send(self, mark: str | None, index: int) -> Snapshot:
        before = self._begun
        how = await self._evaluate("send", mark, index)
        if how == "gone":
            raise _gone()
        if how != "sent":
            raise Fault("no_such_link", f"the form cannot be sent yet: {how.split(' ', 2)[2] or 'a field is missing'}")
        return await self._settled(self._timeout_s * PATIENCE, before)

    async def _press(self, keys: str) -> Snapshot:
        from playwright.async_api import Error

        page = self._held()
        before = self._begun
        try:
            await page.keyboard.press(keys)
        except Error as error:
            if "Unknown key" not in str(error):
                raise
            raise Fault("no_such_link", f"there is no key {keys!r:.40}: write Enter, Tab, a, Control+A") from None
        return await self._settled(GRACE_S, before)

    async def _point(self, x: float, y: float, to: tuple[float, float] | None) -> Snapshot:
        page = self._held()
        before = self._begun
        if to is None:
            await page.mouse.click(x, y)
        else:
            await page.mouse.move(x, y)
            await page.mouse.down()
            await page.mouse.move(*to, steps=8)
            await page.mouse.up()
        return await self._settled(GRACE_S, before)

    # until the page is at rest

    async def _settled(self, expected_s: float, before: int | None = None) -> Snapshot:
        """Wait for what an action began, then read the page.

        Args:
            expected_s: how long to wait for a navigation to begin.
            before: how many had begun before the action; None: the action itself is one.
        """
        page = self._held()
        clock = asyncio.get_running_loop().time
        started = clock()
        patience = started + PATIENCE * self._timeout_s
        first = self._begun if before is None else before
        while before is not None and self._begun == first and self._popup is None and clock() < started + expected_s:
            if not await self._something(started + expected_s - clock()):
                break
        complete = True
        while True:
            if self._begun - first > MAX_NAVIGATIONS:
                raise Fault("too_many_redirects", "the page's scripts lead on and on: open another page")
            outcome, self._outcome = self._outcome, None
            if isinstance(outcome, BaseException):
                raise outcome
            if outcome is not None:
                self._prepared = outcome
                await self._goto(page, outcome.url.text)
                continue
            if self._popup is not None:
                asked, self._popup = self._popup, None
                self._prepared = await self._load_html(asked, await self.cookies(asked.url))
                await self._goto(page, self._prepared.url.text)
                continue
            if self._begun != self._ready:
                if clock() > patience:
                    complete = False
                    break
                await self._something(patience - clock() + 0.01)
                continue
            if self._in_flight and clock() < min(started + QUIET_S, patience):
                await self._something(started + QUIET_S - clock())
                continue
            seen = await self._read()
            if self._begun == self._ready and self._outcome is None and self._popup is None:
                if not seen["url"].startswith(("http://", "https://")):  # made by a script, without a request
                    self._throw_away()
                    told = f"the page's scripts led to {seen['url']:.60}, which is not opened: open another page"
                    raise Fault("bad_url", told)
                return Snapshot.of(seen, complete, self._fetched)
        seen = await self._read()
        return Snapshot.of(seen, False, self._fetched)

    async def _something(self, most_s: float) -> bool:
        """Wait until something happened on the page, at most so long; whether it did. A page that is gone fails."""
        self._happened.clear()
        self._held()
        try:
            async with asyncio.timeout(max(most_s, 0.001)):
                await self._happened.wait()
        except TimeoutError:
            return False
        self._held()
        return True

    async def _read(self) -> dict[str, Any]:
        seen: dict[str, Any] = await self._evaluate("read", self._max_chars, _TURNS if self._javascript else 0)
        return seen

    async def _evaluate(self, function: str, *arguments: Any, again: bool = True) -> Any:
        """What a function of `page.js` gives in the page; a navigation in between begins it anew."""
        from playwright.async_api import Error

        call = f"{_IN_PAGE}.{function}({', '.join(map(json.dumps, arguments))})"
        while True:
            page = self._held()
            session = self._session
            assert session is not None
            try:
                if not self._frame:
                    tree = await session.send("Page.getFrameTree")
                    self._frame = tree["frameTree"]["frame"]["id"]
                world = await session.send("Page.createIsolatedWorld", {"frameId": self._frame, "worldName": _WORLD})
                answer = await session.send(
                    "Runtime.evaluate",
                    {
                        "contextId": world["executionContextId"],
                        "expression": call,
                        "returnByValue": True,
                        "awaitPromise": True,
                    },
                )
            except Error:
                if page.is_closed() or self._crashed or not again:
                    if not again and not self._crashed and not page.is_closed():
                        return None
                    raise
                self._frame = ""
                await asyncio.sleep(0.01)
                continue
            if "exceptionDetails" in answer:
                raise Error(answer["exceptionDetails"].get("exception", {}).get("description", "a script failed"))
            return answer["result"].get("value")

    # what the page asks for

    def _held(self) -> "Page":
        """The page, which an action began with."""
        from playwright.async_api import Error

        if self._page is None or not self.alive:
            raise Error("the page is gone")
        return self._page

    async def _asked_browser(self, question: Awaitable[T]) -> T:
        """What the browser answers, which is no page's time."""
        try:
            return await self._engine.ask(question)
        except WebError:
            self._still_there()
            raise

    async def _opened(self) -> "Page":
        """The page, made where there is none.

        Raises:
            WebError: the browser cannot be started, or died.
        """
        if self._page is not None and self.alive:
            return self._page
        self._throw_away()
        self._still_there()
        if self._context is None:
            await self._new_context()
        assert self._context is not None
        self._opening = True
        try:
            page = await self._asked_browser(self._context.new_page())
            self._session = await self._asked_browser(self._context.new_cdp_session(page))
            await self._asked_browser(self._session.send("Page.enable"))
        finally:
            self._opening = False
        page.on("crash", self._on_crash)
        page.on("domcontentloaded", self._on_ready)
        page.on("close", lambda _: self._happened.set())
        self._page = page
        return page

    async def _new_context(self) -> None:
        context = await self._engine.context(
            java_script_enabled=self._javascript,
            accept_downloads=False,
            ignore_https_errors=True,
            locale="en-US",
            timezone_id="UTC",
            viewport={"width": 1280, "height": 900},
        )
        self._context, self._generation = context, self._engine.generation
        await context.route("**/*", self._answer)
        await context.route_web_socket("**", lambda socket: socket.close())
        await context.add_init_script(_BEFORE_PAGE)
        context.on("page", self._on_popup)

    def _on_crash(self, _: "Page") -> None:
        self._crashed = True
        self._happened.set()
        if self._page is not None:  # calls in flight would wait for ever
            self._in_background(_close(self._page))

    def _on_ready(self, _: "Page") -> None:
        self._ready = self._begun
        self._happened.set()

    def _on_popup(self, popup: "Page") -> None:
        if popup is not self._page and not self._opening:
            self._in_background(_close(popup))

    async def _answer(self, route: "Route") -> None:
        from playwright.async_api import Error

        asked = route.request
        try:
            where = self._where(asked)
            if where == "tab":
                await self._answer_page(route, asked)
            elif where == "part":
                await self._answer_part(route, asked)
            else:  # a window that a script or link opens: shown in the one tab
                with contextlib.suppress(Fault):
                    self._popup = request_of(asked)
                await route.abort()
                self._happened.set()
        except Error:  # the page went away meanwhile
            return

    def _where(self, asked: "Asked") -> str:
        """What a request is for: "tab", "part" of the page in it, or "popup"."""
        from playwright.async_api import Error

        try:
            frame = asked.frame
        except Error:  # of a window that does not exist yet
            return "popup"
        if self._page is not None and frame.page is not self._page:
            return "popup" if asked.is_navigation_request() and frame.parent_frame is None else "part"
        return "tab" if asked.is_navigation_request() and frame.parent_frame is None else "part"

    async def _answer_page(self, route: "Route", asked: "Asked") -> None:
        self._begun += 1
        begun = self._begun
        self._happened.set()
        prepared, self._prepared = self._prepared, None
        try:
            request = request_of(asked)
            if prepared is not None and prepared.url.text == request.url.text:
                fetched = prepared
            else:
                fetched = await self._load_html(request, asked.headers.get("cookie", ""))
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._outcome = error
            await self._nothing(route, begun)
            return
        if fetched.url.text != request.url.text:  # after redirects, which Chromium must not follow by itself
            self._outcome = fetched
            await self._nothing(route, begun)
            return
        self._fetched = fetched
        await self.keep_cookies(fetched)
        kind = "application/xhtml+xml" if declared(fetched) == "application/xhtml+xml" else "text/html"
        headers = handed_on(fetched) | {"content-type": f"{kind}; charset=utf-8"}
        await route.fulfill(status=200, headers=headers, body=text_of(fetched))

    async def _nothing(self, route: "Route", begun: int) -> None:
        await route.abort("aborted")
        self._ready = max(self._ready, begun)
        self._happened.set()

    async def _answer_part(self, route: "Route", asked: "Asked") -> None:
        self._asked += 1
        if asked.resource_type not in _LOADED or self._asked > MAX_REQUESTS:
            await route.abort("blockedbyclient")
            return
        self._in_flight += 1
        try:
            fetched = await self._load(request_of(asked), asked.headers.get("cookie", ""))
        except Fault as fault:
            await route.fulfill(status=fault.http_status or 404, content_type="text/plain", body="")
        except WebError as error:
            self._outcome = error
            await route.abort()
        else:
            await route.fulfill(
                status=fetched.http_status, content_type=fetched.content_type or None, body=fetched.body
            )
        finally:
            self._in_flight -= 1
            self._happened.set()

    async def _load_html(self, request: Request, cookies: str) -> Fetched:
        """What a navigation is answered with.

        Raises:
            Fault: there is none.
            NotHtml: it is shown without the tab.
        """
        fetched = await self._load(request, cookies)
        if not is_html(fetched):
            await self.keep_cookies(fetched)
            raise NotHtml(fetched)
        return fetched


class Crash(Fault):
    """A page's process ended."""


def _gone() -> Fault:
    return Fault("no_such_link", "the page's scripts have taken this link or field away: look at the page again")


async def _close(page: "Page") -> None:
    from playwright.async_api import Error

    with contextlib.suppress(Error, TimeoutError):
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await page.close()
