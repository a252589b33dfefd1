"""Questions over the countries and zones of the time zone database."""

from toolenvs.sample_databases.questions.base import Entry, FileBook
from toolenvs.tasks.seeding import Draws
from toolenvs.tasks.sql import Drawn, Figure, Noun, Word
from toolenvs.tasks.sql.templates import ONE_TABLE, compared, extreme_of, figure_of, worded
from toolenvs.tasks.sql.wording import SMALL, literal

_EVIDENCE = (
    "A zone is used in the countries that country_zone pairs it with. offset_minutes is standard time's, in minutes "
    "east of Greenwich; latitude and longitude are in degrees, north and east being positive."
)
_PAIRS = "country_zone AS x JOIN country AS c ON x.country = c.code JOIN zone AS z ON x.zone = z.name"
_USED = "SELECT c.name FROM country_zone AS x JOIN country AS c ON x.country = c.code GROUP BY c.code HAVING "


def _country(book: FileBook, draws: Draws, least: int = 1) -> tuple[str, str]:
    """A country with so many zones."""
    name = draws.choice(book.found(f"{_USED} count(*) >= {least} ORDER BY 1"))
    return str(name), literal(name)


def no_comments(book: FileBook, draws: Draws) -> Drawn:
    """Zones without comments, which need none."""
    clause, condition = compared(book, draws, figure_of(book, draws))
    return Drawn(f"How many zones that {clause} have no comments?",
                 f"SELECT count(*) FROM zone WHERE {condition} AND comments IS NULL")  # fmt: skip


def zones_of(book: FileBook, draws: Draws) -> Drawn:
    """The zones of a country."""
    shown, country = _country(book, draws, 2)
    return Drawn(
        f"Give the names of the zones that are used in {shown}.",
        f"SELECT x.zone FROM country_zone AS x JOIN country AS c ON x.country = c.code WHERE c.name = {country}",
    )


def countries_of(book: FileBook, draws: Draws) -> Drawn:
    """The countries of a zone."""
    zone = draws.choice(book.found("SELECT zone FROM country_zone GROUP BY zone HAVING count(*) > 1 ORDER BY 1"))
    return Drawn(
        f"Give the names of the countries that use the zone {zone}.",
        f"SELECT c.name FROM country_zone AS x JOIN country AS c ON x.country = c.code WHERE x.zone = {literal(zone)}",
    )


def many_zones(book: FileBook, draws: Draws) -> Drawn:
    """Countries by the number of their zones."""
    return _paired("country", draws, (3, 28), "countries use {n} zones? Give code and number of zones.")


def shared_zones(book: FileBook, draws: Draws) -> Drawn:
    """Zones by the number of their countries."""
    return _paired("zone", draws, (2, 17), "zones are used in {n} countries? Give name and number of countries.")


def _paired(column: str, draws: Draws, bounds: tuple[int, int], asked: str) -> Drawn:
    """Those of a column of country_zone by how many of the other it pairs them with."""
    n = draws.between(*bounds)
    more, operator = draws.choice((("at least", ">="), ("exactly", "=")))
    return Drawn(
        "Which " + asked.replace("{n}", f"{more} {n}"),
        f"SELECT {column}, count(*) FROM country_zone GROUP BY {column} HAVING count(*) {operator} {n}",
    )


def no_zone(book: FileBook, draws: Draws) -> Drawn:
    """How many countries of a letter use no zone that meets a condition."""
    letter = draws.choice("ABCEGIKLMNPSTU")
    figure = figure_of(book, draws)
    clause, condition = compared(book, draws, figure)
    return Drawn(
        f"How many countries whose code begins with {letter} use no zone of those that {clause}?",
        f"SELECT count(*) FROM country AS c WHERE c.code LIKE '{letter}%' AND NOT EXISTS (SELECT 1 FROM country_zone "
        f"AS x JOIN zone AS z ON x.zone = z.name WHERE x.country = c.code AND z.{condition})",
    )


def neighbours(book: FileBook, draws: Draws) -> Drawn:
    """Countries that share a zone: one table twice."""
    shown, country = _country(book, draws)
    return Drawn(
        f"Which other countries use a zone that is used in {shown}? Give each name once.",
        "SELECT DISTINCT d.name FROM country_zone AS x JOIN country AS c ON x.country = c.code JOIN country_zone AS y "
        f"ON x.zone = y.zone JOIN country AS d ON y.country = d.code WHERE c.name = {country} AND d.code != c.code",
    )


def farthest(book: FileBook, draws: Draws) -> Drawn:
    """The extreme zone of a country."""
    shown, country = _country(book, draws, 3)
    figure = figure_of(book, draws)
    extreme, direction = extreme_of(draws, figure)
    return Drawn(
        f"Of the zones that are used in {shown}, which one has the {extreme} {figure.noun}? Give its name.",
        f"SELECT z.name FROM {_PAIRS} WHERE c.name = {country} ORDER BY z.{figure.column} {direction} LIMIT 1",
    )


def reach(book: FileBook, draws: Draws) -> Drawn:
    """How far a country's zones lie apart."""
    shown, country = _country(book, draws, 2)
    figure = figure_of(book, draws)
    high, low = figure.extremes or ("highest", "lowest")
    return Drawn(
        f"What are the {low} and the {high} {figure.noun} of the zones that are used in {shown}? Give the {low} first.",
        f"SELECT min(z.{figure.column}), max(z.{figure.column}) FROM {_PAIRS} WHERE c.name = {country}",
    )


def countries_where(book: FileBook, draws: Draws) -> Drawn:
    """Countries with a zone that meets a condition, each counted once."""
    clause, condition = compared(book, draws, figure_of(book, draws))
    (second, other) = worded(book, draws, book.words[0])
    return Drawn(
        f"Counting each once, how many countries use zones that {second} and {clause}?",
        f"SELECT count(DISTINCT x.country) FROM country_zone AS x JOIN zone AS z ON x.zone = z.name WHERE z.{other} "
        f"AND z.{condition}",
    )


def one_region_not_the_other(book: FileBook, draws: Draws) -> Drawn:
    """Countries with a zone of one region and none of another."""
    one, other = draws.sample(list(book.values("zone", "region")), 2)
    return Drawn(
        f"How many countries use a zone of the region {one} and none of the region {other}?",
        f"SELECT count(*) FROM (SELECT x.country FROM country_zone AS x JOIN zone AS z ON x.zone = z.name WHERE "
        f"z.region = '{one}' EXCEPT SELECT x.country FROM country_zone AS x JOIN zone AS z ON x.zone = z.name WHERE "
        f"z.region = '{other}')",
    )


def widest(book: FileBook, draws: Draws) -> Drawn:
    """The countries whose zones differ the most."""
    k, figure = draws.below(len(SMALL)), figure_of(book, draws)
    region = draws.choice(book.values("zone", "region"))
    return Drawn(
        f"Which {SMALL[k]} countries have the largest difference between the highest and the lowest {figure.noun} of "
        f"their zones in the region {region}? Give the countries' names, the largest difference first.",
        f"SELECT c.name FROM {_PAIRS} WHERE z.region = '{region}' GROUP BY c.code ORDER BY "
        f"max(z.{figure.column})-min(z.{figure.column}) DESC LIMIT {k + 2}",
    )


ENTRY = Entry(
    nouns={"country": Noun("country", "countries", "code"), "zone": Noun("zone", "zones", "name")},
    figures=(
        Figure("zone", "latitude", "have a latitude of {cmp} degrees", "latitude", "measure", ("highest", "lowest")),
        Figure("zone", "longitude", "have a longitude of {cmp} degrees", "longitude", "measure", ("highest", "lowest")),
        Figure("zone", "offset_minutes", "have an offset of {cmp} minutes", "offset", "measure", ("highest", "lowest")),
    ),
    words=(Word("zone", "region", "belong to the region {w}", "region"),),
    links=(),
    thresholds={
        ("zone", "latitude"): (-40, -20, -10, 0, 10, 20, 30, 40, 50, 60),
        ("zone", "longitude"): (-120, -100, -75, -60, -30, 0, 10, 30, 60, 100, 140),
        ("zone", "offset_minutes"): (-480, -360, -240, -180, 0, 60, 120, 180, 330, 480, 600),
    },
    levels=(
        (*ONE_TABLE, no_comments),
        (zones_of, countries_of, many_zones, shared_zones, countries_where),
        (no_zone, neighbours, farthest, reach, one_region_not_the_other, widest),
    ),
    evidence=_EVIDENCE,
)
