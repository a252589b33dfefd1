"""Facts that a field states outright: what can be asked about a country, and what names one."""

import functools
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from toolenvs.factbook.countries import Country, countries

Field = tuple[str, ...]

_CAPITAL: Field = ("Government", "Capital", "name")
_CURRENCY: Field = ("Economy", "Exchange rates", "Currency")
_HIGHEST: Field = ("Geography", "Elevation", "highest point")
_ANTHEM: Field = ("Government", "National anthem(s)", "title")
_DOMAIN: Field = ("Communications", "Internet country code")
_AIRCRAFT: Field = ("Transportation", "Civil aircraft registration country code prefix")
_INDEPENDENCE: Field = ("Government", "Independence")
_COASTLINE: Field = ("Geography", "Coastline")
_AREA: Field = ("Geography", "Area", "total")
_BORDERS: Field = ("Geography", "Land boundaries", "border countries")

Golds = tuple[str, ...]
"""Accepted answers, the first as the field writes it; () where the field does not state one plainly."""


def _named(pattern: str) -> Callable[[str], Golds]:
    """What the groups of `pattern` hold, where it matches the whole field."""
    compiled = re.compile(pattern)

    def read(text: str) -> Golds:
        found = compiled.fullmatch(text)
        return tuple(dict.fromkeys(group for group in found.groups() if group)) if found else ()

    return read


def _measure(unit: str, spelled: str) -> Callable[[str], Golds]:
    compiled = re.compile(rf"(\d[\d,]*(?:\.\d+)?) {unit}")

    def read(text: str) -> Golds:
        found = compiled.fullmatch(text)
        if not found or found[1] == "0":
            return ()
        plain = found[1].replace(",", "")
        forms = (f"{number}{end}" for end in (f" {unit}", f" {spelled}", "") for number in (found[1], plain))
        return tuple(dict.fromkeys((text, *forms)))

    return read


def _elevation(text: str) -> Golds:
    height = _named(r"[^\d(;,]+ (\d[\d,]* m)")(text)
    return _measure("m", "metres")(height[0]) if height else ()


def _year(text: str) -> Golds:
    years = re.findall(r"\b\d{3,4}\b", text)
    return (years[0],) if len(years) == 1 and re.match(r"\d", text) and "B.C." not in text else ()


def _peak(text: str) -> Golds:
    found = _named(r"([^\d(;,]+) \d[\d,]* m")(text)
    return () if not found or "unnamed" in found[0].lower() or "location" in found[0].lower() else found


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is asked about a country."""

    field: Field
    read: Callable[[str], Golds]
    asked: str
    """The question, with {x} for the country."""
    search: str
    """What is searched for beside the country's name."""


@dataclass(frozen=True, slots=True)
class Clue:
    """Something that names a country, where no other has it."""

    field: Field
    read: Callable[[str], Golds]
    phrase: str
    """The country, described; {v} is the value."""
    search: str
    """What is searched for; {v} is the value."""


_ANTHEM_TITLE = _named(r'"([^"()]+)"(?: \(([^()"]+)\))?')
_CURRENCY_NAME = _named(r"([A-Za-z ]+?) \(([A-Z]{3})\) per US dollar -")
_PLAIN_NAME = _named(r"([^()\d;,]+)")
_CODE = _named(r"(\.[a-z]{2})")
_PREFIX = _named(r"([A-Z0-9]{2})")  # one letter is too easily guessed

FACTS: dict[str, Fact] = {
    "capital": Fact(_CAPITAL, _PLAIN_NAME, "What is the capital of {x}?", "government capital name"),
    "currency": Fact(
        _CURRENCY,
        _CURRENCY_NAME,
        "In which currency are exchange rates of {x} given?",
        "economy exchange rates currency per US dollar",
    ),
    "highest_point": Fact(_HIGHEST, _peak, "What is the highest point of {x}?", "geography elevation highest point"),
    "elevation": Fact(
        _HIGHEST, _elevation, "How high is the highest point of {x}?", "geography elevation highest point"
    ),
    "anthem": Fact(
        _ANTHEM, _ANTHEM_TITLE, "What is the title of the national anthem of {x}?", "government national anthem title"
    ),
    "domain": Fact(_DOMAIN, _CODE, "What is the internet country code of {x}?", "communications internet country code"),
    "aircraft": Fact(
        _AIRCRAFT,
        _PREFIX,
        "With which prefix are civil aircraft of {x} registered?",
        "transportation civil aircraft registration country code prefix",
    ),
    "independence": Fact(
        _INDEPENDENCE, _year, "In which year did {x} become independent?", "government independence national holiday"
    ),
    "coastline": Fact(
        _COASTLINE, _measure("km", "kilometres"), "How long is the coastline of {x}?", "geography coastline"
    ),
    "area": Fact(
        _AREA, _measure("sq km", "square kilometres"), "What is the total area of {x}?", "geography area total"
    ),
}
"""By name, in a fixed order."""
CLUES: dict[str, Clue] = {
    "capital": Clue(
        _CAPITAL,
        _PLAIN_NAME,
        "the country or territory whose capital is {v}",
        "government capital name {v} geographic coordinates",
    ),
    "highest_point": Clue(
        _HIGHEST, _peak, "the country or territory whose highest point is {v}", "geography elevation highest point {v}"
    ),
    "anthem": Clue(
        _ANTHEM,
        _ANTHEM_TITLE,
        'the country or territory whose national anthem is "{v}"',
        "government national anthem title {v}",
    ),
    "aircraft": Clue(
        _AIRCRAFT,
        _PREFIX,
        "the country or territory whose civil aircraft carry the prefix {v}",
        "transportation civil aircraft registration country code prefix {v}",
    ),
}
"""By name, in a fixed order."""
BORDER = Clue(
    _BORDERS,
    _named(r"([^\d;,()]+) \d[\d,.]* km"),
    "the only country or territory that borders {v}",
    "{v} geography land boundaries total border countries",
)
"""Names a country by its only neighbour."""


@functools.cache
def subjects() -> tuple[Country, ...]:
    """Countries whose name is theirs alone and says which they are."""
    names = Counter(country.name for country in countries())
    return tuple(
        country
        for country in countries()
        if names[country.name] == 1 and len(country.name) > 3 and not re.search(r"[;(]", country.name)
    )


@functools.cache
def named(clue: str) -> dict[str, Country]:
    """Value of a clue -> the one country that has it: the field of no other country so much as mentions it."""
    kind = CLUES[clue]
    texts = {country: country.fields.get(kind.field, "").casefold() for country in countries()}
    found: dict[str, Country] = {}
    for country in subjects():
        for value in kind.read(country.fields.get(kind.field, ""))[:1]:
            alone = re.compile(rf"(?<!\w){re.escape(value.casefold())}(?!\w)")
            if sum(alone.search(text) is not None for text in texts.values()) == 1:
                found[value] = country
    return found


@functools.cache
def only_neighbours() -> dict[Country, Country]:
    """Country -> its only neighbour, where both are `subjects`."""
    by_name = {country.name: country for country in subjects()}
    read = {country: BORDER.read(country.fields.get(BORDER.field, "")) for country in subjects()}
    return {country: by_name[golds[0]] for country, golds in read.items() if golds and golds[0] in by_name}
