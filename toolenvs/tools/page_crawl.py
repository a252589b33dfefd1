"""A page by its address, short: its beginning, or what stands around the place that a search had shown of it.

SynPlanResearch-R1's way with long pages (arXiv:2603.07853).
"""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from toolenvs.schema import at_least
from toolenvs.tasks.task import Task
from toolenvs.tools._pages import Reader, Site, SiteOptions, address, known_as, opened, plain
from toolenvs.tools.base import ToolResult, ToolSession
from toolenvs.tools.page_search import Session as SearchSession
from toolenvs.web.browser import Browser

_WORD = re.compile(r"\w+")
_MAX_CHARS = 1 << 20
"""Of a page that is looked through for a place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(SiteOptions):
    """The keys of `[tools.page_crawl]`."""

    head_chars: int = 4_000
    """Characters of a page that no search has shown, or where the place is not found."""
    window_chars: int = 2_000
    """Characters around the place that a search has shown."""
    least_f1: float = 0.2
    """How much a line must have in common with what was shown, as F1 of their words, to be that place."""
    search: str = "page_search"
    """The page's key of the search."""
    failed: str = "The page could not be read ({status})."
    """What is told where there is none; `{status}` is a word of `toolenvs.web.Page.status`, or "empty"."""
    description: str = "Reads a web page."
    """Shown to models that choose functions by their schema."""

    def __post_init__(self) -> None:
        SiteOptions.__post_init__(self)
        at_least(1, head_chars=self.head_chars, window_chars=self.window_chars)
        at_least(0, least_f1=self.least_f1)


class Tool(Site):
    """A site that the process shares; each episode has a browser of its own."""

    name: ClassVar[str] = "crawl"

    def __init__(self, options: Options) -> None:
        self.options = options
        self.description = options.description
        url = {"type": "string", "description": "The address of the page."}
        self.parameters: Mapping[str, Any] = {"type": "object", "properties": {"url": url}, "required": ["url"]}

    async def open(self, task: Task, *, seed: int, progress: float) -> "Session":
        """A session: a browser that has seen nothing yet."""
        return Session(self.options, self.browser())


class Session(Reader):
    """One episode's browser."""

    def __init__(self, options: Options, browser: Browser) -> None:
        super().__init__(options, browser)
        self.sessions: Mapping[str, ToolSession] = {}

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Read a page.

        Raises:
            ToolError: there is no address.
            WebError: the site failed.
        """
        options = self._options
        started_s = time.perf_counter()
        url = address(arguments, "url")
        page = await opened(self._browser, url)
        data = {"url": page.url, "http_status": page.http_status}
        said = plain(page.document) if page.document is not None else ""
        if not said.strip():
            status = "empty" if page.status == "ok" else page.status
            told = options.failed.replace("{status}", status)
            return ToolResult(text=told, status=status, data=data, seconds=time.perf_counter() - started_s)
        search = self.sessions.get(options.search)
        texts = search.texts if isinstance(search, SearchSession) else {}
        shown = texts.get(page.url) or texts.get(known_as(url), "")  # a redirect may have led elsewhere
        text = window(said, shown, options)
        return ToolResult(text=text, data=data, seconds=time.perf_counter() - started_s)


def window(text: str, shown: str, options: Options) -> str:
    """`text` around the line that has the most words in common with `shown`, the first of equals, else its head."""
    wanted = set(_WORD.findall(shown.casefold()))
    best, middle, start = 0.0, -1, 0
    for line in text[:_MAX_CHARS].split("\n") if wanted else ():
        words = set(_WORD.findall(line.casefold()))
        f1 = 2 * len(words & wanted) / (len(words) + len(wanted)) if words else 0.0
        if f1 > best:
            best, middle = f1, start + len(line) // 2
        start += len(line) + 1
    if middle < 0 or best < options.least_f1:
        return text[: options.head_chars]
    first = max(min(middle - options.window_chars // 2, len(text) - options.window_chars), 0)
    return text[first : first + options.window_chars]
