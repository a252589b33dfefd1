"""What tools over the pages of one site share: the site, its browsers, and pages as plain text."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from toolenvs import web
from toolenvs.errors import ToolError, WebError
from toolenvs.schema import at_least
from toolenvs.web.browser import Browser
from toolenvs.web.document import Document, Link, unmarked
from toolenvs.web.faults import Fault
from toolenvs.web.page import Page
from toolenvs.web.source import Source
from toolenvs.web.urls import canonical
from toolenvs.world import size_and_seed

_MARK = re.compile(r"\[(\d+)[†‡]|[\[\]]")
_ABOUT_THE_WORLD = ("world", "world_pages")


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteOptions:
    """Where pages come from; keys of every tool that reads them."""

    site: str = "sites/world:1000"
    """A recorded site, "sites/NAME" or its file; "live" for the live web, as far as `allow` goes."""
    allow: tuple[str, ...] = ()
    """Live web: hosts that are opened, as `toolenvs.web.guard.Policy` reads them."""
    deny: tuple[str, ...] = ()
    """Live web: what is not opened though it is allowed, such as where the answers are published."""
    max_total_bytes: int = 64_000_000
    """Live web: bytes that an episode may load."""
    timeout_s: float = 10.0
    """Live web: wall-clock deadline of a page."""
    pace_s: float = 1.0
    """Live web: least time between two requests to one host."""

    def __post_init__(self) -> None:
        at_least(1, max_total_bytes=self.max_total_bytes)
        at_least(0.001, timeout_s=self.timeout_s)
        at_least(0, pace_s=self.pace_s)


class Site:
    """A tool over the site of its options, which the process shares."""

    options: Any
    """`SiteOptions`; the rest is the tool's."""

    def source(self) -> Source:
        """The site.

        Raises:
            ConfigError: it is not known, or the live web is not allowed.
            WebError: it cannot be used.
        """
        if self.options.site == "live":
            return web.shared("live", allow=self.options.allow, deny=self.options.deny)
        return web.shared(self.options.site)

    def browser(self) -> Browser:
        """A browser at the beginning of an episode."""
        limits = {name: getattr(self.options, name) for name in ("max_total_bytes", "timeout_s", "pace_s")}
        return self.source().browser(max_view_chars=1, **limits)

    def disagrees(self, tasks: Mapping[str, Any]) -> str | None:
        """Why tasks about a fictional world cannot be answered from this site; None where nothing speaks against it."""
        asked = (tasks.get("passages", 1_000), tasks.get("world", 0))
        shown = size_and_seed(self.options.site.removeprefix("sites/"))
        if tasks.get("set") not in _ABOUT_THE_WORLD or self.options.site == "live" or shown == asked:
            return None
        wanted = f"sites/world:{asked[0]}:{asked[1]}"
        return f"site = {self.options.site!r} is not the world of the tasks; set it to {wanted!r}"

    async def check(self) -> None:
        """Open where the site begins, if it says where.

        Raises:
            InfrastructureError: the site does not work here.
        """
        async with self.browser() as browser:
            if browser.source.home and not browser.source.live:
                page = await browser.aopen()
                if page.status != "ok":
                    raise WebError(f"the site {self.options.site!r} does not open at its beginning: {page.text}")

    async def close(self) -> None:
        """Nothing: the process shares the site and closes it when it exits."""


class Reader:
    """One episode's browser, for a session of a tool that reads one address a call."""

    def __init__(self, options: Any, browser: Browser) -> None:
        self._options = options
        self._browser = browser

    async def fork(self) -> Self:
        """A copy of the browser as it is.

        Raises:
            ForkError: it cannot be copied.
        """
        return type(self)(self._options, self._browser.fork())

    async def close(self) -> None:
        """End the browser."""
        await self._browser.aclose()


async def opened(browser: Browser, url: str) -> Page:
    """The page of an absolute address; its `document` is None, and `status` says why, where there is none."""
    return await browser.aopen(url.strip())


def known_as(url: str) -> str:
    """The form in which an address is compared with others; "" for what is none."""
    try:
        return canonical(url).text
    except Fault:
        return ""


def address(arguments: Mapping[str, Any], name: str) -> str:
    """The address that a call gives.

    Raises:
        ToolError: there is none, or it is no text.
    """
    url = arguments.get(name)
    if not isinstance(url, str) or not url.strip():
        raise ToolError(f"the argument {name!r} must be the address of a page, a string")
    return url.strip()


def texts(arguments: Mapping[str, Any], name: str, what: str) -> list[str]:
    """The list of texts that a call gives; a text alone is a list of one.

    Raises:
        ToolError: there is none, or something else is in it.
    """
    given = arguments.get(name)
    listed = [given] if isinstance(given, str) else given
    if not isinstance(listed, list) or not listed or not all(isinstance(one, str) and one.strip() for one in listed):
        raise ToolError(f"the argument {name!r} must be a list of {what}, each a string")
    return [one.strip() for one in listed]


def plain(document: Document) -> str:
    """A page without the marks of its links, one line a block."""
    return "\n".join(map(unmarked, document.lines))


def linked(document: Document) -> str:
    """A page with each link as `[text](address)`, so that a reader can go on from it."""
    return "\n".join(_with_addresses(line, document) for line in document.lines)


def _with_addresses(line: str, document: Document) -> str:
    written: list[str] = []
    start = 0
    opened: list[Link | None] = []  # for each bracket that is open: the link that it marks
    marks: list[bool] = []
    for found in _MARK.finditer(line):
        item = document.item(int(found[1])) if found[1] else None
        written.append(line[start : found.start()])
        start = found.end()
        if found[0] == "]":
            mark, link = (marks.pop(), opened.pop()) if marks else (False, None)
            written.append(f"]({link.url})" if link is not None else "" if mark else "]")
        else:
            link = item if isinstance(item, Link) else None
            marks.append(found[1] is not None)
            opened.append(link)
            written.append("[" if link is not None or found[1] is None else "")
    written.append(line[start:])
    return "".join(written)
