"""Questions over one to three facts, each answered by exactly one value, which stands in a passage that is named."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from toolenvs.errors import TaskError
from toolenvs.factbook.countries import Country
from toolenvs.factbook.facts import BORDER, CLUES, FACTS, Golds, named, only_neighbours, subjects
from toolenvs.factbook.passages import holding

MAX_HOPS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question with its answers and the passages that it takes."""

    text: str
    golds: Golds
    """Accepted answers, the first as the passage writes it."""
    hops: int
    """How many facts it takes, each of another passage."""
    evidence: tuple[str, ...]
    """Ids of the passages that state them, in order."""
    facts: tuple[str, ...]
    """Names of the facts, in order."""
    queries: tuple[str, ...]
    """Searches that lead to the answer, one a hop."""


@dataclass(frozen=True, slots=True)
class Path:
    """How a country is described, and what that takes."""

    phrase: str
    country: Country
    evidence: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()

    def further(self, phrase: str, country: Country, passage: str, fact: str, query: str) -> "Path":
        """One fact more, which leads to `country`."""
        return Path(phrase, country, (*self.evidence, passage), (*self.facts, fact), (*self.queries, query))


@functools.cache
def questions(hops: int) -> tuple[Question, ...]:
    """All questions that take `hops` facts, in a fixed order.

    Raises:
        TaskError: `hops` is not 1 to `MAX_HOPS`.
        MissingExtraError: the package that holds the Factbook is not installed.
    """
    if isinstance(hops, bool) or not isinstance(hops, int) or not 1 <= hops <= MAX_HOPS:
        raise TaskError(f"a question about the Factbook takes 1 to {MAX_HOPS} hops, not {hops!r}")
    return tuple(question for path in _paths(hops - 1) for question in asked(path))


def _paths(steps: int) -> Iterator[Path]:
    """Descriptions of countries that take `steps` facts."""
    if steps == 0:
        yield from (Path(country.name, country) for country in subjects())
    elif steps == 1:
        yield from _described()
        yield from _beside(Path(country.name, country) for country in subjects())
    else:
        yield from _beside(_described())


def _described() -> Iterator[Path]:
    for name, clue in CLUES.items():
        for value, country in named(name).items():
            if _tells(value, country.name):  # else the description gives the name away
                continue
            phrase, query = clue.phrase.replace("{v}", value), clue.search.replace("{v}", value)
            yield Path("", country).further(phrase, country, holding(country, clue.field), name, query)


def _beside(paths: Iterator[Path]) -> Iterator[Path]:
    """The only neighbours of countries, of those that have one only."""
    for path in paths:
        neighbour = only_neighbours().get(path.country)
        if neighbour is None or (passage := holding(path.country, BORDER.field)) in path.evidence:
            continue
        query = BORDER.search.replace("{v}", path.country.name)
        yield path.further(BORDER.phrase.replace("{v}", path.phrase), neighbour, passage, "neighbour", query)


def asked(path: Path) -> Iterator[Question]:
    """What can be asked about the country that `path` describes."""
    for name, fact in FACTS.items():
        golds = fact.read(path.country.fields.get(fact.field, ""))
        if not golds:
            continue
        passage = holding(path.country, fact.field)
        text = fact.asked.replace("{x}", path.phrase)
        if passage in path.evidence or any(_tells(text, gold) for gold in golds):
            continue
        yield Question(
            text=text,
            golds=golds,
            hops=len(path.evidence) + 1,
            evidence=(*path.evidence, passage),
            facts=(*path.facts, name),
            queries=(*path.queries, f"{path.country.name} {fact.search}"),
        )


def _tells(text: str, name: str) -> bool:
    """Whether `text` holds `name` as words of its own."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None
