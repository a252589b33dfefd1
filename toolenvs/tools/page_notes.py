"""Pages that a reading agent reads: the policy sees what was noted of them, never the pages themselves.

DeepResearcher's browsing agent (arXiv:2504.03160): it goes through a page part by part, with the question and what it
has noted so far, until it says that it has read enough.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from toolenvs.endpoint import Endpoint
from toolenvs.schema import at_least
from toolenvs.tasks.task import Task
from toolenvs.tools._pages import Site, SiteOptions, known_as, opened, plain, texts
from toolenvs.tools._reading import Extracts, Model, PageReader
from toolenvs.tools.base import ToolResult, ToolSession
from toolenvs.tools.page_search import Session as SearchSession
from toolenvs.web.browser import Browser

NOT_FOUND_BY_SEARCH = "not_searched"
"""Status of an address that the latest search did not find."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(SiteOptions):
    """The keys of `[tools.page_notes]`."""

    part_chars: int = 40_960
    """Characters of a page that are read at once."""
    max_parts: int = 50
    """Parts of a page that are read."""
    max_urls: int = 10
    """Addresses of a call that are read, the first ones."""
    latest_only: bool = True
    """Whether only addresses that the latest search has found are opened, as in the released code."""
    repeat: bool = False
    """Whether a note is told again when its page is read again; in the released code each is told once."""
    max_note_words: int = 120
    """Words of a note, without a model."""
    endpoint: Endpoint | None = None
    """The model that reads; None takes the lines that hold most of the question's words."""
    search: str = "page_search"
    """The page's key of the search."""
    description: str = "Reads web pages, and returns what they say about the question."
    """Shown to models that choose functions by their schema."""

    def __post_init__(self) -> None:
        SiteOptions.__post_init__(self)
        at_least(1, part_chars=self.part_chars, max_parts=self.max_parts, max_urls=self.max_urls)
        at_least(1, max_note_words=self.max_note_words)


class Tool(Site):
    """A site that the process shares; each episode has a browser of its own."""

    name: ClassVar[str] = "read"

    def __init__(self, options: Options) -> None:
        self.options = options
        self.description = options.description
        self.reader: PageReader = Model(options.endpoint) if options.endpoint else Extracts(options.max_note_words)
        urls = {"type": "array", "items": {"type": "string"}, "description": "Addresses that the search has found."}
        self.parameters: Mapping[str, Any] = {
            "type": "object",
            "properties": {"url_list": urls},
            "required": ["url_list"],
        }

    async def open(self, task: Task, *, seed: int, progress: float) -> "Session":
        """A session: a browser that has seen nothing yet."""
        return Session(self, task, self.browser())


class Session:
    """The reading of one episode: its browser, and what was noted."""

    def __init__(self, tool: Tool, task: Task, browser: Browser) -> None:
        self._tool, self._task, self._browser = tool, task, browser
        self.sessions: Mapping[str, ToolSession] = {}
        self._notes: list[str] = []
        self._told: set[tuple[str, int]] = set()

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Read pages, one after another. What cannot be read has no notes, and says no more.

        Raises:
            ToolError: there is no address.
            WebError: the site failed.
            EngineError: the model that reads gave no answer.
        """
        started_s = time.perf_counter()
        urls = texts(arguments, "url_list", "addresses")[: self._tool.options.max_urls]
        statuses, noted = [], []
        for url in urls:
            status, notes = await self._read(url)
            statuses.append(status)
            noted.append({"url": url, "information": notes})
        status = "ok" if "ok" in statuses else statuses[0]
        data = {"urls": urls, "statuses": statuses}
        return ToolResult(
            text=json.dumps(noted, ensure_ascii=False),
            status=status,
            data=data,
            seconds=time.perf_counter() - started_s,
        )

    async def _read(self, url: str) -> tuple[str, list[dict[str, Any]]]:
        """What became of an address, and the notes of its page that were not told yet."""
        options = self._tool.options
        search = self.sessions.get(options.search)
        found, queries = (search.latest, search.queries) if isinstance(search, SearchSession) else ((), ())
        if options.latest_only and known_as(url) not in found:
            return NOT_FOUND_BY_SEARCH, []
        page = await opened(self._browser, url)
        if page.document is None:
            return page.status, []
        text = plain(page.document)
        parts = [text[start : start + options.part_chars] for start in range(0, len(text), options.part_chars)]
        parts = parts[: options.max_parts]
        question, summary, notes = " ".join([self._task.question, *queries]), "", list[dict[str, Any]]()
        for number, part in enumerate(parts, start=1):
            note = await self._tool.reader.read(
                part, question=question, number=number, total=len(parts), found=self._notes, summary=summary
            )
            summary = note.summary or summary
            if note.information and (options.repeat or (page.url, number) not in self._told):
                self._told.add((page.url, number))
                self._notes.append(note.information)
                notes.append({"page_number": number, "page_summary": note.information})
            if not note.page_down:
                break
        return "ok", notes

    async def fork(self) -> "Session":
        """A copy of the browser and the notes as they are.

        Raises:
            ForkError: the browser cannot be copied.
        """
        copy = Session(self._tool, self._task, self._browser.fork())
        copy._notes, copy._told = self._notes[:], set(self._told)
        return copy

    async def close(self) -> None:
        """End the browser."""
        await self._browser.aclose()
