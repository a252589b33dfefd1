"""How questions speak of the tables and columns of the world."""

from collections.abc import Mapping

from toolenvs.tasks.sql.book import Figure, Link, Noun, Word

NOUNS: Mapping[str, Noun] = {
    "country": Noun("country", "countries"),
    "place": Noun("town", "towns"),
    "person": Noun("person", "persons"),
    "company": Noun("company", "companies"),
    "work": Noun("work", "works"),
    "event": Noun("event", "events"),
}

FIGURES: tuple[Figure, ...] = (
    Figure("country", "area", "cover {cmp} square kilometres", "area"),
    Figure("place", "population", "have {cmp} inhabitants", "population"),
    Figure("place", "elevation", "lie {cmp} metres above the sea", "elevation", "measure"),
    Figure("person", "birth_year", "were born {cmp}", "year of birth", "year"),
    Figure("company", "staff", "have a staff of {cmp}", "staff"),
    Figure("company", "founding_year", "were founded {cmp}", "founding year", "year"),
    Figure("work", "year", "first appeared {cmp}", "year", "year"),
    Figure("event", "visitors", "drew {cmp} visitors", "number of visitors"),
    Figure("event", "year", "were held {cmp}", "year", "year"),
)
THRESHOLDS: Mapping[tuple[str, str], tuple[int, ...]] = {
    ("country", "area"): (100_000, 200_000, 300_000, 400_000, 500_000, 600_000, 700_000, 800_000),
    ("place", "population"): (200_000, 500_000, 1_000_000, 1_500_000, 2_000_000, 2_500_000, 3_000_000, 3_500_000),
    ("place", "elevation"): (200, 500, 800, 1_000, 1_500, 2_000, 2_500, 2_700),
    ("person", "birth_year"): (1550, 1600, 1650, 1700, 1750, 1800, 1850, 1900, 1950),
    ("company", "staff"): (5_000, 10_000, 20_000, 30_000, 45_000, 60_000, 75_000, 85_000),
    ("company", "founding_year"): (1600, 1650, 1700, 1750, 1800, 1850, 1900, 1950),
    ("work", "year"): (1600, 1650, 1700, 1750, 1800, 1850, 1900, 1950),
    ("event", "visitors"): (20_000, 50_000, 80_000, 100_000, 150_000, 200_000, 230_000),
    ("event", "year"): (1600, 1650, 1700, 1750, 1800, 1850, 1900, 1950),
}
"""All numbers that questions compare with: few, so that a changed copy can have rows on each."""

WORDS: tuple[Word, ...] = (
    Word("place", "known_for", "are known for {w}", "thing that towns are known for"),
    Word("person", "profession", "have the profession {w}", "profession"),
    Word("company", "trade", "make {w}", "trade"),
    Word("work", "form", "have the form {w}", "form"),
    Word("event", "sport", "are contests in {w}", "sport"),
)

LINKS: tuple[Link, ...] = (
    Link("place", "country_id", "country", "lie in {x}", "where {s} lie", "where {s} lies"),
    Link("place", "mayor_id", "person", "have {x} as their mayor", "the mayor of {s}"),
    Link("person", "birthplace_id", "place", "were born in {x}", "where {s} were born", "where {s} was born"),
    Link("person", "teacher_id", "person", "were taught by {x}", "the teacher of {s}"),
    Link("person", "employer_id", "company", "worked for {x}", "the employer of {s}"),
    Link("company", "founder_id", "person", "were founded by {x}", "the founder of {s}"),
    Link(
        "company", "headquarters_id", "place", "have their headquarters in {x}", "where {s} have their headquarters",
        "where {s} has its headquarters",
    ),
    Link("work", "creator_id", "person", "were made by {x}", "the author of {s}"),
    Link("work", "setting_id", "place", "are set in {x}", "where {s} are set", "where {s} is set"),
    Link("event", "venue_id", "place", "were held in {x}", "where {s} were held", "where {s} was held"),
    Link("event", "winner_id", "person", "were won by {x}", "the winner of {s}"),
)  # fmt: skip
