"""Search for pages, as a search engine has it: their addresses, and what they say to the query or an excerpt of it.

Tools that read pages (`page_access`, `page_crawl`, `page_notes`) go by what it has found.
"""

import json
import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from toolenvs.errors import ConfigError
from toolenvs.retrieval import Retriever, shared
from toolenvs.schema import at_least
from toolenvs.tasks.task import Task
from toolenvs.tools._pages import Site, SiteOptions, texts
from toolenvs.tools.base import ToolResult
from toolenvs.web.faults import Fault
from toolenvs.web.recorded import Recording
from toolenvs.web.urls import canonical

_SECTIONS = 4
"""Sections of pages that are looked at for each page that is listed."""
_WORD = re.compile(r"\w+")
_PLACE = re.compile(r"\{(rank|title|url|text)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(SiteOptions):
    """The keys of `[tools.page_search]`."""

    index: str = ""
    """What is searched: "" for the site's own pages; an index folder, or the address of a search server, whose ids are
    addresses of pages, which the live web needs."""
    backend: str = ""
    """Of `index`, a name of `toolenvs.retrieval.BACKENDS`; "" for its default."""
    topk: int = 10
    """Pages that one query gives."""
    many: bool = False
    """Whether a call holds a list of queries."""
    max_queries: int = 3
    """Queries of a list that are searched, the first ones."""
    query_chars: int = 2_000
    """Characters of a query that are read."""
    text: Literal["passage", "excerpt"] = "excerpt"
    """What is shown of a page: the passage that was found, or the words of it around those of the query."""
    text_chars: int = 240
    """About how many characters of it, at most."""
    form: Literal["documents", "json"] = "documents"
    """How results are written: each as `document` says, or as JSON with title, url and quick_summary."""
    document: str = "[{rank}] {title} ({url})\n{text}\n\n"
    """How a result is written: `{rank}` from 1, `{title}`, `{url}`, `{text}`."""
    nothing: str = "Nothing was found."
    """What a call without results gives, where they are not written as JSON."""
    description: str = "Searches the web, and returns pages with their addresses and what they say."
    """Shown to models that choose functions by their schema."""

    def __post_init__(self) -> None:
        SiteOptions.__post_init__(self)
        at_least(1, topk=self.topk, max_queries=self.max_queries, query_chars=self.query_chars)
        at_least(1, text_chars=self.text_chars)
        if self.site == "live" and not self.index:
            raise ConfigError(
                "the live web has no search of its own: set index to a search server "
                "whose passages have addresses as ids"
            )


@dataclass(frozen=True, slots=True)
class _Result:
    url: str
    title: str
    text: str


class Tool(Site):
    """A search over pages that the process shares."""

    name: ClassVar[str] = "search"

    def __init__(self, options: Options) -> None:
        self.options = options
        self.description = options.description
        query: dict[str, Any] = {"type": "string", "description": "What to search for."}
        if options.many:
            query = {"type": "array", "items": query, "description": "What to search for, each by itself."}
        self.parameters: Mapping[str, Any] = {
            "type": "object",
            "properties": {"query": query},
            "required": ["query"],
        }

    def retriever(self) -> Retriever:
        """What is searched.

        Raises:
            ConfigError: the site has no search of its own.
            RetrievalError: the index cannot be used.
        """
        if self.options.index:
            return shared.retriever(self.options.index, self.options.backend or None)
        source = self.source()
        own = source.retriever() if isinstance(source, Recording) else None
        if own is None:
            raise ConfigError(f"tools.page_search: site {self.options.site!r} has no search of its own: set index")
        return own

    async def check(self) -> None:
        """Search once.

        Raises:
            InfrastructureError: the retriever does not work here.
        """
        await self.retriever().asearch(["toolenvs"], k=1)

    async def open(self, task: Task, *, seed: int, progress: float) -> "Session":
        """A session, which has found nothing yet."""
        return Session(self)


class Session:
    """The searches of one episode."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        self.queries: tuple[str, ...] = ()
        """Of the latest call."""
        self.latest: tuple[str, ...] = ()
        """Addresses that the latest call found, the best first."""
        self.texts: dict[str, str] = {}
        """What was shown of each page that was found so far, by its address."""

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Search for the query, or the queries, of a call.

        Raises:
            ToolError: there is none, or it is no text.
            ConfigError: the index does not hold addresses.
            RetrievalError: the retriever failed.
        """
        options = self._tool.options
        started_s = time.perf_counter()
        given = texts(arguments, "query", "queries")[: options.max_queries if options.many else 1]
        queries = [query[: options.query_chars] for query in given]
        lists = await self._tool.retriever().asearch(queries, k=options.topk * _SECTIONS)
        found = [self._results(query, hits) for query, hits in zip(queries, lists, strict=True)]
        self.queries, self.latest = tuple(queries), tuple(result.url for results in found for result in results)
        self.texts = self.texts | {result.url: result.text for results in found for result in results}
        data = {"queries": queries, "urls": [[result.url for result in results] for results in found]}
        text = _json(queries, found) if options.form == "json" else self._documents(found)
        return ToolResult(text=text, data=data, seconds=time.perf_counter() - started_s)

    def _results(self, query: str, hits: Sequence[Any]) -> list[_Result]:
        """The best passage of each page."""
        options, results = self._tool.options, dict[str, _Result]()
        for hit in hits:
            try:
                url = canonical(hit.id.rpartition(" ")[2]).text  # a site's own search puts a line number before it
            except Fault:
                continue
            if url not in results and len(results) < options.topk:
                text = " ".join(hit.text.split())
                shown = excerpt(text, query, options.text_chars) if options.text == "excerpt" else text
                results[url] = _Result(url, hit.title, shown[: options.text_chars])
        if hits and not results:
            raise ConfigError(
                f"tools.page_search: index = {options.index!r} finds {hits[0].id!r:.80}, which is no address of a "
                "page: give an index whose ids are addresses"
            )
        return list(results.values())

    def _documents(self, found: Sequence[Sequence[_Result]]) -> str:
        shown = ""
        for results in found:
            for rank, result in enumerate(results, start=1):
                values = {"rank": str(rank), "title": result.title, "url": result.url, "text": result.text}
                shown += _PLACE.sub(lambda place, values=values: values[place[1]], self._tool.options.document)  # type: ignore[misc]
        return shown.strip() or self._tool.options.nothing

    async def fork(self) -> "Session":
        """A copy that has found the same."""
        copy = Session(self._tool)
        copy.queries, copy.latest, copy.texts = self.queries, self.latest, self.texts
        return copy

    async def close(self) -> None:
        """Nothing."""


def _json(queries: Sequence[str], found: Sequence[Sequence[_Result]]) -> str:
    lists = [
        {
            "query": query,
            "pages": [{"title": one.title, "url": one.url, "quick_summary": one.text} for one in results],
        }
        for query, results in zip(queries, found, strict=True)
    ]
    return json.dumps(lists, ensure_ascii=False)


def excerpt(text: str, query: str, chars: int) -> str:
    """The stretch of whole words of `text`, at most `chars` long, that holds the most different words of the query.

    The first of equals; its beginning where none of them is in it. Where every word is longer by itself, the first one
    is cut.
    """
    asked = set(_WORD.findall(query.casefold()))
    words = text.split(" ")
    holds = [asked.intersection(_WORD.findall(word.casefold())) for word in words]
    counts: Counter[str] = Counter()
    best, chosen, first, size, held = -1, (0, 1), 0, -1, 0
    for last, word in enumerate(words):
        size += len(word) + 1
        for said in holds[last]:
            held += not counts[said]
            counts[said] += 1
        while size > chars and first < last:
            size -= len(words[first]) + 1
            for said in holds[first]:
                counts[said] -= 1
                held -= not counts[said]
            first += 1
        if held > best and size <= chars:
            best, chosen = held, (first, last + 1)
    start, end = chosen
    size = len(" ".join(words[start:end]))
    while end < len(words) and size + 1 + len(words[end]) <= chars:  # what stands behind is worth more than before
        size += 1 + len(words[end])
        end += 1
    return " ".join(words[start:end])[:chars]
