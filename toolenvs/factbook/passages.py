"""Passages: the fields of one section of a country, about a hundred words together; a longer field by its sentences."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from toolenvs.factbook.countries import Country, countries

WORDS = 100
"""Of a passage, about: a field is divided only where it is longer by itself."""
_SENTENCE = re.compile(r"(?<=[.;!?])\s+")


@dataclass(frozen=True, slots=True)
class Passage:
    """One passage of the corpus."""

    id: str
    title: str
    text: str


def passages() -> Iterator[Passage]:
    """All passages, in the order of the codes of countries.

    Raises:
        MissingExtraError: the package that holds the Factbook is not installed.
    """
    for country in countries():
        yield from _of(country)[0]


def holding(country: Country, field: tuple[str, ...]) -> str:
    """Id of the passage in which a field of a country begins."""
    return _of(country)[1][field]


@functools.lru_cache(512)
def _of(country: Country) -> tuple[list[Passage], dict[tuple[str, ...], str]]:
    """The passages of a country, and in which of them each field begins."""
    made: list[Passage] = []
    where: dict[tuple[str, ...], str] = {}
    section, lines, length = "", list[str](), 0

    def close() -> None:
        nonlocal lines, length
        if lines:
            made.append(Passage(f"{country.code}-{len(made)}", f"{country.name}: {section}", " ".join(lines)))
        lines, length = [], 0

    for field, text in country.fields.items():
        for number, part in enumerate(_parts(text)):
            words = len(part.split())
            if field[0] != section or length + words > WORDS:
                close()
                section = field[0]
            if number == 0:
                where[field] = f"{country.code}-{len(made)}"
                part = f"{_name(field)} of {country.name}: {part}"  # as an article says what it is about
            lines.append(part if part[-1] in ".!?" else part.rstrip(";,:") + ".")
            length += words
    close()
    return made, where


def _name(field: tuple[str, ...]) -> str:
    """What a field is called: subfields often say again what they belong to."""
    *_, above, last = field
    return last if len(field) == 2 or above.lower() in last.lower() else f"{above}, {last}"


def _parts(text: str) -> Iterator[str]:
    """A text, divided between sentences into parts of at most `WORDS` words where that is possible."""
    taken: list[str] = []
    length = 0
    for sentence in _SENTENCE.split(text):
        words = len(sentence.split())
        if taken and length + words > WORDS:
            yield " ".join(taken)
            taken, length = [], 0
        taken.append(sentence)
        length += words
    yield " ".join(taken)
