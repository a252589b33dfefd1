"""The chemical elements beside the Factbook: a passage each, and questions that go from an element to a country.

The texts are those of the package `mendeleev` (MIT). Only its file is read, so that nothing else that it needs has to
be there: `pip install --no-deps mendeleev==1.3.0`.
"""

import contextlib
import functools
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import util
from pathlib import Path

from toolenvs.errors import MissingExtraError, TaskError
from toolenvs.factbook.countries import Country
from toolenvs.factbook.facts import subjects
from toolenvs.factbook.passages import Passage
from toolenvs.factbook.questions import Path as Described
from toolenvs.factbook.questions import Question, asked

MAX_HOPS = 2
_COLUMNS = "name, symbol, atomic_number, description, discoverers, discovery_year, discovery_location, name_origin, "
_COLUMNS += "sources, uses"


@dataclass(frozen=True, slots=True)
class Element:
    """A chemical element."""

    name: str
    symbol: str
    number: int
    description: str | None
    discoverers: str | None
    year: int | None
    """Of its discovery."""
    place: str | None
    """Of its discovery; most often a country."""
    origin: str | None
    """Of its name."""
    sources: str | None
    uses: str | None

    @property
    def passage(self) -> Passage:
        """All that is told of it."""
        found = [f"by {self.discoverers}" if self.discoverers else "", f"in {self.year}" if self.year else ""]
        found.append(f"in {self.place}" if self.place else "")
        discovery = ", ".join(filter(None, found))
        told = [
            f"{self.name} (symbol {self.symbol}) is the chemical element with the atomic number {self.number}.",
            self.description,
            f"{self.name} was discovered {discovery}." if discovery else None,
            f"Origin of its name: {self.origin}" if self.origin else None,
            self.sources,
            self.uses,
        ]
        text = " ".join(" ".join(filter(None, told)).split())
        return Passage(f"element-{self.number}", f"{self.name} (element)", text)

    @property
    def dated(self) -> str | None:
        """The year of its discovery, where no other one stands in what is told of it."""
        years = set(re.findall(r"\b1[4-9]\d\d\b|\b20\d\d\b", self.passage.text))
        return str(self.year) if years == {str(self.year)} else None


@functools.cache
def elements() -> tuple[Element, ...]:
    """All of them, by their atomic numbers.

    Raises:
        MissingExtraError: the package that holds them is not installed.
    """
    found = util.find_spec("mendeleev")
    if found is None or not found.submodule_search_locations:
        raise MissingExtraError("mendeleev", "elements", "the chemical elements")
    file = Path(found.submodule_search_locations[0], "elements.db")
    with contextlib.closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as data:
        rows = data.execute(f"SELECT {_COLUMNS} FROM elements ORDER BY atomic_number").fetchall()
    return tuple(Element(*row) for row in rows)


def passages() -> Iterator[Passage]:
    """One passage an element.

    Raises:
        MissingExtraError: the package that holds them is not installed.
    """
    return (element.passage for element in elements())


@functools.cache
def questions(hops: int) -> tuple[Question, ...]:
    """All questions that begin at an element and take `hops` facts, in a fixed order.

    Raises:
        TaskError: `hops` is not 1 or 2.
        MissingExtraError: a package that holds the texts is not installed.
    """
    if isinstance(hops, bool) or not isinstance(hops, int) or not 1 <= hops <= MAX_HOPS:
        raise TaskError(f"a question about the elements takes 1 to {MAX_HOPS} hops, not {hops!r}")
    return tuple(_of_elements() if hops == 1 else _of_countries())


def _of_elements() -> Iterator[Question]:
    for element in elements():
        facts = {
            "symbol": (f"What is the chemical symbol of the element {element.name}?", element.symbol),
            "year": (f"In which year was the element {element.name} discovered?", element.dated),
        }
        for name, (text, gold) in facts.items():
            if gold:
                yield Question(
                    text=text,
                    golds=(gold,),
                    hops=1,
                    evidence=(element.passage.id,),
                    facts=(name,),
                    queries=(f"{element.name} element discovered",),
                )


def _of_countries() -> Iterator[Question]:
    by_name: dict[str, Country] = {country.name: country for country in subjects()}
    for element in elements():
        country = by_name.get(element.place or "")
        if country is not None:
            phrase = f"the country where the element {element.name} was discovered"
            query = f"{element.name} element discovered"
            start = Described("", country).further(phrase, country, element.passage.id, "discovered_in", query)
            yield from asked(start)
