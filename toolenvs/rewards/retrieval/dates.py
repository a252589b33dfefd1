"""When passages were published, for searches that may find nothing later than a date, as reviews have one."""

import json
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from toolenvs.errors import PageError, TaskError
from toolenvs.world import World, named
from toolenvs.world.topics import year_of

Date = tuple[int, ...]
"""Year, or year and month, or year, month and day."""

WORLD = "world"
"""In place of a file: the dates of the fictional world that the index holds."""
_DATE = re.compile(r"(\d{4})(?:[-/](\d{1,2})(?:[-/](\d{1,2}))?)?")
_IDS, _DATES = ("id", "_id", "pmid"), ("date", "pub_date")


def parse(text: object) -> Date | None:
    """The date that a text such as "2019", "2019/03" or "2019-03-01" begins with; None where it is none."""
    read = _DATE.match(str(text).strip())
    return None if read is None else tuple(int(part) for part in read.groups() if part is not None)


def is_later(date: Date, limit: Date) -> bool:
    """Whether a date lies behind another, as far as both are known."""
    known = min(len(date), len(limit))
    return date[:known] > limit[:known]


def dates_of(index: str, source: str) -> Callable[[str], Date | None]:
    """From the id of a passage to its date, None where it has none.

    Args:
        index: what is searched.
        source: `WORLD`, or a JSON Lines file with an id ("id", "_id" or "pmid") and a date ("date" or "pub_date") a
            row.

    Raises:
        TaskError: the file cannot be read.
        PageError: the dates of a world are asked for, and the index is none.
    """
    if source != WORLD:
        return _read(source).get
    world = named(index)
    if world is None:
        raise PageError(f"judge.dates = {WORLD!r}: the index {index!r} is no fictional world; give a file of dates")
    return lambda passage_id: _year(world, passage_id)


def _year(world: World, passage_id: str) -> Date | None:
    year = year_of(world.find(passage_id))
    return None if year is None else (year,)


@lru_cache(maxsize=8)
def _read(path: str) -> dict[str, Date]:
    found: dict[str, Date] = {}
    try:
        with Path(path).open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    row = json.loads(line)
                    key = next((row[name] for name in _IDS if name in row), None)
                    date = parse(next((row[name] for name in _DATES if name in row), None))
                    if key is None or date is None:
                        raise ValueError(f"line {number}: an id and a date such as 2019/03/01 are needed")
                    found[str(key)] = date
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise TaskError(f"judge.dates: {path} cannot be read: {error}") from error
    return found
