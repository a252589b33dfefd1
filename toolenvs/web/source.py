"""Where the pages of a browser come from: what its episodes share, and the rules that hold there."""

import asyncio
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import httpx

from toolenvs.web import apart
from toolenvs.web.content_types import shown_as
from toolenvs.web.document import Document
from toolenvs.web.faults import Fault
from toolenvs.web.fetch import Fetched, Fetcher, Request
from toolenvs.web.limits import Limits
from toolenvs.web.render import render
from toolenvs.web.urls import Url

if TYPE_CHECKING:
    from toolenvs.web.browser import Browser

T = TypeVar("T")
_LARGE_BYTES = 65_536
"""Of a page that takes long to render."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A page that an action led to."""

    document: Document
    fragment: str = ""
    """The anchor that it opens at; "" for the top."""
    http_status: int | None = None
    truncated: bool = False
    same_page: bool = False
    """Whether it is the present page in a new state."""


class Source(ABC):
    """Where pages come from. Safe to share between episodes, threads and event loops."""

    waits: ClassVar[bool] = True
    """Whether loading may wait, and so has a deadline; False: every page is there at once."""
    live: ClassVar[bool] = False
    """Whether it is the live web: robots.txt and the pace hold."""
    posts: ClassVar[bool] = False
    """Whether forms may be sent with POST."""
    forks: bool = True
    """Whether an episode can be forked: whether nothing of it is kept behind the transport, or `fork` copies it."""
    home: str = ""
    """Where an episode may begin; "" for nowhere in particular."""

    @abstractmethod
    def transport(self, limits: Limits) -> httpx.AsyncBaseTransport:
        """What one episode loads through."""

    def check(self, url: Url) -> None:
        """That an address may be asked for.

        Raises:
            Fault: blocked.
        """
        return

    def fault(self, error: Exception) -> Fault | None:
        """What an exception of the transport means to the reader; None where it is not the page's doing."""
        return None

    async def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a load where the transport lives."""
        return await coroutine

    async def load(self, fetcher: Fetcher, request: Request) -> Loaded:
        """The page that a request leads to, rendered.

        Raises:
            Fault: there is none; says why.
            WebError: the source itself failed.
        """
        if self.live:
            apart.renderer().prepare()
        fetched = await self.run(fetcher.fetch(request))
        if self.live:
            return await rendered_apart(fetched)
        if self.waits and len(fetched.body) > _LARGE_BYTES:  # the caller's loop goes on meanwhile
            return await asyncio.to_thread(rendered, fetched)
        return rendered(fetched)

    async def search(self, query: str, k: int) -> Document | None:
        """A page of links to what a query finds, at most `k` pages; None where the source has no search."""
        return None

    def fork(self) -> "Source":
        """What a forked episode loads from: this one, or a copy where it keeps the episode's state."""
        return self

    def browser(self, backend: str = "text", **options: Any) -> "Browser":
        """A browser for one episode; closing it leaves this source open.

        Args:
            backend: as for `web.open`.
            options: limits, and those of the backend.

        Raises:
            ConfigError: the backend or an option is not known.
        """
        from toolenvs import web

        return web.begin(self, backend, **options)

    def end(self, transport: httpx.AsyncBaseTransport) -> None:
        """Close what an episode loaded through."""
        return

    def close(self) -> None:
        """Let go of what the episodes share; a second call does nothing."""
        return


def rendered(fetched: Fetched) -> Loaded:
    """A page as lines.

    Raises:
        Fault: unsupported_type.
    """
    return _loaded(fetched, render(fetched.body, url=fetched.url.text, content_type=_kind(fetched)))


async def rendered_apart(fetched: Fetched) -> Loaded:
    """A page of the live web as lines, read in a process that is killed at the end of the action's time.

    Raises:
        Fault: unsupported_type; timeout; too_large.
        WebError: no process can be started.
    """
    kind, url = _kind(fetched), fetched.url.text
    document = await apart.renderer().render(fetched.body, url=url, content_type=kind, timeout_s=fetched.left_s)
    return _loaded(fetched, document)


def _kind(fetched: Fetched) -> str:
    try:
        return shown_as(fetched.content_type, fetched.body)
    except Fault as fault:
        fault.url, fault.http_status = fetched.url.text, fetched.http_status
        raise


def _loaded(fetched: Fetched, document: Document) -> Loaded:
    truncated = fetched.truncated or bool(document.truncated)
    return Loaded(document, fetched.url.fragment, fetched.http_status, truncated)


class Rendered:
    """Rendered pages of a source that never changes, the least used dropped; any thread may use it."""

    def __init__(self, max_chars: int) -> None:
        """Keep pages of about `max_chars` characters together."""
        self._max_chars = max_chars
        self._chars = 0
        self._pages: OrderedDict[str, tuple[Loaded, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> Loaded | None:
        """The page that was kept so; None where there is none."""
        with self._lock:
            kept = self._pages.get(key)
            if kept is None:
                return None
            self._pages.move_to_end(key)
            return kept[0]

    def put(self, key: str, page: Loaded) -> None:
        """Keep a page, by its address and what else decides how it is shown."""
        document = page.document
        size = sum(map(len, document.lines)) + 100 * (len(document.lines) + len(document.links)) + 1_000
        with self._lock:
            if key in self._pages:
                return
            self._pages[key] = page, size
            self._chars += size
            while self._chars > self._max_chars and len(self._pages) > 1:
                _, (_, dropped) = self._pages.popitem(last=False)
                self._chars -= dropped

    def __len__(self) -> int:
        return len(self._pages)
