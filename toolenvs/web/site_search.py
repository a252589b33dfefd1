"""Search over the pages of a recorded site: sections are indexed, pages are listed, links lead to the section."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from toolenvs.retrieval import Passage, Retriever
from toolenvs.web.document import Document, Link, unmarked
from toolenvs.web.faults import Fault
from toolenvs.web.urls import canonical

SECTION_CHARS = 1_500
"""About how much of a page is one passage."""
FORM = 1
"""To be raised when passages change, so that no index of before is used."""
_PER_PAGE = 4
_MAX_QUERY_CHARS = 2_000
_MAX_SNIPPET_CHARS = 240
_WORD = re.compile(r"\w+")
_LONG = re.compile(r"(\S{200})\S+")
"""No word, but data in the text: what splits texts into words takes time that grows with the square of one."""


def passages(documents: Iterable[Document]) -> Iterator[Passage]:
    """The sections of pages; the id of one is its first line and the address that opens there."""
    for document in documents:
        anchors = sorted((line, name) for name, line in document.anchors.items())
        for first, lines in _sections(document):
            before = [name for line, name in anchors if line <= first]
            address = document.url + (f"#{before[-1]}" if before and first else "")
            text = _LONG.sub(r"\1", " ".join(unmarked(line) for line in lines))
            yield Passage(f"{first} {address}", document.title, text)


def _sections(document: Document) -> Iterator[tuple[int, list[str]]]:
    first, kept, size = 0, list[str](), 0
    for number, line in enumerate(document.lines):
        if kept and (size >= SECTION_CHARS or (line.startswith("#") and size >= SECTION_CHARS // 4)):
            yield first, kept
            first, kept, size = number, [], 0
        kept.append(line)
        size += len(line)
    if kept:
        yield first, kept


def results(
    retriever: Retriever, query: str, k: int, page: Callable[[str], Document | None], found: list[Any] | None = None
) -> Document:
    """A page of links to the pages that a query finds, each with the line that holds most of its words.

    Args:
        retriever: over passages of `passages`, or any whose ids are addresses.
        query: words.
        k: pages that are listed.
        page: the page of an address; None where there is none.
        found: what the retriever found, where it was asked already.
    """
    hits = wanted(retriever, query, k) if found is None else found
    words = set(_WORD.findall(query.casefold()))
    lines = [f"# Search: {query[:200]}"]
    links: list[Link] = []
    seen: set[str] = set()
    for hit in hits:
        first, _, address = hit.id.rpartition(" ")
        try:
            url = canonical(address)
        except Fault:
            continue
        if url.text in seen or len(links) >= k:
            continue
        seen.add(url.text)
        title = _plain(hit.title) or url.text
        links.append(Link(len(links), len(lines), title, address))
        lines.append(f"[{len(links) - 1}†{title}] {url.text}")
        document = page(url.text)
        start = int(first) if first.isdigit() else 0
        snippet = _snippet(document, start, words) if document is not None else _plain(hit.text)[:_MAX_SNIPPET_CHARS]
        if snippet:
            lines.append(snippet)
    if not links:
        lines.append("Nothing was found: try other words.")
    return Document(url="", title=f"Search: {query[:80]}", lines=tuple(lines), links=tuple(links))


def wanted(retriever: Retriever, query: str, k: int) -> list[Any]:
    """The sections that a query finds: enough for `k` pages."""
    return retriever.search([query[:_MAX_QUERY_CHARS]], k * _PER_PAGE)[0]


async def awanted(retriever: Retriever, query: str, k: int) -> list[Any]:
    """As `wanted`."""
    return (await retriever.asearch([query[:_MAX_QUERY_CHARS]], k * _PER_PAGE))[0]


def _snippet(document: Document, start: int, words: set[str]) -> str:
    size, best, chosen = 0, 0, start
    for number in range(start, len(document.lines)):
        line = document.lines[number]
        count = len(words.intersection(_WORD.findall(line.casefold()))) if size < SECTION_CHARS else 0
        if count > best:
            best, chosen = count, number
        size += len(line)
        if size >= SECTION_CHARS * 2:
            break
    if chosen >= len(document.lines):
        return ""
    text = _plain(unmarked(document.lines[chosen]))
    cut = text[:_MAX_SNIPPET_CHARS] + ("..." if len(text) > _MAX_SNIPPET_CHARS else "")
    return f"L{chosen}: {cut}" if cut else ""


def _plain(text: str) -> str:
    """On one line, and without what could be taken for a link of this page."""
    return " ".join(text.replace("†", "+").replace("‡", "+").split())
