"""One episode of browsing: pages by cursor, a history, and the actions that an agent has."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Self, TypeVar

from toolenvs import loop
from toolenvs.errors import ConfigError
from toolenvs.web import shown
from toolenvs.web.document import Document, Field, Link
from toolenvs.web.faults import Fault
from toolenvs.web.forms import item_of
from toolenvs.web.limits import Limits
from toolenvs.web.page import Page, problem
from toolenvs.web.source import Loaded, Source
from toolenvs.web.trail import Seen, Trail
from toolenvs.web.urls import Url, canonical

T = TypeVar("T")
_RELATIVE = ("/", "#", "?", "./", "../")


class Browser(ABC):
    """One episode's browser. Each action gives a `Page`, whatever goes wrong with the page or the action.

    A page keeps its cursor for good: with `cursor=`, links, fields, `find` and `view` are those of an earlier page, as
    it was. Actions of one browser are to be called one after another. `aopen` and the like are the asynchronous faces.

    A backend defines `_load`, `_click`, `_type`, `_select`, `_submit` and `fork`.
    """

    def __init__(
        self, source: Source, limits: Limits, *, count: Callable[[str], int] | None = None, owns_source: bool = False
    ) -> None:
        """Begin an episode.

        Args:
            source: where pages come from.
            limits: what the episode may use.
            count: of the tokens of a text; with it `max_view_chars` counts tokens.
            owns_source: whether closing the browser closes the source.
        """
        self.source = source
        self.limits = limits
        self._count = count or len
        self._owns_source = owns_source
        self._trail = Trail()
        self._closed = False
        self._waits = source.waits

    # what a backend does

    @abstractmethod
    async def _load(self, url: Url) -> Loaded:
        """The page at an address, or a Fault."""

    @abstractmethod
    async def _click(self, document: Document, field: Field) -> Loaded:
        """What a click on a field of a page gives, or a Fault."""

    @abstractmethod
    async def _type(self, document: Document, number: int, text: str) -> Loaded:
        """The page with a text in a field, or a Fault."""

    @abstractmethod
    async def _select(self, document: Document, number: int, value: str | Sequence[str]) -> Loaded:
        """The page with options of a select chosen, or a Fault."""

    @abstractmethod
    async def _submit(self, document: Document, number: int | None) -> Loaded:
        """What sending a form gives, or a Fault."""

    async def _press(self, document: Document, keys: str) -> Loaded:
        """What pressing keys gives, or a Fault."""
        raise Fault("needs_browser", "keys are pressed only in a real browser: open, click, type or submit instead")

    async def _results(self, query: str) -> Loaded:
        """Pages that a search finds, or a Fault."""
        raise Fault("needs_browser", "this site has no search: open a page and follow its links")

    async def _moved(self, document: Document) -> None:
        """After a step back or forward, to where the document is shown."""
        return

    @abstractmethod
    def fork(self) -> Self:
        """An independent copy of the episode as it is.

        Raises:
            ForkError: the source or backend holds state that cannot be copied.
        """

    # actions, asynchronous

    async def aopen(
        self, target: str | int | None = None, *, line: int | None = None, cursor: int | None = None
    ) -> Page:
        """As `open`."""
        return await self._act(self._open(target, line, cursor))

    async def aclick(self, number: int, *, cursor: int | None = None) -> Page:
        """As `click`."""
        return await self._act(self._clicked(number, cursor))

    async def aview(self, line: int | None = None, *, cursor: int | None = None) -> Page:
        """As `view`."""
        return await self._act(self._viewed(line, cursor))

    async def afind(self, text: str, *, cursor: int | None = None) -> Page:
        """As `find`."""
        return await self._act(self._found(text, cursor))

    async def aback(self) -> Page:
        """As `back`."""
        return await self._act(self._move(-1))

    async def aforward(self) -> Page:
        """As `forward`."""
        return await self._act(self._move(1))

    async def asearch(self, query: str) -> Page:
        """As `search`."""
        return await self._act(self._searched(query))

    async def atype(self, number: int, text: str, *, cursor: int | None = None) -> Page:
        """As `type`."""
        return await self._act(self._typed(number, text, cursor))

    async def aselect(self, number: int, value: str | Sequence[str], *, cursor: int | None = None) -> Page:
        """As `select`."""
        return await self._act(self._selected(number, value, cursor))

    async def asubmit(self, number: int | None = None, *, cursor: int | None = None) -> Page:
        """As `submit`."""
        return await self._act(self._submitted(number, cursor))

    async def apress(self, keys: str) -> Page:
        """As `press`."""
        return await self._act(self._pressed(keys))

    # actions, blocking

    def open(self, target: str | int | None = None, *, line: int | None = None, cursor: int | None = None) -> Page:
        """Open an address, the link of a number, or the site's first page; from a line, if one is given.

        Args:
            target: an address, absolute or from the present page ("/x", "#x", "?x", "./x", "../x"); the number of a
                link; None: the page of `cursor` where a line or cursor is given, else where the site begins.
            line: to show it from, else from the anchor that the address names, or the top.
            cursor: the page that the number or address stands on; None: the present one.
        """
        return self._wait(self.aopen(target, line=line, cursor=cursor))

    def click(self, number: int, *, cursor: int | None = None) -> Page:
        """Follow a link, turn over a checkbox, choose a radio button, or send a form by its button."""
        return self._wait(self.aclick(number, cursor=cursor))

    def view(self, line: int | None = None, *, cursor: int | None = None) -> Page:
        """Show a page from a line; None: on from where its last view ended."""
        return self._wait(self.aview(line, cursor=cursor))

    def find(self, text: str, *, cursor: int | None = None) -> Page:
        """The lines of a page that hold a text; case, white space and the marks of links do not matter."""
        return self._wait(self.afind(text, cursor=cursor))

    def back(self) -> Page:
        """Show the page before, as it was shown last."""
        return self._wait(self.aback())

    def forward(self) -> Page:
        """Take back a step back."""
        return self._wait(self.aforward())

    def search(self, query: str) -> Page:
        """A page of links to the pages of the site that a query finds, the best first."""
        return self._wait(self.asearch(query))

    def type(self, number: int, text: str, *, cursor: int | None = None) -> Page:
        """Put a text into a field, in place of what it held."""
        return self._wait(self.atype(number, text, cursor=cursor))

    def select(self, number: int, value: str | Sequence[str], *, cursor: int | None = None) -> Page:
        """Choose an option of a select, by its value or by what is shown for it; several where it takes several."""
        return self._wait(self.aselect(number, value, cursor=cursor))

    def submit(self, number: int | None = None, *, cursor: int | None = None) -> Page:
        """Send the form of a button or field; None: the only form of the page."""
        return self._wait(self.asubmit(number, cursor=cursor))

    def press(self, keys: str) -> Page:
        """Press keys, which only a real browser can."""
        return self._wait(self.apress(keys))

    # how they are done

    async def _open(self, target: str | int | None, line: int | None, cursor: int | None) -> Page:
        if target is None and (line is not None or cursor is not None):
            return await self._viewed(line or 0, cursor)
        if target is None:
            if not self.source.home:
                raise Fault("bad_url", "nothing says where to begin: give an address")
            target = self.source.home
        if isinstance(target, str):
            base = ""
            if target.lstrip().startswith(_RELATIVE) and len(self._trail):
                base = self._trail.at(cursor)[1].document.url
            return await self._go(canonical(target, base if base.startswith("http") else ""), line)
        item = item_of(self._trail.at(cursor)[1].document, target)
        if not isinstance(item, Link):
            raise Fault("no_such_link", f"{target} is a {item.kind}, not a link: click it or type into it")
        return await self._follow(item, line, cursor)

    async def _follow(self, link: Link, line: int | None, cursor: int | None) -> Page:
        url = canonical(link.url)
        _, seen = self._trail.at(cursor)
        if url.fragment and url.text == seen.document.url:  # within the page: nothing is loaded
            return self._show(Loaded(seen.document, url.fragment, seen.http_status, seen.truncated), line)
        return await self._go(url, line)

    async def _go(self, url: Url, line: int | None) -> Page:
        self._room()
        return self._show(await self._load(url), line)

    async def _clicked(self, number: int, cursor: int | None) -> Page:
        _, seen = self._trail.at(cursor)
        item = item_of(seen.document, number)
        if isinstance(item, Link):
            return await self._follow(item, None, cursor)
        self._room()
        return self._changed(seen, await self._click(seen.document, item), number, cursor)

    async def _typed(self, number: int, text: str, cursor: int | None) -> Page:
        self._room()
        _, seen = self._trail.at(cursor)
        return self._changed(seen, await self._type(seen.document, number, text), number, cursor)

    async def _selected(self, number: int, value: str | Sequence[str], cursor: int | None) -> Page:
        self._room()
        _, seen = self._trail.at(cursor)
        return self._changed(seen, await self._select(seen.document, number, value), number, cursor)

    async def _submitted(self, number: int | None, cursor: int | None) -> Page:
        self._room()
        return self._show(await self._submit(self._trail.at(cursor)[1].document, number))

    async def _pressed(self, keys: str) -> Page:
        self._room()
        return self._show(await self._press(self._trail.at(None)[1].document, keys))

    async def _searched(self, query: str) -> Page:
        if not isinstance(query, str) or not query.strip():
            raise Fault("bad_url", "a search needs words to search for")
        self._room()
        return self._show(await self._results(query.strip()))

    async def _viewed(self, line: int | None, cursor: int | None) -> Page:
        number, seen = self._trail.at(cursor)
        first, offset = (line, 0) if line is not None else self._trail.onward(number)
        total = len(seen.document.lines)
        if isinstance(first, bool) or not isinstance(first, int) or not 0 <= first < max(total, 1):
            told = f"page [{number}] has lines 0 to {total - 1}" if total else f"page [{number}] has no lines"
            raise Fault("no_such_line", f"{told}: " + ("this was the end" if line is None else "view one of them"))
        return self._page(number, seen, first, offset)

    async def _found(self, text: str, cursor: int | None) -> Page:
        number, seen = self._trail.at(cursor)
        if not isinstance(text, str) or not text.strip():
            raise Fault("no_such_line", "nothing to find: give a word or phrase of the page")
        limits, document = self.limits, seen.document
        hits = document.find(text)
        told = shown.found(
            number, document, text, hits,
            max_hits=limits.max_hits, max_hit_chars=limits.max_hit_chars, most=limits.max_view_chars,
        )  # fmt: skip
        return Page(
            text=told, cursor=number, document=document, hits=hits, url=document.url, http_status=seen.http_status,
            truncated=seen.truncated,
        )  # fmt: skip

    async def _move(self, by: int) -> Page:
        number, first, offset = self._trail.move(by)
        seen = self._trail.at(number)[1]
        await self._moved(seen.document)
        return self._page(number, seen, first, offset)

    # what they show

    def _room(self) -> None:
        if len(self._trail) >= self.limits.max_pages:
            raise Fault("budget", f"all {self.limits.max_pages:,} pages of this episode are used: answer from them")

    def _changed(self, before: Seen, loaded: Loaded, number: int, cursor: int | None) -> Page:
        """Show what an action on a field gave: another page from its top, or the same one from the field on."""
        if not loaded.same_page:
            return self._show(loaded)
        present = cursor is None or cursor == self._trail.cursor  # an earlier page in a new state is a new step
        state = replace(loaded, http_status=before.http_status, truncated=before.truncated, same_page=present)
        return self._show(state, number=number)

    def _show(self, loaded: Loaded, line: int | None = None, *, number: int | None = None) -> Page:
        """Keep a page under a new cursor and show it, from a line, from a field, or from the anchor of its address."""
        document = loaded.document
        total = len(document.lines)
        if line is not None and not (isinstance(line, int) and 0 <= line < max(total, 1)):
            raise Fault("no_such_line", f"{document.url} has lines 0 to {total - 1}: open it from one of them")
        item = document.item(number) if number is not None else None
        first = line if line is not None else item.line if item is not None else _anchor(document, loaded.fragment)
        seen = Seen(document, loaded.http_status, loaded.truncated)
        return self._page(self._trail.add(seen, same_page=loaded.same_page), seen, first, 0)

    def _page(self, cursor: int, seen: Seen, first: int, offset: int) -> Page:
        document = seen.document
        view = shown.view_of(document, first, offset, self.limits.max_view_chars, self._count)
        self._trail.viewed(cursor, view, offset)
        return Page(
            text=shown.viewed(cursor, document, view, offset, seen.truncated),
            cursor=cursor,
            document=document,
            first_line=view.first_line,
            last_line=view.last_line,
            url=document.url,
            http_status=seen.http_status,
            truncated=seen.truncated,
        )

    async def _act(self, action: Coroutine[Any, Any, Page]) -> Page:
        started_s = time.perf_counter()
        if self._closed:
            action.close()
            raise ConfigError("this browser is closed: open another one")
        try:
            page = await action
        except Fault as fault:
            page = problem(fault.status, fault.told, url=fault.url, http_status=fault.http_status)
        return replace(page, seconds=time.perf_counter() - started_s)

    def _wait(self, action: Coroutine[Any, Any, T]) -> T:
        """What an action gives, for blocking callers."""
        if self._waits:
            return loop.run(action)
        try:
            action.send(None)  # it waits for nothing, so that it needs no loop
        except StopIteration as ended:
            result: T = ended.value
            return result
        action.close()
        raise RuntimeError("an action waited for something although its source is said to wait for nothing")

    @property
    def cursor(self) -> int | None:
        """Of the present page; None before the first."""
        return self._trail.cursor

    def close(self) -> None:
        """End the episode; a second call does nothing."""
        if not self._closed:
            self._closed = True
            self._end()
            if self._owns_source:
                self.source.close()

    def _end(self) -> None:
        """Let go of what the episode holds besides its pages."""
        return

    async def aclose(self) -> None:
        """As `close`."""
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


def _anchor(document: Document, fragment: str) -> int:
    line = document.anchors.get(fragment, 0) if fragment else 0
    return line if line < len(document.lines) else 0
