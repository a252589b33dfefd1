"""Questions over the flights that left New York City in January 2013."""

from toolenvs.sample_databases.questions.base import Entry, FileBook
from toolenvs.tasks.seeding import Draws
from toolenvs.tasks.sql import Drawn, Figure, Link, Noun, Word
from toolenvs.tasks.sql.templates import (
    ONE_TABLE,
    compared,
    distinct,
    figure_of,
    group_mean,
    linked_count,
    without,
    worded,
)
from toolenvs.tasks.sql.wording import SMALL, literal

_ORIGINS = ("EWR", "JFK", "LGA")
_EVIDENCE = (
    "All flights are of January 2013. dep_delay and arr_delay are in minutes; a flight that was cancelled has no "
    "dep_time. The codes of airports are airports.faa, those of airlines airlines.carrier."
)


def _airline(book: FileBook, draws: Draws) -> tuple[str, str]:
    name = book.named(draws, "airlines")
    return str(name), literal(name)


def cancelled(book: FileBook, draws: Draws) -> Drawn:
    """Flights without a time of departure."""
    day, origin = draws.between(1, 31), draws.choice(_ORIGINS)
    return Drawn(
        f"How many flights from {origin} were cancelled on January {day}?",
        f"SELECT count(*) FROM flights WHERE origin = '{origin}' AND day = {day} AND dep_time IS NULL",
    )


def busiest_days(book: FileBook, draws: Draws) -> Drawn:
    """The days with the most flights that were cancelled, or that left late."""
    k, origin, (clause, condition) = (
        draws.below(len(SMALL)),
        draws.choice(_ORIGINS),
        draws.choice(
            (
                ("were cancelled", "dep_time IS NULL"),
                ("left at least an hour late", "dep_delay >= 60"),
                ("left early", "dep_delay < 0"),
                ("arrived at least two hours late", "arr_delay >= 120"),
            )
        ),
    )
    return Drawn(
        f"On which {SMALL[k]} days of January were there the most flights from {origin} that {clause}? Give day and "
        "number, the highest number first.",
        f"SELECT day, count(*) FROM flights WHERE origin = '{origin}' AND {condition} GROUP BY day "
        f"ORDER BY count(*) DESC LIMIT {k + 2}",
    )


def hours(book: FileBook, draws: Draws) -> Drawn:
    """The hours of one day at one airport."""
    day, origin = draws.between(1, 31), draws.choice(_ORIGINS)
    return Drawn(
        f"For each hour in which flights from {origin} were due to leave on January {day}, how many were? Give hour "
        "and number, ordered by hour.",
        f"SELECT hour, count(*) FROM flights WHERE origin = '{origin}' AND day = {day} GROUP BY hour ORDER BY hour",
    )


def no_gust(book: FileBook, draws: Draws) -> Drawn:
    """Weather in which something was not measured."""
    origin, n = draws.choice(_ORIGINS), draws.choice((25, 30, 35, 40, 45, 50))
    word, column = draws.choice((("gusts", "wind_gust"), ("air pressure", "pressure")))
    return Drawn(
        f"In how many hours of weather at {origin} was the temperature above {n} degrees and no {word} noted?",
        f"SELECT count(*) FROM weather WHERE origin = '{origin}' AND temp > {n} AND {column} IS NULL",
    )


def carriers(book: FileBook, draws: Draws) -> Drawn:
    """Airlines with many flights."""
    n, origin = draws.choice((50, 100, 200, 400, 600, 800, 1_000, 1_500, 2_000)), draws.choice(_ORIGINS)
    more, operator = draws.choice((("at least", ">="), ("at most", "<=")))
    return Drawn(
        f"Which airlines operated {more} {n:,} flights from {origin}? Give name and number, without airlines of "
        "number 0.",
        f"SELECT l.name, count(*) FROM flights AS f JOIN airlines AS l ON f.carrier = l.carrier WHERE "
        f"f.origin = '{origin}' GROUP BY l.carrier HAVING count(*) {operator} {n}",
    )


def wind(book: FileBook, draws: Draws) -> Drawn:
    """Delays in the weather of the hour."""
    origin, n = draws.choice(_ORIGINS), draws.choice((10, 15, 20, 25, 30))
    clause, condition = draws.choice(
        ((f"the wind blew at more than {n} miles an hour", f"w.wind_speed > {n}"),
         (f"one saw less than {n / 5:g} miles", f"w.visib < {n / 5:g}"),
         (f"it was colder than {n} degrees", f"w.temp < {n}"))
    )  # fmt: skip
    return Drawn(
        f"What is the average departure delay of the flights from {origin} that were due in an hour in which {clause}? "
        "Do not round.",
        "SELECT avg(f.dep_delay) FROM flights AS f JOIN weather AS w ON f.origin = w.origin AND f.time_hour = "
        f"w.time_hour WHERE f.origin = '{origin}' AND {condition}",
    )


def unknown_planes(book: FileBook, draws: Draws) -> Drawn:
    """Flights whose plane is not in the table of planes."""
    shown, airline = _airline(book, draws)
    clause, condition = compared(book, draws, figure_of(book, draws, "flights"))
    return Drawn(
        f"How many flights that were operated by {shown} and {clause} have a tail number that is not among the planes?",
        f"SELECT count(*) FROM flights AS f JOIN airlines AS l ON f.carrier = l.carrier WHERE l.name = {airline} AND "
        f"f.{condition} AND f.tailnum IS NOT NULL AND NOT EXISTS (SELECT 1 FROM planes AS p WHERE p.tailnum = "
        "f.tailnum)",
    )


def slowest_destinations(book: FileBook, draws: Draws) -> Drawn:
    """Where an airline's flights arrive latest."""
    (shown, airline), k = _airline(book, draws), draws.below(len(SMALL))
    high, direction = draws.choice((("highest", "DESC"), ("lowest", "ASC")))
    return Drawn(
        f"To which {SMALL[k]} destinations do the flights of {shown} have the {high} average arrival delay? Give the "
        f"airport's code and the average, rounded to 2 decimals, the {high} first; leave out destinations without any "
        "arrival delay.",
        f"SELECT f.dest, round(avg(f.arr_delay), 2) FROM flights AS f JOIN airlines AS l ON f.carrier = l.carrier "
        f"WHERE l.name = {airline} AND f.arr_delay IS NOT NULL GROUP BY f.dest ORDER BY avg(f.arr_delay) {direction} "
        f"LIMIT {k + 2}",
    )


def flown_with(book: FileBook, draws: Draws) -> Drawn:
    """An airline's flights with planes of one maker, or of an age."""
    shown, airline = _airline(book, draws)
    words = [word for word in book.words if word.table == "planes"]
    clause, condition = (
        worded(book, draws, draws.choice(words))
        if draws.below(2)
        else compared(book, draws, figure_of(book, draws, "planes"))
    )
    return Drawn(
        f"How many flights of {shown} were flown with planes that {clause}?",
        "SELECT count(*) FROM flights AS f JOIN airlines AS l ON f.carrier = l.carrier JOIN planes AS p ON f.tailnum = "
        f"p.tailnum WHERE l.name = {airline} AND p.{condition}",
    )


def flies_with(book: FileBook, draws: Draws) -> Drawn:
    """Which airlines have planes of a sort in the air."""
    clause, condition = compared(book, draws, figure_of(book, draws, "planes"))
    return Drawn(
        f"Which airlines operated flights with planes that {clause}? Give each name once.",
        "SELECT DISTINCT l.name FROM flights AS f JOIN airlines AS l ON f.carrier = l.carrier JOIN planes AS p ON "
        f"f.tailnum = p.tailnum WHERE p.{condition}",
    )


def from_both(book: FileBook, draws: Draws) -> Drawn:
    """Tail numbers that left from two airports: one table twice."""
    one, other = draws.sample(_ORIGINS, 2)
    shown, airline = _airline(book, draws)
    return Drawn(
        f"How many tail numbers have flights of {shown} both from {one} and from {other}?",
        f"SELECT count(*) FROM (SELECT f.tailnum FROM flights AS f JOIN airlines AS l ON f.carrier = l.carrier WHERE "
        f"l.name = {airline} AND f.origin = '{one}' AND f.tailnum IS NOT NULL INTERSECT SELECT g.tailnum "
        f"FROM flights AS g JOIN airlines AS m ON g.carrier = m.carrier WHERE m.name = {airline} "
        f"AND g.origin = '{other}')",
    )


ENTRY = Entry(
    nouns={
        "airlines": Noun("airline", "airlines", "carrier"),
        "airports": Noun("airport", "airports", "faa", quoted=True),
        "planes": Noun("plane", "planes", "tailnum", "tailnum", "tail number"),
        "flights": Noun("flight", "flights", "", ""),
    },
    figures=(
        Figure("airports", "alt", "lie {cmp} feet above the sea", "altitude", "measure", ("highest", "lowest")),
        Figure("airports", "lat", "have a latitude of {cmp} degrees", "latitude", "measure", ("highest", "lowest")),
        Figure("planes", "seats", "have {cmp} seats", "number of seats"),
        Figure("planes", "year", "were built {cmp}", "year of manufacture", "year"),
        Figure("flights", "distance", "covered {cmp} miles", "distance", "measure", ("greatest", "smallest")),
        Figure("flights", "dep_delay", "left {cmp} minutes late", "departure delay", "measure", ("highest", "lowest")),
        Figure("flights", "air_time", "spent {cmp} minutes in the air", "time in the air", "measure",
               ("longest", "shortest")),
    ),
    words=(
        Word("airports", "tzone", "are in the time zone {w}", "time zone", "time zone"),
        Word("planes", "manufacturer", "were made by {w}", "manufacturer"),
        Word("planes", "engine", "have engines of the kind {w}", "kind of engine", "kind of engine"),
        Word("flights", "day", "left on January {w}", "day of January", "day"),
        Word("flights", "origin", "left from {w}", "airport of origin", "origin"),
    ),
    links=(
        Link("flights", "carrier", "airlines", "were operated by {x}", "that operated {s}"),
        Link("flights", "dest", "airports", "went to {x}", "that {s} went to"),
        Link("flights", "tailnum", "planes", "were flown with {x}", "that made {s}"),
    ),
    thresholds={
        ("airports", "alt"): (0, 20, 100, 500, 1_000, 2_000, 4_000, 6_000, 8_000),
        ("airports", "lat"): (20, 25, 30, 35, 40, 45, 50, 60, 70),
        ("planes", "seats"): (2, 20, 55, 100, 150, 200, 300, 400),
        ("planes", "year"): (1965, 1980, 1990, 1995, 2000, 2005, 2010, 2012),
        ("flights", "distance"): (200, 500, 750, 1_000, 1_500, 2_000, 2_500),
        ("flights", "dep_delay"): (5, 15, 30, 60, 120, 240, 360),
        ("flights", "air_time"): (30, 60, 120, 180, 240, 300, 360),
    },
    levels=(
        (*ONE_TABLE, cancelled, busiest_days, hours, no_gust),
        (linked_count, without, group_mean, distinct, carriers, wind, unknown_planes, slowest_destinations),
        (flown_with, flies_with, from_both),
    ),
    evidence=_EVIDENCE,
)  # fmt: skip
