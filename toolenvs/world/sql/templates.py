"""The templates of questions that only the world's tables allow, and all levels.

A question says which columns are wanted, and in which order the rows, wherever the query orders them.
"""

from collections.abc import Mapping, Sequence

from toolenvs.tasks.seeding import Draws
from toolenvs.tasks.sql import Asker, Drawn, Figure, Link, Noun, Template, Word
from toolenvs.tasks.sql.templates import (
    ONE_TABLE,
    TWO_TABLES,
    compared,
    extreme_of,
    figure_of,
    link_of,
    two_links,
    word_of,
    worded,
)  # fmt: skip
from toolenvs.world.entities import WORDS as CHOICES
from toolenvs.world.entities import Key, Kind
from toolenvs.world.sql import phrases
from toolenvs.world.sql.tables import world_file
from toolenvs.world.world import World


class WorldBook:
    """How a world's database is spoken of."""

    nouns: Mapping[str, Noun] = phrases.NOUNS
    figures: Sequence[Figure] = phrases.FIGURES
    words: Sequence[Word] = phrases.WORDS
    links: Sequence[Link] = phrases.LINKS
    thresholds: Mapping[tuple[str, str], Sequence[int | float]] = phrases.THRESHOLDS

    def __init__(self, world: World) -> None:
        self._kinds: Mapping[str, Kind] = {kind: kind for kind in world.counts}
        self._world = world

    def named(self, draws: Draws, table: str) -> str:
        """The name of an entity; no two have the same."""
        kind = self._kinds[table]
        return self._world.name(Key(kind, draws.below(self._world.counts[kind])))

    def values(self, table: str, column: str) -> Sequence[str | int]:
        """The words of a column."""
        return CHOICES[self._kinds[table]][column]


def asker(passages: int, seed: int) -> Asker:
    """An asker over the database of a world, beside that of the next seed.

    Raises:
        TaskError: there is no world of that size, or the database cannot be written.
    """
    book = WorldBook(World(passages, seed=seed))
    return Asker(book, LEVELS, world_file(passages, seed), world_file(passages, seed + 1))


def per_country(book: WorldBook, draws: Draws) -> Drawn:
    """For each country, a count over its towns."""
    link = link_of(book, draws, "place")
    clause, condition = compared(book, draws, figure_of(book, draws, link.table))
    meets = link.clause.format(x="it")
    return Drawn(
        f"For each country, count the {phrases.NOUNS[link.table].many} that {clause} and {meets}, in any of its towns. "
        "Give the country's name and the number, without countries of number 0, in order of the name.",
        f"SELECT c.name, count(*) FROM {link.table} AS a JOIN place AS b ON a.{link.column} = b.id "
        f"JOIN country AS c ON b.country_id = c.id WHERE a.{condition} GROUP BY c.id ORDER BY c.name",
    )


def largest_of_each(book: WorldBook, draws: Draws) -> Drawn:
    """For each country, its extreme town."""
    figure = figure_of(book, draws, "place")
    extreme, direction = extreme_of(draws, figure)
    function = "max" if direction == "DESC" else "min"
    return Drawn(
        f"For each country, which of its towns has the {extreme} {figure.noun}? Give the names of country and town.",
        f"SELECT c.name, p.name FROM place AS p JOIN country AS c ON p.country_id = c.id WHERE p.{figure.column} = "
        f"(SELECT {function}(q.{figure.column}) FROM place AS q WHERE q.country_id = p.country_id)",
    )


def older_than_teacher(book: WorldBook, draws: Draws) -> Drawn:
    """Persons and their teachers."""
    word = word_of(book, draws, "person")
    clause, condition = worded(book, draws, word)
    later, operator = draws.choice((("earlier", "<"), ("later", ">")))
    return Drawn(
        f"How many persons that {clause} were born {later} than their teacher?",
        f"SELECT count(*) FROM person AS a JOIN person AS b ON a.teacher_id = b.id "
        f"WHERE a.{condition} AND a.birth_year {operator} b.birth_year",
    )


def same_town(book: WorldBook, draws: Draws) -> Drawn:
    """Two references that lead to the same town."""
    text, sql = draws.choice(
        (
            (
                "the companies that have their headquarters in the town where their founder was born",
                "SELECT a.name FROM company AS a JOIN person AS b ON a.founder_id = b.id "
                "WHERE a.headquarters_id = b.birthplace_id",
            ),
            (
                "the works that are set in the country where their author was born",
                "SELECT a.name FROM work AS a JOIN person AS b ON a.creator_id = b.id JOIN place AS s "
                "ON a.setting_id = s.id JOIN place AS t ON b.birthplace_id = t.id WHERE s.country_id = t.country_id",
            ),
            (
                "the events that were held in the country where their winner was born",
                "SELECT a.name FROM event AS a JOIN person AS b ON a.winner_id = b.id JOIN place AS s "
                "ON a.venue_id = s.id JOIN place AS t ON b.birthplace_id = t.id WHERE s.country_id = t.country_id",
            ),
        )
    )
    kind = "company" if "companies" in text else "work" if "works" in text else "event"
    clause, condition = compared(book, draws, figure_of(book, draws, kind))
    return Drawn(f"Give the names of {text} and that {clause}.", f"{sql} AND a.{condition}")


LEVELS: tuple[tuple[Template, ...], ...] = (
    ONE_TABLE,
    TWO_TABLES,
    (two_links, per_country, largest_of_each, older_than_teacher, same_town),
)
"""Templates over one table, over two, and over three or one table twice."""
