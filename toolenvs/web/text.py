"""The browser without a browser: pages are loaded and rendered here, and forms are kept as documents."""

import weakref
from collections.abc import Callable, Sequence

from toolenvs.errors import ForkError
from toolenvs.web import forms
from toolenvs.web.browser import Browser
from toolenvs.web.document import Document, Field
from toolenvs.web.fetch import Fetcher, Request
from toolenvs.web.limits import Limits
from toolenvs.web.source import Loaded, Source
from toolenvs.web.urls import Url


class TextBrowser(Browser):
    """A browser that runs no scripts."""

    def __init__(
        self, source: Source, limits: Limits, *, count: Callable[[str], int] | None = None, owns_source: bool = False
    ) -> None:
        """As for `Browser`."""
        super().__init__(source, limits, count=count, owns_source=owns_source)
        self._attach(Fetcher(source, source.transport(limits), limits))

    def _attach(self, fetcher: Fetcher) -> None:
        self._fetcher = fetcher
        self._finish = weakref.finalize(self, self.source.end, fetcher.transport)

    async def _load(self, url: Url) -> Loaded:
        return await self._request(Request(url))

    async def _request(self, request: Request) -> Loaded:
        return await self.source.load(self._fetcher, request)

    async def _click(self, document: Document, field: Field) -> Loaded:
        if field.kind in ("submit", "image", "button", "reset"):
            return await self._submit(document, field.number)
        return _state(forms.clicked(document, field.number))

    async def _type(self, document: Document, number: int, text: str) -> Loaded:
        return _state(forms.typed(document, number, text, max_bytes=self.limits.max_form_bytes))

    async def _select(self, document: Document, number: int, value: str | Sequence[str]) -> Loaded:
        return _state(forms.selected(document, number, value))

    async def _submit(self, document: Document, number: int | None) -> Loaded:
        return await self._request(forms.submission(document, number, max_bytes=self.limits.max_form_bytes))

    async def _results(self, query: str) -> Loaded:
        found = await self.source.search(query, self.limits.max_results)
        return await super()._results(query) if found is None else Loaded(found)

    @property
    def bytes_used(self) -> int:
        """Loaded so far in this episode, over the wire."""
        return self._fetcher.bytes_used

    def fork(self) -> "TextBrowser":
        """An independent copy of the episode as it is; the pages that were seen are shared, nothing else.

        Raises:
            ForkError: the application behind it holds state that cannot be copied.
        """
        if not self.source.forks:
            raise ForkError("the application behind this browser has no fork(): replay the actions instead")
        copy = TextBrowser.__new__(TextBrowser)
        source = self.source.fork()
        Browser.__init__(copy, source, self.limits, count=self._count, owns_source=source is not self.source)
        copy._trail = self._trail.fork()
        copy._attach(self._fetcher.fork(source, source.transport(self.limits)))
        return copy

    def _end(self) -> None:
        self._finish()


def _state(document: Document) -> Loaded:
    return Loaded(document, http_status=None, same_page=True)
