"""Browsing as a tool: search a site, open, find, click, go back, and fill in forms; one episode, one browser."""

import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from toolenvs import web
from toolenvs.errors import ConfigError, ToolError, WebError, did_you_mean
from toolenvs.schema import at_least
from toolenvs.tasks.task import Task
from toolenvs.tools import _actions
from toolenvs.tools._pages import Site, SiteOptions
from toolenvs.tools.base import ToolResult
from toolenvs.web.browser import Browser
from toolenvs.web.page import Page
from toolenvs.web.source import Source
from toolenvs.world import injections, size_and_seed

_LINE = re.compile(r"L?(\d+)")
_NUMBER = {"type": "integer", "minimum": 0}
_ARGUMENTS: dict[str, tuple[dict[str, Any], str]] = {
    "query": ({"type": "string"}, "search: words to search the site for."),
    "url": ({"type": "string"}, "open: an address."),
    "link": (_NUMBER, "open, click, type, select, submit: the number of a link or field, the n of [n†text]."),
    "line": (_NUMBER, "open, view: the line to show the page from, the n of Ln."),
    "text": ({"type": "string"}, "find: words of the page. type: what to put into the field."),
    "option": ({"type": "string"}, "select: the option to choose."),
    "cursor": (_NUMBER, "The page that is meant, the n of [n] in its first line; the present one by default."),
}
_ACTIONS: dict[str, tuple[str, ...]] = {
    "search": ("query",),
    "open": ("url", "link", "line", "cursor"),
    "click": ("link", "cursor"),
    "find": ("text", "cursor"),
    "view": ("line", "cursor"),
    "back": (),
    "forward": (),
    "type": ("link", "text", "cursor"),
    "select": ("link", "option", "cursor"),
    "submit": ("link", "cursor"),
}
"""Name -> the arguments that it takes."""
_NEEDED: dict[str, tuple[str, ...]] = {
    "search": ("query",),
    "click": ("link",),
    "find": ("text",),
    "type": ("link", "text"),
    "select": ("link", "option"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(SiteOptions):
    """The keys of `[tools.browse]`."""

    site: str = "sites/python3-doc"
    """As in `SiteOptions`."""
    home: str = ""
    """Where `open` without an address leads; "" for where the site begins."""
    backend: Literal["text", "chromium"] = "text"
    """Whether pages are read as they are, or in a real browser that runs their scripts."""
    actions: tuple[str, ...] = ("search", "open", "click", "find", "view", "back")
    """What the policy may do: of search, open, click, find, view, back, forward, type, select, submit."""
    max_view_chars: int = 4_000
    """Characters of the lines that one call shows."""
    max_hits: int = 20
    """Found lines that are shown."""
    max_results: int = 5
    """Pages that a search lists."""
    max_pages: int = 500
    """Pages, and states of pages, of an episode."""
    description: str = (
        "Reads web pages. A page is shown as numbered lines L0, L1, ...; [n†text] is a link and [n‡...] a field of "
        "number n; the first line names the page's cursor, [n], under which it can be had again."
    )
    """Shown to models that choose functions by their schema."""

    def __post_init__(self) -> None:
        SiteOptions.__post_init__(self)
        at_least(1, max_view_chars=self.max_view_chars, max_hits=self.max_hits, max_results=self.max_results)
        at_least(1, max_pages=self.max_pages)
        if not self.actions:
            raise ConfigError("actions is empty: name what may be done, such as ['search', 'open']")
        for action in self.actions:
            if action not in _ACTIONS:
                raise ConfigError(f"no action {action!r}; {did_you_mean(action, _ACTIONS)}")


class Tool(Site):
    """A site that all episodes of this process share; each has a browser of its own."""

    name: ClassVar[str] = "browse"

    def __init__(self, options: Options) -> None:
        self.options = options
        self.description = options.description
        self.parameters: Mapping[str, Any] = _actions.parameters(options.actions, _ACTIONS, _ARGUMENTS)

    def source(self) -> Source:
        """The site.

        Raises:
            ConfigError: it is not known, or the live web is not allowed.
            WebError: it cannot be used.
        """
        options = self.options
        if options.site == "live":
            return web.shared("live", allow=options.allow, deny=options.deny, home=options.home)
        return web.shared(options.site, home=options.home)

    def browser(self) -> Browser:
        """A browser at the beginning of an episode."""
        options = self.options
        limits = ("max_view_chars", "max_hits", "max_results", "max_pages", "max_total_bytes", "timeout_s", "pace_s")
        return self.source().browser(options.backend, **{name: getattr(options, name) for name in limits})

    def disagrees(self, tasks: Mapping[str, Any]) -> str | None:
        """Why tasks cannot be answered from this site; None where nothing speaks against it."""
        if tasks.get("set") == "site_pages":
            about = "sites/" + str(tasks.get("site", "sites/python3-doc")).removeprefix("sites/")
            told = f"tasks.site = {about!r} is not the site that is browsed; set it to {self.options.site!r}"
            return None if about == self.options.site else told
        if tasks.get("set") not in ("world_pages", "world_injected"):
            return None
        base, seed = injections.split(self.options.site.removeprefix("sites/"))
        asked = (tasks.get("passages", 1_000), tasks.get("world", 0))
        wanted_seed = tasks.get("injections", 0) if tasks["set"] == "world_injected" else None
        if size_and_seed(base) == asked and seed == wanted_seed:
            return None
        wanted = f"sites/world:{asked[0]}:{asked[1]}" + ("" if wanted_seed is None else f":injected:{wanted_seed}")
        return f"site = {self.options.site!r} is not the world of the tasks; set it to {wanted!r}"

    async def open(self, task: Task, *, seed: int, progress: float) -> "Session":
        """A session: a browser that has seen nothing yet.

        Raises:
            WebError: the task was made from another recording of the site; says what to do.
        """
        browser = self.browser()
        asked, store = task.extra.get("fingerprint"), getattr(browser.source, "store", None)
        if asked and store is not None and asked != getattr(store, "recording", store.fingerprint):
            browser.close()
            raise WebError(
                f"task {task.id!r} was made from another recording of {self.options.site}: "
                "make its questions again, by `toolenvs site questions`"
            )
        return Session(self.options, browser)


class Session:
    """One episode's browser."""

    def __init__(self, options: Options, browser: Browser) -> None:
        self._options = options
        self._browser = browser

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Do what a call asks for.

        Raises:
            ToolError: it asks for nothing that can be done; says what can.
            WebError: the site or the browser failed.
        """
        started_s = time.perf_counter()
        action, given = _actions.split(arguments, self._options.actions)
        page = await self._do(action, _read(action, given))
        data = {
            "action": action, "url": page.url, "cursor": page.cursor, "http_status": page.http_status,
            "lines": [page.first_line, page.last_line], "hits": list(page.hits), "truncated": page.truncated,
        }  # fmt: skip
        return ToolResult(text=page.text, status=page.status, data=data, seconds=time.perf_counter() - started_s)

    def _do(self, action: str, given: dict[str, Any]) -> Awaitable[Page]:
        browser, cursor = self._browser, given.get("cursor")
        link, line, text = given.get("link"), given.get("line"), given.get("text")
        ways: dict[str, Callable[[], Awaitable[Page]]] = {
            "search": lambda: browser.asearch(given["query"]),
            "open": lambda: browser.aopen(given.get("url", link), line=line, cursor=cursor),
            "click": lambda: browser.aclick(given["link"], cursor=cursor),
            "find": lambda: browser.afind(given["text"], cursor=cursor),
            "view": lambda: browser.aview(line, cursor=cursor),
            "back": browser.aback,
            "forward": browser.aforward,
            "type": lambda: browser.atype(given["link"], text or "", cursor=cursor),
            "select": lambda: browser.aselect(given["link"], given["option"], cursor=cursor),
            "submit": lambda: browser.asubmit(link, cursor=cursor),
        }
        return ways[action]()

    async def fork(self) -> "Session":
        """A copy of the browser as it is: pages, history, forms and cookies.

        Raises:
            ForkError: it cannot be copied, as a real browser cannot.
        """
        return Session(self._options, self._browser.fork())

    async def close(self) -> None:
        """End the browser."""
        await self._browser.aclose()


def _read(action: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a call, checked; numbers may be written as texts, "L12" too."""
    read: dict[str, Any] = {}
    for name, value in given.items():
        _actions.must_take(action, name, _ACTIONS[action])
        if _ARGUMENTS[name][0] is _NUMBER:
            number = _LINE.fullmatch(value.strip()) if isinstance(value, str) else None
            if number is not None and len(number[1]) < 10:
                value = int(number[1])
            if isinstance(value, float) and value.is_integer():
                value = int(value)
            if isinstance(value, bool) or not isinstance(value, int):
                raise ToolError(f"the argument {name!r} must be a whole number, not {value!r:.40}")
        elif not isinstance(value, str):
            raise ToolError(f"the argument {name!r} must be a text, not {value!r:.40}")
        read[name] = value
    for name in _NEEDED.get(action, ()):
        if name not in read:
            raise ToolError(f"{action} needs the argument {name!r}: {_ARGUMENTS[name][1]}")
    if "url" in read and "link" in read:
        raise ToolError("open takes a 'url' or a 'link', not both")
    return read
