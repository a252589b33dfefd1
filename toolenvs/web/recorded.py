"""A recorded site: pages as they were, the same for every episode, and a search over them."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from toolenvs import retrieval
from toolenvs.errors import ConfigError
from toolenvs.retrieval import Retriever
from toolenvs.retrieval import shared as indexes
from toolenvs.web import site_search
from toolenvs.web.document import Document
from toolenvs.web.faults import Fault
from toolenvs.web.fetch import Fetcher, Request
from toolenvs.web.limits import Limits
from toolenvs.web.shelf import Shelf
from toolenvs.web.sites import Store, file_of, open_store
from toolenvs.web.source import Loaded, Rendered, Source
from toolenvs.web.store import PageStore
from toolenvs.web.transport.store import StoreTransport
from toolenvs.web.urls import canonical

CACHE_CHARS = 64_000_000
_SHELVED_BYTES = Limits().max_body_bytes
"""Pages that are cut elsewhere are not kept on the disk."""


class Recording(Source):
    """A store of pages. It is only read; rendered pages are kept for all of its episodes."""

    waits: ClassVar[bool] = False

    def __init__(
        self,
        source: str | Path,
        *,
        home: str = "",
        index: str | Path | bool = True,
        cache_chars: int = CACHE_CHARS,
    ) -> None:
        """Open a recorded site.

        Args:
            source: its file, or "sites/NAME": see `toolenvs.web.sites`.
            home: where an episode may begin; "": where the recording says.
            index: what search uses: True, an index of the site's own, built into the cache when first asked for; a
                folder of `retrieval.index` whose ids are addresses; False: the site has no search.
            cache_chars: about how many characters of rendered pages are kept.

        Raises:
            ConfigError: there is no such site; says what to do.
            WebError: the file is damaged.
            RetrievalError: the index cannot be used.
        """
        self.store: Store = open_store(source)
        begin = home or self.store.home
        try:
            self.home = canonical(begin).text if begin else ""
        except Fault as fault:
            self.store.close()
            raise ConfigError(f"web: home={begin!r}: {fault.told}") from None
        self._index = index
        self._retriever: Retriever | None = None
        self._lock = threading.Lock()
        self._rendered = Rendered(cache_chars)
        built = isinstance(self.store, PageStore) and self.store.path.parent == file_of("x").parent
        self._shelf = Shelf(file_of("x").parents[1] / "rendered", self.store.fingerprint) if built else None
        self._name = str(source)

    def transport(self, limits: Limits) -> StoreTransport:
        """What every episode loads through."""
        return StoreTransport(self.store)

    async def load(self, fetcher: Fetcher, request: Request) -> Loaded:
        """The page of an address, from the kept ones where it is among them.

        Raises:
            Fault: there is none; says why.
            WebError: the file is damaged.
        """
        if request.method != "GET":
            return await super().load(fetcher, request)
        url, cap = request.url.text, fetcher.max_body_bytes  # what is cut for one episode is not another's
        key = f"{cap} {url}"
        shelf = self._shelf if cap == _SHELVED_BYTES else None
        kept = self._rendered.get(key)
        if kept is None:
            kept = shelf.get(url) if shelf is not None else None
            if kept is None:
                kept = await super().load(fetcher, replace(request, url=canonical(url)))
                if shelf is not None:
                    shelf.put(url, kept)
            self._rendered.put(key, kept)
        if request.url.fragment and not kept.fragment:  # that of a redirect goes before
            return replace(kept, fragment=request.url.fragment)
        return kept

    async def search(self, query: str, k: int) -> Document | None:
        """A page of links to the site's pages that a query finds; None where it has no search."""
        retriever = self.retriever()
        if retriever is None:
            return None
        found = None if retriever.in_memory else await site_search.awanted(retriever, query, k)
        return site_search.results(retriever, query, k, self._document, found)

    def retriever(self) -> Retriever | None:
        """What search uses; None where the site has no search.

        Raises:
            RetrievalError: the index cannot be written or used.
        """
        if self._index is False:
            return None
        with self._lock:
            if self._retriever is None:
                if self._index is True:
                    folder = f"site-{self.store.fingerprint[:16]}-{site_search.FORM}"
                    self._retriever = indexes.over(self._name, folder, self._passages)
                else:
                    self._retriever = retrieval.open(str(self._index))
            return self._retriever

    def _passages(self) -> Iterator[retrieval.Passage]:
        documents = (self._document(url) for url in self.store.urls())
        return site_search.passages(document for document in documents if document is not None)

    def _document(self, url: str) -> Document | None:
        """A page by its own address; None for what is no page."""
        fetcher = Fetcher(self, self.transport(Limits()), Limits())
        loading = self.load(fetcher, Request(canonical(url)))
        try:
            loading.send(None)
        except StopIteration as ended:
            loaded: Loaded = ended.value
            return loaded.document if loaded.document.url == url else None
        except Fault:
            return None
        raise AssertionError("a store waits for nothing")

    def close(self) -> None:
        """Close the file, and an index of its own folder."""
        if self._retriever is not None and not isinstance(self._index, bool):
            self._retriever.close()
        self._rendered = Rendered(1)
        self.store.close()
