"""Questions about recorded sites, read from the structure of their pages: `toolenvs site questions NAME`.

A question is asked only where the site holds one answer to it: no other page answers it otherwise or again, the answer
stands on the line that is named, the page can be reached by links, and the question does not tell it. What is refused
is counted by kind and reason.
"""

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path

from toolenvs import site_facts
from toolenvs.errors import ConfigError, did_you_mean
from toolenvs.site_facts import Fact, Facts
from toolenvs.web.facts import git_docs, postgresql_docs, python_docs
from toolenvs.web.facts.candidates import Candidate, Reader
from toolenvs.web.facts.pages import WORD, Sheet, SitePages
from toolenvs.web.facts.slots import Slots
from toolenvs.web.recorded import Recording

__all__ = ["MAX_CLICKS", "READERS", "build", "find"]

READERS: Mapping[str, Reader] = {
    "python3-doc": python_docs.read,
    "postgresql-doc": postgresql_docs.read,
    "git-doc": git_docs.read,
}
"""Name of a site -> what reads its pages."""
MAX_CLICKS = 6
"""Pages further from where a site begins are not asked about."""
_MIN_POOL = 3
_MAX_LINE_CHARS = 2_500
"""Of the line that holds the answer: a view shows all of it."""


def build(name: str) -> Path:
    """Write the questions about a site that was built; gives their file.

    Raises:
        ConfigError: no questions can be read from that site.
        WebError: it was not built yet.
    """
    name = name.removeprefix("sites/")
    if name not in READERS:
        raise ConfigError(f"no questions can be read from a site {name!r}; {did_you_mean(name, READERS)}")
    source = Recording(f"sites/{name}", index=False)
    try:
        facts = find(source, READERS[name], name)
    finally:
        source.close()
    path = site_facts.facts_file(name)
    site_facts.write(facts, path)
    return path


def find(source: Recording, reader: Reader, name: str, *, max_clicks: int = MAX_CLICKS) -> Facts:
    """All questions about a site that have one answer, in the order of its pages.

    Args:
        source: the site.
        reader: of its pages.
        name: of the site.
        max_clicks: pages further away are not asked about.
    """
    pages = SitePages(source, max_clicks)
    proposed = [(sheet, one) for sheet in pages.sheets for one in reader(sheet)]
    same = Counter((one.kind, one.subject.casefold()) for _, one in proposed)
    texts = Counter(one.question.casefold() for _, one in proposed)
    refused: dict[str, Counter[str]] = defaultdict(Counter)
    asked: list[tuple[Sheet, Candidate]] = []
    for sheet, one in proposed:
        several = same[one.kind, one.subject.casefold()] > 1 or texts[one.question.casefold()] > 1
        why = one.refused or _refused(sheet, one, several=several)
        if why:
            refused[one.kind][why] += 1
        else:
            asked.append((sheet, one))
    pools = _pools(asked)
    slots = Slots(source.store, pages, pools)
    facts = [_fact(sheet, one) for sheet, one in asked]
    found = slots.of([(sheet, one) for sheet, one in asked])
    return Facts(
        site=name,
        fingerprint=source.store.fingerprint,
        facts=tuple(dataclasses.replace(fact, slot=slot) for fact, slot in zip(facts, found, strict=True)),
        pools=pools,
        refused={kind: dict(sorted(reasons.items())) for kind, reasons in sorted(refused.items())},
    )


def _refused(sheet: Sheet, one: Candidate, *, several: bool) -> str:
    """Why a question has no one answer that an agent can find; "" where it has."""
    if several:
        return "the site answers it in several places"
    if sheet.path is None:
        return "its page is not reached by links"
    if one.answer not in sheet.lines[one.line] or len(sheet.lines[one.line]) > _MAX_LINE_CHARS:
        return "its answer is not found on a line"
    if not WORD.search(one.answer):
        return "an answer without a word"
    asked = {word.casefold() for word in WORD.findall(one.question)}
    if all(word.casefold() in asked for word in WORD.findall(one.answer)):
        return "the question tells the answer"
    return ""


def _pools(asked: list[tuple[Sheet, Candidate]]) -> dict[str, tuple[str, ...]]:
    """The words of each sort that copies exchange, in a fixed order."""
    found: dict[str, set[str]] = defaultdict(set)
    for _, one in asked:
        if one.values not in ("", "version", "number"):
            found[one.values].add(one.answer)
    return {name: tuple(sorted(words)) for name, words in sorted(found.items()) if len(words) >= _MIN_POOL}


def _fact(sheet: Sheet, one: Candidate) -> Fact:
    assert sheet.path is not None
    return Fact(
        kind=one.kind,
        subject=one.subject,
        question=one.question,
        answer=one.answer,
        aliases=one.aliases,
        url=sheet.url,
        lines=(one.line, *one.cites),
        path=sheet.path,
    )
