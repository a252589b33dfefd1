"""Countries, time zones, and which zone is used in which country: the tables of the time zone database.

Those of the package tzdata, or else of the operating system.
"""

import functools
import re
import sqlite3
from importlib import metadata
from pathlib import Path

from toolenvs.errors import MissingExtraError, TaskError
from toolenvs.sample_databases import _installed

_WHAT = "the database 'tzdata'"
_SYSTEM = Path("/usr/share/zoneinfo")
_FORM = 1
"""To be raised when tables are written in another way."""
_PLACE = re.compile(r"([+-]\d{4,6})([+-]\d{5,7})")
_TABLES = (
    "CREATE TABLE country (\n    code TEXT PRIMARY KEY,\n    name TEXT NOT NULL UNIQUE\n)",
    "CREATE TABLE zone (\n    name TEXT PRIMARY KEY,\n    region TEXT NOT NULL,\n    latitude REAL NOT NULL,\n"
    "    longitude REAL NOT NULL,\n    offset_minutes INTEGER NOT NULL,\n    comments TEXT\n)",
    "CREATE TABLE country_zone (\n    country TEXT NOT NULL REFERENCES country (code),\n"
    "    zone TEXT NOT NULL REFERENCES zone (name),\n    position INTEGER NOT NULL,\n"
    "    PRIMARY KEY (country, zone)\n)",
)
"""`offset_minutes` is standard time's, east of Greenwich; `position` the country's place in the zone's list, whose
first is the country of the zone's most populous city."""


@functools.cache
def form() -> str:
    """The release of the time zone database, and how tables are written.

    Raises:
        MissingExtraError: no tables are there.
        TaskError: they do not say of which release they are.
    """
    first = _text("tzdata.zi").partition("\n")[0]
    found = re.fullmatch(r"# version (\w+)", first)
    if found is None:
        raise TaskError(f"{_WHAT}: tzdata.zi begins with {first!r:.60}, not with its version; install tzdata again")
    return f"{found[1]}-{_FORM}"


def fill(base: sqlite3.Connection) -> None:
    """Make the tables.

    Raises:
        MissingExtraError: no tables are there.
        TaskError: they do not fit together.
    """
    offsets = _offsets(_text("tzdata.zi"))
    for table in _TABLES:
        base.execute(table)
    base.executemany("INSERT INTO country VALUES (?, ?)", _lines("iso3166.tab"))
    for codes, place, name, *comments in _lines("zone1970.tab"):
        if name not in offsets:
            raise TaskError(f"{_WHAT}: zone1970.tab names {name}, and tzdata.zi does not; install tzdata again")
        read = _PLACE.fullmatch(place)
        assert read is not None, place
        row = (name, name.partition("/")[0], _degrees(read[1], 2), _degrees(read[2], 3), offsets[name], *comments[:1])
        base.execute("INSERT INTO zone VALUES (?, ?, ?, ?, ?, ?)", row if comments else (*row, None))
        pairs = [(code, name, position) for position, code in enumerate(codes.split(","), start=1)]
        base.executemany("INSERT INTO country_zone VALUES (?, ?, ?)", pairs)
    _installed.check_rows(base, {}, _WHAT)


def _text(name: str) -> str:
    try:
        metadata.version("tzdata")
    except metadata.PackageNotFoundError:
        path = _SYSTEM / name
        if not path.is_file():
            raise MissingExtraError("tzdata", _installed.EXTRA, _WHAT) from None
    else:
        path = _installed.file("tzdata", f"tzdata/zoneinfo/{name}", _WHAT)
    return path.read_text("utf-8")


def _lines(name: str) -> list[list[str]]:
    return [line.split("\t") for line in _text(name).splitlines() if line and not line.startswith("#")]


def _degrees(written: str, digits: int) -> float:
    """Degrees of +DDMM, +DDMMSS, +DDDMM or +DDDMMSS, to four decimals."""
    sign, body = -1 if written[0] == "-" else 1, written[1:]
    degrees, minutes, seconds = body[:digits], body[digits : digits + 2], body[digits + 2 :] or "0"
    return sign * round(int(degrees) + int(minutes) / 60 + int(seconds) / 3600, 4)


def _offsets(source: str) -> dict[str, int]:
    """Of each zone, standard time's minutes east of Greenwich by the last of its lines, those of today."""
    found: dict[str, int] = {}
    zone = ""
    for line in source.splitlines():
        words = line.split()
        if line.startswith("Z "):
            zone, offset = words[1], words[2]
        elif zone and line[:1] in "-0123456789" and line:
            offset = words[0]
        else:
            zone = ""
            continue
        sign = -1 if offset.startswith("-") else 1
        hours, minutes, *_ = [*offset.lstrip("-").split(":"), "0"]
        found[zone] = sign * (int(hours or 0) * 60 + int(minutes))
    return found
