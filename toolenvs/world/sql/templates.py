"""The templates of questions: each draws what it speaks of, and gives the question beside its query.

A question says which columns are wanted, and in which order the rows, wherever the query orders them.
"""

from collections.abc import Callable
from dataclasses import dataclass

from toolenvs.tasks.seeding import Draws
from toolenvs.world.entities import WORDS as CHOICES
from toolenvs.world.entities import Key, Kind
from toolenvs.world.sql.phrases import COMPARISONS, FIGURES, LINKS, MOST, NOUNS, THRESHOLDS, WORDS, Figure, Link, Word
from toolenvs.world.world import World


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a template drew."""

    text: str
    sql: str


Template = Callable[[World, Draws], Drawn]
_SMALL = ("two", "three", "four", "five")


def _named(world: World, draws: Draws, kind: Kind) -> str:
    return world.name(Key(kind, draws.below(world.counts[kind])))


def _figure(draws: Draws, *kinds: Kind) -> Figure:
    return draws.choice([figure for figure in FIGURES if not kinds or figure.kind in kinds])


def _link(draws: Draws, *others: Kind) -> Link:
    return draws.choice([link for link in LINKS if not others or link.other in others])


def _compared(draws: Draws, figure: Figure) -> tuple[str, str]:
    """A clause that compares a figure, and its condition."""
    n = draws.choice(THRESHOLDS[figure.kind, figure.column])
    words, operator = draws.choice(COMPARISONS[figure.sort])
    if figure.column == "elevation":
        words = words.replace("fewer", "less")
    shown = f"{n:,}" if figure.sort == "amount" else str(n)
    return figure.clause.format(cmp=words.format(n=shown)), f"{figure.column} {operator} {n}"


def _worded(draws: Draws, word: Word) -> tuple[str, str]:
    value = draws.choice(CHOICES[word.kind][word.column])
    return word.clause.format(w=value), f"{word.column} = '{value}'"


def _word_of(draws: Draws, kind: Kind) -> Word | None:
    found = [word for word in WORDS if word.kind == kind]
    return draws.choice(found) if found else None


# one table


def value(world: World, draws: Draws) -> Drawn:
    """A figure of one entity that is named."""
    figure = _figure(draws)
    name = _named(world, draws, figure.kind)
    text = f"What is the {figure.noun} of the {NOUNS[figure.kind][0]} {name}?"
    return Drawn(text, f"SELECT {figure.column} FROM {figure.kind} WHERE name = '{name}'")


def count(world: World, draws: Draws) -> Drawn:
    """How many meet one comparison."""
    figure = _figure(draws)
    clause, condition = _compared(draws, figure)
    return Drawn(f"How many {NOUNS[figure.kind][1]} {clause}?", f"SELECT count(*) FROM {figure.kind} WHERE {condition}")


def count_both(world: World, draws: Draws) -> Drawn:
    """How many meet a comparison and have a word."""
    word = draws.choice(WORDS)
    figure = _figure(draws, word.kind)
    (first, one), (second, other) = _worded(draws, word), _compared(draws, figure)
    return Drawn(
        f"How many {NOUNS[word.kind][1]} {first} and {second}?",
        f"SELECT count(*) FROM {word.kind} WHERE {one} AND {other}",
    )


def names(world: World, draws: Draws) -> Drawn:
    """The names of those that meet two conditions."""
    word = draws.choice(WORDS)
    (first, one), (second, other) = _worded(draws, word), _compared(draws, _figure(draws, word.kind))
    return Drawn(
        f"Give the names of the {NOUNS[word.kind][1]} that {first} and {second}.",
        f"SELECT name FROM {word.kind} WHERE {one} AND {other}",
    )


def most(world: World, draws: Draws) -> Drawn:
    """Which of those with a word has the most."""
    word = draws.choice(WORDS)
    figure = _figure(draws, word.kind)
    (clause, condition), (extreme, direction) = _worded(draws, word), draws.choice(MOST[figure.sort])
    return Drawn(
        f"Of the {NOUNS[word.kind][1]} that {clause}, which one has the {extreme} {figure.noun}? Give its name.",
        f"SELECT name FROM {word.kind} WHERE {condition} ORDER BY {figure.column} {direction} LIMIT 1",
    )


def top(world: World, draws: Draws) -> Drawn:
    """The first few, in order."""
    figure, k = _figure(draws), draws.below(len(_SMALL))
    extreme, direction = draws.choice(MOST[figure.sort])
    return Drawn(
        f"Which {_SMALL[k]} {NOUNS[figure.kind][1]} have the {extreme} {figure.noun}? Give name and {figure.noun}, the "
        f"{extreme} first.",
        f"SELECT name, {figure.column} FROM {figure.kind} ORDER BY {figure.column} {direction} LIMIT {k + 2}",
    )


def mean(world: World, draws: Draws) -> Drawn:
    """An average."""
    word = draws.choice(WORDS)
    figure = _figure(draws, word.kind)
    clause, condition = _worded(draws, word)
    return Drawn(
        f"What is the average {figure.noun} of the {NOUNS[word.kind][1]} that {clause}? Do not round.",
        f"SELECT avg({figure.column}) FROM {word.kind} WHERE {condition}",
    )


def each(world: World, draws: Draws) -> Drawn:
    """A count for each word."""
    word = draws.choice(WORDS)
    clause, condition = _compared(draws, _figure(draws, word.kind))
    return Drawn(
        f"For each {word.each}, how many {NOUNS[word.kind][1]} {clause}? Give {word.column} and number, without those "
        "of number 0.",
        f"SELECT {word.column}, count(*) FROM {word.kind} WHERE {condition} GROUP BY {word.column}",
    )


def span(world: World, draws: Draws) -> Drawn:
    """The smallest and the largest of those with a word."""
    word = draws.choice(WORDS)
    figure = _figure(draws, word.kind)
    clause, condition = _worded(draws, word)
    return Drawn(
        f"What are the lowest and the highest {figure.noun} of the {NOUNS[word.kind][1]} that {clause}? Give the "
        "lowest first.",
        f"SELECT min({figure.column}), max({figure.column}) FROM {word.kind} WHERE {condition}",
    )


def percentage(world: World, draws: Draws) -> Drawn:
    """The share that has a word, of those that meet a comparison."""
    word = draws.choice(WORDS)
    (first, one), (second, other) = _worded(draws, word), _compared(draws, _figure(draws, word.kind))
    return Drawn(
        f"Of the {NOUNS[word.kind][1]} that {second}, what percentage {first}? Round to 2 decimals.",
        f"SELECT round(100.0 * sum({one}) / count(*), 2) FROM {word.kind} WHERE {other}",
    )


def above_average(world: World, draws: Draws) -> Drawn:
    """How many are above the average of all."""
    word = draws.choice(WORDS)
    figure = _figure(draws, word.kind)
    clause, condition = _worded(draws, word)
    return Drawn(
        f"How many of the {NOUNS[word.kind][1]} that {clause} have a {figure.noun} above the average of all "
        f"{NOUNS[word.kind][1]}?".replace("a area", "an area").replace("a elevation", "an elevation"),
        f"SELECT count(*) FROM {word.kind} WHERE {condition} AND "
        f"{figure.column} > (SELECT avg({figure.column}) FROM {word.kind})",
    )


# two tables


def linked(world: World, draws: Draws) -> Drawn:
    """The names of those that refer to one that is named."""
    link = _link(draws)
    name = _named(world, draws, link.other)
    return Drawn(
        f"Give the names of the {NOUNS[link.kind][1]} that {link.clause.format(x=name)}.",
        f"SELECT a.name FROM {link.kind} AS a JOIN {link.other} AS b ON a.{link.column} = b.id WHERE b.name = '{name}'",
    )


def linked_value(world: World, draws: Draws) -> Drawn:
    """A figure of what one that is named refers to."""
    figure = _figure(draws)
    link = draws.choice([link for link in LINKS if link.other == figure.kind] or [LINKS[0]])
    if link.other != figure.kind:
        figure = FIGURES[0]
    name = _named(world, draws, link.kind)
    role = link.role.format(s=f"the {NOUNS[link.kind][0]} {name}")
    role = role.replace(" lie", " lies").replace(" were ", " was ").replace(" have their ", " has its ")
    role = role.replace(" are set", " is set")
    where = f"the {NOUNS[link.other][0]} {role}" if role.startswith("where") else role
    return Drawn(
        f"What is the {figure.noun} of {where}?",
        f"SELECT b.{figure.column} FROM {link.kind} AS a JOIN {link.other} AS b ON a.{link.column} = b.id "
        f"WHERE a.name = '{name}'",
    )


def linked_count(world: World, draws: Draws) -> Drawn:
    """How many of one table meet a condition of the other."""
    link = _link(draws)
    clause, condition = _compared(draws, _figure(draws, link.other))
    meets = link.clause.format(x=f"{NOUNS[link.other][1]} that {clause}")
    return Drawn(
        f"How many {NOUNS[link.kind][1]} {meets}?",
        f"SELECT count(*) FROM {link.kind} AS a JOIN {link.other} AS b ON a.{link.column} = b.id WHERE b.{condition}",
    )


def group(world: World, draws: Draws) -> Drawn:
    """For each, how many refer to it, from some number on."""
    link, n = _link(draws), draws.between(2, 4)
    role = link.role.format(s=f"at least {n} {NOUNS[link.kind][1]}")
    role = role if role.startswith("where") else f"that are {role}"
    return Drawn(
        f"Which {NOUNS[link.other][1]} are there {role}? Give name and number of {NOUNS[link.kind][1]}.",
        f"SELECT b.name, count(*) FROM {link.kind} AS a JOIN {link.other} AS b ON a.{link.column} = b.id "
        f"GROUP BY b.id HAVING count(*) >= {n}",
    )


def without(world: World, draws: Draws) -> Drawn:
    """How many nothing refers to."""
    link = _link(draws)
    clause, condition = _compared(draws, _figure(draws, link.other))
    role = link.role.format(s=f"no {NOUNS[link.kind][1]}")
    role = role if role.startswith("where") else f"and that are {role}"
    joined = f"that {clause} and {role}" if role.startswith("where") else f"that {clause} {role}"
    return Drawn(
        f"How many {NOUNS[link.other][1]} are there {joined}?",
        f"SELECT count(*) FROM {link.other} AS b WHERE b.{condition} AND NOT EXISTS "
        f"(SELECT 1 FROM {link.kind} AS a WHERE a.{link.column} = b.id)",
    )


def linked_most(world: World, draws: Draws) -> Drawn:
    """Which of those that refer to one that is named has the most."""
    link = _link(draws)
    figure, name = _figure(draws, link.kind), _named(world, draws, link.other)
    extreme, direction = draws.choice(MOST[figure.sort])
    return Drawn(
        f"Of the {NOUNS[link.kind][1]} that {link.clause.format(x=name)}, which one has the {extreme} {figure.noun}? "
        f"Give its name and its {figure.noun}.",
        f"SELECT a.name, a.{figure.column} FROM {link.kind} AS a JOIN {link.other} AS b ON a.{link.column} = b.id "
        f"WHERE b.name = '{name}' ORDER BY a.{figure.column} {direction} LIMIT 1",
    )


def group_mean(world: World, draws: Draws) -> Drawn:
    """For each word of one table, the average of the other."""
    link = draws.choice([link for link in LINKS if any(word.kind == link.other for word in WORDS)])
    word, figure = _word_of(draws, link.other), _figure(draws, link.kind)
    assert word is not None
    of = link.clause.format(x=f"a {NOUNS[link.other][0]} of it")
    return Drawn(
        f"For each {word.each}: what is the average {figure.noun} of the {NOUNS[link.kind][1]} that {of}? Give "
        f"{word.column} and average, ordered by {word.column}. Do not round.",
        f"SELECT b.{word.column}, avg(a.{figure.column}) FROM {link.kind} AS a JOIN {link.other} AS b "
        f"ON a.{link.column} = b.id GROUP BY b.{word.column} ORDER BY b.{word.column}",
    )


def distinct(world: World, draws: Draws) -> Drawn:
    """How many are referred to by at least one with a word."""
    link = draws.choice([link for link in LINKS if any(word.kind == link.kind for word in WORDS)])
    word = _word_of(draws, link.kind)
    assert word is not None
    clause, condition = _worded(draws, word)
    role = link.role.format(s=f"one or more {NOUNS[link.kind][1]} that {clause}")
    role = role if role.startswith("where") else f"that are {role}"
    return Drawn(
        f"Counting each once, how many {NOUNS[link.other][1]} are there {role}?",
        f"SELECT count(DISTINCT {link.column}) FROM {link.kind} WHERE {condition}",
    )


# three tables, or one table twice


def two_links(world: World, draws: Draws) -> Drawn:
    """How many lead over two references to one that is named."""
    first = draws.choice([link for link in LINKS if link.other in ("place", "company", "person")])
    second = draws.choice([link for link in LINKS if link.kind == first.other])
    name = _named(world, draws, second.other)
    through = f"{NOUNS[first.other][1]} that {second.clause.format(x=name)}"
    return Drawn(
        f"How many {NOUNS[first.kind][1]} {first.clause.format(x=through)}?",
        f"SELECT count(*) FROM {first.kind} AS a JOIN {first.other} AS b ON a.{first.column} = b.id "
        f"JOIN {second.other} AS c ON b.{second.column} = c.id WHERE c.name = '{name}'",
    )


def per_country(world: World, draws: Draws) -> Drawn:
    """For each country, a count over its towns."""
    link = _link(draws, "place")
    clause, condition = _compared(draws, _figure(draws, link.kind))
    meets = link.clause.format(x="it")
    return Drawn(
        f"For each country, count the {NOUNS[link.kind][1]} that {clause} and {meets}, in any of its towns. Give the "
        "country's name and the number, without countries of number 0, in order of the name.",
        f"SELECT c.name, count(*) FROM {link.kind} AS a JOIN place AS b ON a.{link.column} = b.id "
        f"JOIN country AS c ON b.country_id = c.id WHERE a.{condition} GROUP BY c.id ORDER BY c.name",
    )


def largest_of_each(world: World, draws: Draws) -> Drawn:
    """For each country, its extreme town."""
    figure = _figure(draws, "place")
    extreme, direction = draws.choice(MOST[figure.sort])
    function = "max" if direction == "DESC" else "min"
    return Drawn(
        f"For each country, which of its towns has the {extreme} {figure.noun}? Give the names of country and town.",
        f"SELECT c.name, p.name FROM place AS p JOIN country AS c ON p.country_id = c.id WHERE p.{figure.column} = "
        f"(SELECT {function}(q.{figure.column}) FROM place AS q WHERE q.country_id = p.country_id)",
    )


def older_than_teacher(world: World, draws: Draws) -> Drawn:
    """Persons and their teachers."""
    word = _word_of(draws, "person")
    assert word is not None
    clause, condition = _worded(draws, word)
    later, operator = draws.choice((("earlier", "<"), ("later", ">")))
    return Drawn(
        f"How many persons that {clause} were born {later} than their teacher?",
        f"SELECT count(*) FROM person AS a JOIN person AS b ON a.teacher_id = b.id "
        f"WHERE a.{condition} AND a.birth_year {operator} b.birth_year",
    )


def same_town(world: World, draws: Draws) -> Drawn:
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
    kind: Kind = "company" if "companies" in text else "work" if "works" in text else "event"
    clause, condition = _compared(draws, _figure(draws, kind))
    return Drawn(f"Give the names of {text} and that {clause}.", f"{sql} AND a.{condition}")


LEVELS: tuple[tuple[Template, ...], ...] = (
    (value, count, count_both, names, most, top, mean, each, span, percentage, above_average),
    (linked, linked_value, linked_count, group, without, linked_most, group_mean, distinct),
    (two_links, per_country, largest_of_each, older_than_teacher, same_town),
)
"""Templates over one table, over two, and over three or one table twice."""
