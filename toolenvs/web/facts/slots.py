"""Where the source of a page writes an answer, so that a copy can say something else there and nowhere else.

A fact is changed only where all that the site says of it is known: no other line that names its subject, or stands in
its entry, holds the value. What was found is tried: the changed page must differ in the lines of its facts alone.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from toolenvs.site_facts import Slot, changed
from toolenvs.site_facts.editing import spliced
from toolenvs.web.document import unmarked
from toolenvs.web.facts.candidates import Candidate
from toolenvs.web.facts.pages import Sheet, SitePages, words
from toolenvs.web.render import render
from toolenvs.web.sites import Store

_BEFORE, _AFTER = 60, 25
"""Characters of the line around the answer that the source is searched for."""
_TOKEN = re.compile(r"\w+|[^\w\s]")
_GAP = r"(?:<[^<>]*>|\s)*"
_TOLD_BY_PLACE = re.compile(r"/whatsnew/")
"""Pages on which all is about one version, whether or not a line says so."""

Proposed = tuple[Sheet, Candidate]


class Slots:
    """Finds the slots of a site's facts.

    Args:
        store: the site.
        pages: its pages.
        pools: of words, as `toolenvs.site_facts.Facts.pools`.
    """

    def __init__(self, store: Store, pages: SitePages, pools: Mapping[str, Sequence[str]]) -> None:
        self._store, self._pages, self._pools = store, pages, pools

    def of(self, asked: Sequence[Proposed]) -> list[Slot | None]:
        """For each fact its slot; None where a copy leaves it as it is."""
        found: list[Slot | None] = [self._slot(sheet, one) for sheet, one in asked]
        by_page: dict[str, list[int]] = defaultdict(list)
        taken = Counter((asked[place][0].url, slot.start) for place, slot in enumerate(found) if slot is not None)
        for place, slot in enumerate(found):
            if slot is not None and taken[asked[place][0].url, slot.start] > 1:  # one of them was found wrongly
                found[place] = None
            elif slot is not None:
                by_page[asked[place][0].url].append(place)
        for places in by_page.values():
            for place in self._wrong(asked, found, places):
                found[place] = None
        return found

    def _slot(self, sheet: Sheet, one: Candidate) -> Slot | None:
        if one.at is None or not one.values or (one.values not in ("version", "number", *self._pools)):
            return None
        if self._told_elsewhere(sheet, one):
            return None
        line = sheet.lines[one.line]
        before, after = line[max(0, one.at - _BEFORE) : one.at], line[one.at + len(one.answer) :][:_AFTER]
        before, after = before.replace("| ", " "), after.replace(" |", " ")  # the bars of a row are not in the source
        body = self._body(sheet)
        start = max(body.find(f'id="{one.anchor}"'), 0) if one.anchor else 0
        pattern = _GAP.join((*_spelled(before), f"({re.escape(escape(one.answer))})", *_spelled(after)))
        matches = list(re.finditer(pattern, body[start:]))
        if not matches or (len(matches) > 1 and not one.anchor):
            return None
        first, last = (len(body[: start + place].encode()) for place in matches[0].span(1))
        return Slot(start=first, end=last, values=one.values)

    def _told_elsewhere(self, sheet: Sheet, one: Candidate) -> bool:
        """Whether another line of the site may tell the fact, or the line tells it twice."""
        value = words(one.answer)[:1]
        if words(sheet.lines[one.line]).count(value[0]) != 1:
            return True
        if any(value[0] in words(sheet.lines[line]) for line in one.body if line != one.line):
            return True
        if any(other is not sheet or line != one.line for other, line in self._pages.holding(*one.names, *value)):
            return True
        by_place = (other for other, _ in self._pages.holding(*one.names) if _TOLD_BY_PLACE.search(other.url))
        return one.values == "version" and any(by_place)

    def _wrong(self, asked: Sequence[Proposed], found: list[Slot | None], places: list[int]) -> list[int]:
        """Those whose change does something else to their page than to change their line; all together, then alone."""
        if self._as_wanted(asked, found, places):
            return []
        wrong = [place for place in places if not self._as_wanted(asked, found, [place])]
        left = [place for place in places if place not in wrong]
        return wrong if not left or self._as_wanted(asked, found, left) else places

    def _as_wanted(self, asked: Sequence[Proposed], found: list[Slot | None], places: Iterable[int]) -> bool:
        edits: list[tuple[Slot, str]] = []
        wanted: dict[int, list[tuple[int, str, str]]] = defaultdict(list)
        sheet = None
        for place in places:
            sheet, one = asked[place]
            slot = found[place]
            assert slot is not None
            value = changed(one.answer, slot.values, self._pools, key=(0, one.kind, one.subject))
            edits.append((slot, value))
            wanted[one.line].append((one.at or 0, one.answer, value))
        assert sheet is not None
        lines = list(sheet.lines)
        for number, changes in wanted.items():
            for at, old, new in sorted(changes, reverse=True):
                lines[number] = lines[number][:at] + new + lines[number][at + len(old) :]
        recorded = self._store.get(sheet.url)
        assert recorded is not None
        body = spliced(recorded.body, edits)
        document = render(body, url=sheet.url, content_type=recorded.header("content-type"))
        links = [(link.number, link.url) for link in document.links]
        same = links == [(link.number, link.url) for link in sheet.document.links]
        return same and [unmarked(line) for line in document.lines] == lines

    def _body(self, sheet: Sheet) -> str:
        recorded = self._store.get(sheet.url)
        assert recorded is not None
        return recorded.body.decode("utf-8", "replace")


def _spelled(text: str) -> list[str]:
    return [re.escape(escape(token)) for token in _TOKEN.findall(text)]
