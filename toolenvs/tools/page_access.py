"""A page by its address, dealt out in pieces that are read one by one and then forgotten but for their beginning.

ASearcher's way with long pages (arXiv:2508.07976). A page of the environment has to have turns of reading,
`protocol.reading_stop`; else all pieces are shown at once.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from toolenvs.schema import at_least
from toolenvs.tasks.task import Task
from toolenvs.tools._pages import Reader, Site, SiteOptions, address, linked, opened
from toolenvs.tools.base import Piece, ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(SiteOptions):
    """The keys of `[tools.page_access]`."""

    page_chars: int = 250_000
    """Characters of a page that are read."""
    piece_chars: int = 25_000
    """Characters of one piece."""
    max_pieces: int = 10
    """Pieces of a page."""
    kept_chars: int = 100
    """Characters of a piece that stay once it was read."""
    heading: str = ">>>> Page {number} >>>>\n\n"
    """Text before a piece; `{number}` from 1."""
    failed: str = "There is nothing to read at this address."
    """What is told, whatever was wrong with it."""
    description: str = "Reads the page of an address."
    """Shown to models that choose functions by their schema."""

    def __post_init__(self) -> None:
        SiteOptions.__post_init__(self)
        at_least(1, page_chars=self.page_chars, piece_chars=self.piece_chars, max_pieces=self.max_pieces)
        at_least(0, kept_chars=self.kept_chars)


class Tool(Site):
    """A site that the process shares; each episode has a browser of its own."""

    name: ClassVar[str] = "access"

    def __init__(self, options: Options) -> None:
        self.options = options
        self.description = options.description
        url = {"type": "string", "description": "The address."}
        self.parameters: Mapping[str, Any] = {"type": "object", "properties": {"url": url}, "required": ["url"]}

    async def open(self, task: Task, *, seed: int, progress: float) -> "Session":
        """A session: a browser that has seen nothing yet."""
        return Session(self.options, self.browser())


class Session(Reader):
    """One episode's browser."""

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Read a page.

        Raises:
            ToolError: there is no address.
            WebError: the site failed.
        """
        options = self._options
        started_s = time.perf_counter()
        page = await opened(self._browser, address(arguments, "url"))
        text = linked(page.document).strip()[: options.page_chars] if page.document is not None else ""
        data = {"url": page.url, "http_status": page.http_status, "chars": len(text)}
        if not text:
            status = "empty" if page.status == "ok" else page.status
            seconds = time.perf_counter() - started_s
            return ToolResult(text=options.failed, status=status, data=data, seconds=seconds)
        starts = range(0, len(text), options.piece_chars)[: options.max_pieces]
        pieces = tuple(
            self._piece(number, text[start : start + options.piece_chars]) for number, start in enumerate(starts, 1)
        )
        return ToolResult(
            text="\n".join(piece.text for piece in pieces),
            pieces=pieces,
            data=data,
            seconds=time.perf_counter() - started_s,
        )

    def _piece(self, number: int, text: str) -> Piece:
        heading, kept = self._options.heading.replace("{number}", str(number)), self._options.kept_chars
        return Piece(heading + text, heading + text[:kept] + "..." if len(text) > kept else None)
