"""The browser of `toolenvs.web` over real Chromium: the same actions, and the same lines for the same page."""

import asyncio
import weakref
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Self, TypeVar

from toolenvs.errors import ForkError, WebError
from toolenvs.web import apart, forms
from toolenvs.web.browser import Browser
from toolenvs.web.chromium.answers import NotHtml, is_html
from toolenvs.web.chromium.engine import Engine, shared
from toolenvs.web.chromium.snapshot import Snapshot
from toolenvs.web.chromium.tab import Tab
from toolenvs.web.document import Document, Field, Link
from toolenvs.web.faults import Fault
from toolenvs.web.fetch import Fetched, Fetcher, Request
from toolenvs.web.limits import Limits
from toolenvs.web.page import Page
from toolenvs.web.render import render
from toolenvs.web.source import Loaded, Source, rendered, rendered_apart
from toolenvs.web.urls import Url, canonical

T = TypeVar("T")


class ChromiumBrowser(Browser):
    """A browser that runs scripts. Beside the actions of every browser it has `press`, `xy`, `drag` and `look`.

    There is one tab. A cursor is a page in the state in which it was seen; acting on another than the present one, or
    after a step back, opens its address again and puts back what was typed, and is refused where that gives another
    page. A page whose scripts do not end by the deadline, or need too much memory, is thrown away with its tab: that
    action has the status "timeout" or "too_large", other episodes notice nothing, and the next action opens the page
    again. Where Chromium itself dies, actions of episodes that had a page in it raise `WebError`.
    """

    def __init__(
        self,
        source: Source,
        limits: Limits,
        *,
        count: Callable[[str], int] | None = None,
        owns_source: bool = False,
        javascript: bool = True,
        engine: Engine | None = None,
        **chromium: Any,
    ) -> None:
        """As for `Browser`; nothing is started before the first page.

        Args:
            source: where pages come from.
            limits: what the episode may use.
            count: of the tokens of a text; with it `max_view_chars` counts tokens.
            owns_source: whether closing the browser closes the source.
            javascript: whether the scripts of pages run.
            engine: the Chromium to use; None: the shared one with the options of `chromium`.
            chromium: options of `toolenvs.web.chromium.shared`.

        Raises:
            ConfigError: an option cannot be used.
            MissingExtraError: Playwright is not installed.
            WebError: there is no browser.
        """
        super().__init__(source, limits, count=count, owns_source=owns_source)
        self._waits = True
        self._engine = engine or shared(**chromium)
        self._fetcher = Fetcher(source, source.transport(limits), limits)
        self._max_chars = 2 * limits.max_body_bytes  # marks and quotes make a page longer
        self._tab = Tab(
            self._engine,
            self._fetch,
            timeout_s=limits.timeout_s,
            max_chars=self._max_chars,
            javascript=javascript,
        )
        self._shown: Fetched | None = None  # what the tab's page was answered with
        self._live: Document | None = None
        """The document that the tab shows, as it was read last."""
        self._finish = weakref.finalize(self, _finish, self._engine, self._tab, source, self._fetcher)

    # further actions

    async def alook(self) -> Page:
        """As `look`."""
        return await self._act(self._looked())

    def look(self) -> Page:
        """Show the present page as it is now, after what its scripts have done meanwhile."""
        return self._wait(self.alook())

    async def axy(self, x: float, y: float) -> Page:
        """As `xy`."""
        return await self._act(self._pointed(x, y, None))

    def xy(self, x: float, y: float) -> Page:
        """Click a point of the present page, in pixels of a window of 1280 x 900."""
        return self._wait(self.axy(x, y))

    async def adrag(self, x: float, y: float, to_x: float, to_y: float) -> Page:
        """As `drag`."""
        return await self._act(self._pointed(x, y, (to_x, to_y)))

    def drag(self, x: float, y: float, to_x: float, to_y: float) -> Page:
        """Press at one point of the present page, move to another, and let go."""
        return self._wait(self.adrag(x, y, to_x, to_y))

    async def _looked(self) -> Page:
        self._room()
        document = self._trail.at(None)[1].document
        return self._show(await self._acted(document, self._tab.look))

    async def _pointed(self, x: float, y: float, to: tuple[float, float] | None) -> Page:
        self._room()
        document = self._trail.at(None)[1].document
        for value in (x, y, *(to or ())):
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 10_000:
                raise Fault("no_such_link", f"points are numbers of pixels from 0 to 10,000, not {value!r:.40}")
        return self._show(await self._acted(document, lambda: self._tab.point(x, y, to)))

    # what every browser does

    async def _load(self, url: Url) -> Loaded:
        return await self._on_engine(self._opened(url))

    async def _follow(self, link: Link, line: int | None, cursor: int | None) -> Page:
        _, seen = self._trail.at(cursor)
        url = canonical(link.url)
        if line is not None or not link.element:
            return await super()._follow(link, line, cursor)
        self._room()
        within = url.fragment and url.text == seen.document.url
        loaded = await self._acted(seen.document, lambda: self._tab.click(link.element, leads_on=not within))
        if loaded.same_page and loaded.document.lines == seen.document.lines:
            fragment = url.fragment if within else ""
            return self._show(Loaded(loaded.document, fragment, seen.http_status, seen.truncated))
        return self._show(loaded)

    async def _click(self, document: Document, field: Field) -> Loaded:
        on = forms.field(document, field.number)
        if on.kind in ("checkbox", "radio"):
            forms.clicked(document, on.number)  # what cannot be clicked is refused as elsewhere
        leads_on = on.kind in ("submit", "image") and on.form is not None
        return await self._acted(document, lambda: self._tab.click(on.element, leads_on=leads_on))

    async def _type(self, document: Document, number: int, text: str) -> Loaded:
        typed = forms.typed(document, number, text, max_bytes=self.limits.max_form_bytes).item(number)
        assert isinstance(typed, Field)
        return await self._acted(document, lambda: self._tab.fill(typed.element, typed.value))

    async def _select(self, document: Document, number: int, value: str | Sequence[str]) -> Loaded:
        chosen = forms.selected(document, number, value).item(number)
        assert isinstance(chosen, Field)
        return await self._acted(document, lambda: self._tab.call("choose", chosen.element, list(chosen.chosen)))

    async def _submit(self, document: Document, number: int | None) -> Loaded:
        index, mark = 0, None
        if number is not None:
            field = forms.field(document, number)
            if field.form is None:
                raise Fault("needs_browser", f"the field {number} belongs to no form: click it instead")
            index, mark = field.form, field.element
        elif len(document.forms) != 1:
            told = f"this page has {len(document.forms) or 'no'} forms: give the number of a button or field of one"
            raise Fault("no_such_link", told)
        return await self._acted(document, lambda: self._tab.send(mark, index))

    async def _press(self, document: Document, keys: str) -> Loaded:
        if not isinstance(keys, str) or not keys:
            raise Fault("no_such_link", "no key to press: give one, as Enter, Tab, ArrowDown, a, Control+A")
        return await self._acted(document, lambda: self._tab.press(keys))

    async def _results(self, query: str) -> Loaded:
        found = await self.source.search(query, self.limits.max_results)
        return await super()._results(query) if found is None else Loaded(found)

    def fork(self) -> Self:
        """Not possible.

        Raises:
            ForkError: always: what the scripts of a page keep cannot be copied.
        """
        raise ForkError("a page with scripts cannot be copied: replay the actions in a new browser")

    @property
    def bytes_used(self) -> int:
        """Loaded so far in this episode, over the wire."""
        return self._fetcher.bytes_used

    @property
    def isolation(self) -> str | None:
        """What holds Chromium, see `toolenvs.web.chromium.containment.Isolation`; None before the first page."""
        return self._engine.isolation

    def _end(self) -> None:
        self._finish()

    # on the engine's loop

    async def _on_engine(self, action: Coroutine[Any, Any, T]) -> T:
        return await self._engine.arun(action)

    async def _acted(self, document: Document, action: Callable[[], Coroutine[Any, Any, Snapshot]]) -> Loaded:
        """What an action on a document gives; the tab is brought to where the document was seen."""
        return await self._on_engine(self._act_on(document, action))

    async def _act_on(self, document: Document, action: Callable[[], Coroutine[Any, Any, Snapshot]]) -> Loaded:
        if self._live is not document or not self._tab.alive:
            await self._restore(document)
        try:
            return await self._read(await action(), document)
        except NotHtml as other:
            self._live = None
            return await self._rendered(other.fetched)
        except Fault:
            if not self._tab.alive:
                self._live = None
            raise

    async def _opened(self, url: Url) -> Loaded:
        self._live = None
        fetched = await self._fetch(Request(url), await self._tab.cookies(url))
        if not is_html(fetched):
            await self._tab.keep_cookies(fetched)
            return await self._rendered(fetched)
        fragment = fetched.url.fragment
        try:
            loaded = await self._read(await self._tab.show(fetched, fragment), None)
        except NotHtml as other:
            return await self._rendered(other.fetched)
        return Loaded(loaded.document, fragment, loaded.http_status, loaded.truncated)

    async def _read(self, seen: Snapshot, before: Document | None) -> Loaded:
        """The document of what the tab shows."""
        fetched = seen.fetched
        kind, most, url = seen.content_type or "text/html", self._max_chars, _address(seen.url)
        if self.source.live:  # the browser was in time; reading what it has may take as long again, and no longer
            document = await apart.renderer().render(
                seen.html, url=url, content_type=kind, max_bytes=most, timeout_s=self.limits.timeout_s
            )
        else:
            document = await asyncio.to_thread(render, seen.html, url=url, content_type=kind, max_bytes=most)
        self._live = document
        same_page = before is not None and fetched is self._shown
        self._shown = fetched
        truncated = bool(document.truncated) or not seen.complete or (fetched is not None and fetched.truncated)
        return Loaded(
            document,
            "" if same_page else _fragment(seen.url),
            http_status=fetched.http_status if fetched is not None else None,
            truncated=truncated,
            same_page=same_page,
        )

    async def _rendered(self, fetched: Fetched) -> Loaded:
        """What is shown without the tab."""
        return await (rendered_apart(fetched) if self.source.live else asyncio.to_thread(rendered, fetched))

    async def _restore(self, document: Document) -> None:
        """Bring the tab to a document that was seen before.

        Raises:
            Fault: its address gives another page now.
        """
        told = f"the page {document.url} is another one now: open it again"
        if not document.url.startswith("http"):
            raise Fault("no_such_link", told)
        loaded = await self._opened(canonical(document.url))
        changes = _changes(loaded.document, document)
        if changes is None:
            raise Fault("no_such_link", told, url=document.url)
        if changes:
            loaded = await self._read(await self._tab.restore(changes), None)
        if loaded.document.lines != document.lines:
            raise Fault("no_such_link", told, url=document.url)

    async def _fetch(self, request: Request, cookies: str) -> Fetched:
        self._fetcher.replace_cookies(request.url, cookies)
        try:
            return await self.source.run(self._fetcher.fetch(request))
        except (Fault, WebError, TimeoutError):
            raise
        except Exception as error:
            told = f"the site failed at {request.method} {request.url.text}: {type(error).__name__}: {error}"
            raise WebError(told) from error


def _address(url: str) -> str:
    try:
        return canonical(url).text
    except Fault:
        return url


def _fragment(url: str) -> str:
    try:
        return canonical(url).fragment
    except Fault:
        return ""


def _changes(fresh: Document, wanted: Document) -> list[tuple[str, tuple[Any, ...]]] | None:
    """What to do to a fresh page for its fields to be as they were; None where they are not the same fields."""
    if [field.name for field in fresh.fields] != [field.name for field in wanted.fields]:
        return None
    changes: list[tuple[str, tuple[Any, ...]]] = []
    for now, then in zip(fresh.fields, wanted.fields, strict=True):
        if now.kind != then.kind:
            return None
        if now.kind == "select" and now.chosen != then.chosen:
            changes.append(("choose", (now.element, list(then.chosen))))
        elif now.kind in ("checkbox", "radio"):
            if now.checked != then.checked and (then.checked or now.kind == "checkbox"):
                changes.append(("check", (now.element, then.checked)))
        elif now.kind not in ("select", "submit", "button", "file") and now.value != then.value:
            changes.append(("put", (now.element, then.value)))
    return changes


def _finish(engine: Engine, tab: Tab, source: Source, fetcher: Fetcher) -> None:
    if engine.usable:
        engine.submit(tab.close())
    source.end(fetcher.transport)
