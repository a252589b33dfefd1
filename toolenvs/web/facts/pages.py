"""All pages of a recorded site as an agent reads them, how far each is away, and which lines hold a word."""

import re
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from toolenvs.errors import ConfigError
from toolenvs.web.document import Document, unmarked
from toolenvs.web.faults import Fault
from toolenvs.web.fetch import Fetcher, Request
from toolenvs.web.limits import Limits
from toolenvs.web.recorded import Recording
from toolenvs.web.urls import canonical

WORD = re.compile(r"\w+(?:[.-]\w+)*")
"""What counts as one word: a number with its point, a name with its parts."""
_FENCE = "```"


@dataclass(frozen=True)
class Sheet:
    """A page: its lines without the marks of links, and its parts."""

    document: Document
    path: tuple[int, ...] | None
    """Links to click from where the site begins; None where no way was found within the bound."""

    @property
    def url(self) -> str:
        """Its address."""
        return self.document.url

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """Without the marks of links."""
        return tuple(map(unmarked, self.document.lines))

    @cached_property
    def headings(self) -> tuple[int, ...]:
        """Lines that are headings; what looks like one in preformatted text is none."""
        found, fenced = [], False
        for number, line in enumerate(self.document.lines):
            if line.strip() == _FENCE:
                fenced = not fenced
            elif not fenced and re.match(r"#{1,6} \S", line):
                found.append(number)
        return tuple(found)

    def heading(self, line: int) -> int | None:
        """The heading that a line stands under."""
        return max((number for number in self.headings if number < line), default=None)

    def indent(self, line: int) -> int:
        """Spaces that a line begins with."""
        text = self.document.lines[line]
        return len(text) - len(text.lstrip(" "))

    def body(self, line: int) -> range:
        """The lines below an entry that belong to it: those that are indented further."""
        last, own = line + 1, self.indent(line)
        while last < len(self.document.lines) and self.indent(last) > own:
            last += 1
        return range(line + 1, last)


class SitePages:
    """Every page of a recorded site.

    Args:
        source: the site.
        max_clicks: pages further away are not looked for.

    Raises:
        ConfigError: nothing says where the site begins.
    """

    def __init__(self, source: Recording, max_clicks: int) -> None:
        if not source.home:
            raise ConfigError("the site does not say where a reader begins: record it with --home")
        self._source = source
        paths = self._walk(max_clicks)
        documents = (self._document(url) for url in source.store.urls())
        self._all = tuple(Sheet(document, paths.get(document.url)) for document in documents if document is not None)
        self.sheets = tuple(sheet for sheet in self._all if sheet.document.content_type == "text/html")
        """What questions are read from; programs and data are only searched."""

    def _walk(self, max_clicks: int) -> dict[str, tuple[int, ...]]:
        """Shortest ways by links, breadth first; of equal ways the one with the first links."""
        first = self._document(self._source.home, redirected=True)
        if first is None:
            raise ConfigError(f"the site does not open at its beginning, {self._source.home}")
        found: dict[str, tuple[int, ...]] = {first.url: ()}
        waiting = deque([first])
        while waiting:
            document = waiting.popleft()
            path = found[document.url]
            if len(path) >= max_clicks:
                continue
            for link in document.links:
                reached = self._document(link.url.partition("#")[0], redirected=True)
                if reached is not None and reached.url not in found:
                    found[reached.url] = (*path, link.number)
                    waiting.append(reached)
        return found

    def _document(self, url: str, *, redirected: bool = False) -> Document | None:
        """The page of an address, where it has one."""
        try:
            address = canonical(url)
            if not redirected and address.text != url:
                return None
            fetcher = Fetcher(self._source, self._source.transport(Limits()), Limits())
            loading = self._source.load(fetcher, Request(address))
            loading.send(None)
        except StopIteration as ended:
            document: Document = ended.value.document
            return document if redirected or document.url == url else None
        except Fault:
            return None
        raise AssertionError("a store waits for nothing")

    @cached_property
    def _index(self) -> dict[str, set[tuple[int, int]]]:
        index: dict[str, set[tuple[int, int]]] = defaultdict(set)
        for place, sheet in enumerate(self._all):
            for number, line in enumerate(sheet.lines):
                for word in set(words(line)):
                    index[word].add((place, number))
        return index

    def holding(self, *held: str) -> Iterator[tuple[Sheet, int]]:
        """The lines of the site that hold all of these words, in the order of the pages."""
        places = [self._index.get(word, set()) for word in held]
        for place, number in sorted(set.intersection(*places) if places else ()):
            yield self._all[place], number


def words(text: str) -> Sequence[str]:
    """The words of a text, each also by its parts and beginnings ("3.8.0" as "3.8"); lower and upper case are one."""
    found = []
    for word in WORD.findall(text.casefold()):
        found.append(word)
        pieces = re.split(r"([.-])", word)
        if len(pieces) > 1:
            found += pieces[::2]
            found += ("".join(pieces[:end]) for end in range(3, len(pieces), 2))
    return found
