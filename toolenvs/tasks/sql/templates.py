"""Templates of questions that any book can fill: each draws what it speaks of, and gives a question and its query.

A question says which columns are wanted, and in which order the rows, wherever the query orders them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from toolenvs.tasks.seeding import Draws
from toolenvs.tasks.sql.book import Book, Figure, Link, Word
from toolenvs.tasks.sql.wording import COMPARISONS, EXTREMES, SMALL, a, literal, number, several


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a template drew."""

    text: str
    sql: str


class NothingFound(LookupError):
    """The database has nothing that a template could speak of."""


Template = Callable[[Any, Draws], Drawn]
"""Called with a `Book`; one of a single database may ask for more than that."""


def figure_of(book: Book, draws: Draws, table: str = "", *, called: bool = False) -> Figure:
    """A figure, of one table where one is given; `called`: of a table whose rows have names."""
    found = [figure for figure in book.figures if not table or figure.table == table]
    return draws.choice([figure for figure in found if not called or book.nouns[figure.table].label])


def link_of(book: Book, draws: Draws, other: str = "", *, called: bool = False) -> Link:
    """A link, to one table where one is given; `called`: from a table whose rows have names."""
    found = [link for link in book.links if not other or link.other == other]
    return draws.choice([link for link in found if not called or book.nouns[link.table].label])


def compared(book: Book, draws: Draws, figure: Figure) -> tuple[str, str]:
    """A clause that compares a figure, and its condition."""
    n = draws.choice(book.thresholds[figure.table, figure.column])
    words, operator = draws.choice(COMPARISONS[figure.sort])
    shown = number(n, figure.sort)
    return figure.clause.format(cmp=words.format(n=shown)), f"{figure.column} {operator} {n}"


def extreme_of(draws: Draws, figure: Figure) -> tuple[str, str]:
    """What the first is called, and the direction of the order."""
    down, up = figure.extremes or EXTREMES[figure.sort]
    return draws.choice(((down, "DESC"), (up, "ASC")))


def worded(book: Book, draws: Draws, word: Word) -> tuple[str, str]:
    """A clause with a word of a column, and its condition."""
    value = draws.choice(book.values(word.table, word.column))
    return word.clause.format(w=value), f"{word.column} = {literal(value)}"


def word_of(book: Book, draws: Draws, table: str = "", *, called: bool = False) -> Word:
    """A column of words beside figures, of one table where one is given; `called`: of one whose rows have names."""
    tables = {figure.table for figure in book.figures}
    found = [word for word in book.words if (word.table == table if table else word.table in tables)]
    return draws.choice([word for word in found if not called or book.nouns[word.table].label])


def named(book: Book, draws: Draws, table: str) -> tuple[str, str]:
    """A row's name, in the question and in SQL."""
    name = book.named(draws, table)
    return book.nouns[table].shown(name), literal(name)


# one table


def value(book: Book, draws: Draws) -> Drawn:
    """A figure of one row that is named."""
    figure = figure_of(book, draws, called=True)
    shown, name = named(book, draws, figure.table)
    noun = book.nouns[figure.table]
    text = f"What is the {figure.noun} of the {noun.one} {shown}?"
    return Drawn(text, f"SELECT {figure.column} FROM {figure.table} WHERE {noun.label} = {name}")


def count(book: Book, draws: Draws) -> Drawn:
    """How many meet one comparison."""
    figure = figure_of(book, draws)
    clause, condition = compared(book, draws, figure)
    many = book.nouns[figure.table].many
    return Drawn(f"How many {many} {clause}?", f"SELECT count(*) FROM {figure.table} WHERE {condition}")


def count_both(book: Book, draws: Draws) -> Drawn:
    """How many meet a comparison and have a word."""
    word = word_of(book, draws)
    figure = figure_of(book, draws, word.table)
    (first, one), (second, other) = worded(book, draws, word), compared(book, draws, figure)
    return Drawn(
        f"How many {book.nouns[word.table].many} {first} and {second}?",
        f"SELECT count(*) FROM {word.table} WHERE {one} AND {other}",
    )


def names(book: Book, draws: Draws) -> Drawn:
    """The names of those that meet two conditions."""
    word = word_of(book, draws, called=True)
    (first, one), (second, other) = worded(book, draws, word), compared(book, draws, figure_of(book, draws, word.table))
    noun = book.nouns[word.table]
    return Drawn(
        f"Give the {several(noun.called)} of the {noun.many} that {first} and {second}.",
        f"SELECT {noun.label} FROM {word.table} WHERE {one} AND {other}",
    )


def most(book: Book, draws: Draws) -> Drawn:
    """Which of those with a word has the most."""
    word = word_of(book, draws, called=True)
    figure, noun = figure_of(book, draws, word.table), book.nouns[word.table]
    (clause, condition), (extreme, direction) = worded(book, draws, word), extreme_of(draws, figure)
    return Drawn(
        f"Of the {noun.many} that {clause}, which one has the {extreme} {figure.noun}? Give its {noun.called}.",
        f"SELECT {noun.label} FROM {word.table} WHERE {condition} ORDER BY {figure.column} {direction} LIMIT 1",
    )


def top(book: Book, draws: Draws) -> Drawn:
    """The first few, in order."""
    figure, k = figure_of(book, draws, called=True), draws.below(len(SMALL))
    extreme, direction = extreme_of(draws, figure)
    noun = book.nouns[figure.table]
    return Drawn(
        f"Which {SMALL[k]} {noun.many} have the {extreme} {figure.noun}? Give {noun.called} and {figure.noun}, the "
        f"{extreme} first.",
        f"SELECT {noun.label}, {figure.column} FROM {figure.table} ORDER BY {figure.column} {direction} LIMIT {k + 2}",
    )


def mean(book: Book, draws: Draws) -> Drawn:
    """An average."""
    word = word_of(book, draws)
    figure = figure_of(book, draws, word.table)
    clause, condition = worded(book, draws, word)
    return Drawn(
        f"What is the average {figure.noun} of the {book.nouns[word.table].many} that {clause}? Do not round.",
        f"SELECT avg({figure.column}) FROM {word.table} WHERE {condition}",
    )


def each(book: Book, draws: Draws) -> Drawn:
    """A count for each word."""
    word = word_of(book, draws)
    clause, condition = compared(book, draws, figure_of(book, draws, word.table))
    return Drawn(
        f"For each {word.each}, how many {book.nouns[word.table].many} {clause}? Give {word.called or word.column} and "
        "number, without those of number 0.",
        f"SELECT {word.column}, count(*) FROM {word.table} WHERE {condition} GROUP BY {word.column}",
    )


def span(book: Book, draws: Draws) -> Drawn:
    """The smallest and the largest of those with a word."""
    word = word_of(book, draws)
    figure = figure_of(book, draws, word.table)
    clause, condition = worded(book, draws, word)
    high, low = figure.extremes or ("highest", "lowest")
    return Drawn(
        f"What are the {low} and the {high} {figure.noun} of the {book.nouns[word.table].many} that {clause}? Give the "
        f"{low} first.",
        f"SELECT min({figure.column}), max({figure.column}) FROM {word.table} WHERE {condition}",
    )


def percentage(book: Book, draws: Draws) -> Drawn:
    """The share that has a word, of those that meet a comparison."""
    word = word_of(book, draws)
    (first, one), (second, other) = worded(book, draws, word), compared(book, draws, figure_of(book, draws, word.table))
    return Drawn(
        f"Of the {book.nouns[word.table].many} that {second}, what percentage {first}? Round to 2 decimals.",
        f"SELECT round(100.0 * sum({one}) / count(*), 2) FROM {word.table} WHERE {other}",
    )


def above_average(book: Book, draws: Draws) -> Drawn:
    """How many are above the average of all."""
    word = word_of(book, draws)
    figure = figure_of(book, draws, word.table)
    clause, condition = worded(book, draws, word)
    many = book.nouns[word.table].many
    return Drawn(
        f"How many of the {many} that {clause} have {a(figure.noun)} above the average of all {many}?",
        f"SELECT count(*) FROM {word.table} WHERE {condition} AND "
        f"{figure.column} > (SELECT avg({figure.column}) FROM {word.table})",
    )


# two tables


def linked(book: Book, draws: Draws) -> Drawn:
    """The names of those that refer to one that is named."""
    link = link_of(book, draws, called=True)
    shown, name = named(book, draws, link.other)
    noun, other = book.nouns[link.table], book.nouns[link.other]
    return Drawn(
        f"Give the {several(noun.called)} of the {noun.many} that {link.clause.format(x=shown)}.",
        f"SELECT a.{noun.label} FROM {joined(book, link)} WHERE b.{other.label} = {name}",
    )


def linked_value(book: Book, draws: Draws) -> Drawn:
    """A figure of what one that is named refers to."""
    figure = figure_of(book, draws)
    found = [link for link in book.links if link.other == figure.table and book.nouns[link.table].label]
    link = draws.choice(found or [book.links[0]])
    if link.other != figure.table:
        figure = next(found for found in book.figures if found.table == link.other)
    shown, name = named(book, draws, link.table)
    noun = book.nouns[link.table]
    role = (link.role_one or link.role).format(s=f"the {noun.one} {shown}")
    where = f"the {book.nouns[link.other].one} {role}" if link.is_clause else role
    return Drawn(
        f"What is the {figure.noun} of {where}?",
        f"SELECT b.{figure.column} FROM {joined(book, link)} WHERE a.{noun.label} = {name}",
    )


def linked_count(book: Book, draws: Draws) -> Drawn:
    """How many of one table meet a condition of the other."""
    link = measured_link(book, draws)
    clause, condition = compared(book, draws, figure_of(book, draws, link.other))
    meets = link.clause.format(x=f"{book.nouns[link.other].many} that {clause}")
    return Drawn(
        f"How many {book.nouns[link.table].many} {meets}?",
        f"SELECT count(*) FROM {joined(book, link)} WHERE b.{condition}",
    )


def group(book: Book, draws: Draws) -> Drawn:
    """For each, how many refer to it, from some number on."""
    link, n = link_of(book, draws), draws.between(2, 4)
    noun, other = book.nouns[link.table], book.nouns[link.other]
    role = link.role.format(s=f"at least {n} {noun.many}")
    role = role if link.is_clause else f"that are {role}"
    return Drawn(
        f"Which {other.many} are there {role}? Give {other.called} and number of {noun.many}.",
        f"SELECT b.{other.label}, count(*) FROM {joined(book, link)} GROUP BY b.{other.key} HAVING count(*) >= {n}",
    )


def without(book: Book, draws: Draws) -> Drawn:
    """How many nothing refers to."""
    link = measured_link(book, draws)
    clause, condition = compared(book, draws, figure_of(book, draws, link.other))
    other = book.nouns[link.other]
    role = link.role.format(s=f"no {book.nouns[link.table].many}")
    role = f"and {role}" if link.is_clause else f"and that are {role}"
    return Drawn(
        f"How many {other.many} are there that {clause} {role}?",
        f"SELECT count(*) FROM {link.other} AS b WHERE b.{condition} AND NOT EXISTS "
        f"(SELECT 1 FROM {link.table} AS a WHERE a.{link.column} = b.{other.key})",
    )


def linked_most(book: Book, draws: Draws) -> Drawn:
    """Which of those that refer to one that is named has the most."""
    tables = {figure.table for figure in book.figures}
    link = draws.choice([link for link in book.links if link.table in tables and book.nouns[link.table].label])
    figure = figure_of(book, draws, link.table)
    shown, name = named(book, draws, link.other)
    extreme, direction = extreme_of(draws, figure)
    noun, other = book.nouns[link.table], book.nouns[link.other]
    return Drawn(
        f"Of the {noun.many} that {link.clause.format(x=shown)}, which one has the {extreme} {figure.noun}? "
        f"Give its {noun.called} and its {figure.noun}.",
        f"SELECT a.{noun.label}, a.{figure.column} FROM {joined(book, link)} "
        f"WHERE b.{other.label} = {name} ORDER BY a.{figure.column} {direction} LIMIT 1",
    )


def group_mean(book: Book, draws: Draws) -> Drawn:
    """For each word of one table, the average of the other."""
    worded_tables, measured = {word.table for word in book.words}, {figure.table for figure in book.figures}
    link = draws.choice([link for link in book.links if link.other in worded_tables and link.table in measured])
    word = draws.choice([word for word in book.words if word.table == link.other])
    figure, called = figure_of(book, draws, link.table), word.called or word.column
    of = link.clause.format(x=f"{a(book.nouns[link.other].one)} of it")
    return Drawn(
        f"For each {word.each}: what is the average {figure.noun} of the {book.nouns[link.table].many} that {of}? Give "
        f"{called} and average, ordered by {called}. Do not round.",
        f"SELECT b.{word.column}, avg(a.{figure.column}) FROM {joined(book, link)} "
        f"GROUP BY b.{word.column} ORDER BY b.{word.column}",
    )


def distinct(book: Book, draws: Draws) -> Drawn:
    """How many are referred to by at least one with a word."""
    worded_tables = {word.table for word in book.words}
    link = draws.choice([link for link in book.links if link.table in worded_tables])
    noun = book.nouns[link.table]
    clause, condition = worded(book, draws, draws.choice([word for word in book.words if word.table == link.table]))
    role = link.role.format(s=f"one or more {noun.many} that {clause}")
    role = role if link.is_clause else f"that are {role}"
    return Drawn(
        f"Counting each once, how many {book.nouns[link.other].many} are there {role}?",
        f"SELECT count(DISTINCT {link.column}) FROM {link.table} WHERE {condition}",
    )


# three tables


def two_links(book: Book, draws: Draws) -> Drawn:
    """How many lead over two references to one that is named."""
    firsts = {link.table for link in book.links}
    first = draws.choice([link for link in book.links if link.other in firsts])
    second = draws.choice([link for link in book.links if link.table == first.other])
    shown, name = named(book, draws, second.other)
    through = f"{book.nouns[first.other].many} that {second.clause.format(x=shown)}"
    last = book.nouns[second.other]
    return Drawn(
        f"How many {book.nouns[first.table].many} {first.clause.format(x=through)}?",
        f"SELECT count(*) FROM {joined(book, first)} JOIN {second.other} AS c ON b.{second.column} = c.{last.key} "
        f"WHERE c.{last.label} = {name}",
    )


ONE_TABLE: tuple[Template, ...] = (
    value, count, count_both, names, most, top, mean, each, span, percentage, above_average,
)  # fmt: skip
TWO_TABLES: tuple[Template, ...] = (
    linked, linked_value, linked_count, group, without, linked_most, group_mean, distinct,
)  # fmt: skip


def joined(book: Book, link: Link) -> str:
    """The two tables of a link, as `a` and `b`."""
    return f"{link.table} AS a JOIN {link.other} AS b ON a.{link.column} = b.{book.nouns[link.other].key}"


def measured_link(book: Book, draws: Draws) -> Link:
    """A link to a table that has figures."""
    tables = {figure.table for figure in book.figures}
    return draws.choice([link for link in book.links if link.other in tables])
