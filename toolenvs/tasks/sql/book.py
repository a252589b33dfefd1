"""How questions speak of the tables and columns of one database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from toolenvs.tasks.seeding import Draws


@dataclass(frozen=True, slots=True)
class Noun:
    """A table: what one row of it is."""

    one: str
    many: str
    key: str = "id"
    """The column of its primary key, that links lead to."""
    label: str = "name"
    """The column that a row is called by; "" where rows have no name."""
    called: str = "name"
    """What questions call that column."""
    quoted: bool = False
    """Whether a row's name stands in quotation marks."""

    def shown(self, name: str | int) -> str:
        """A row's name in a question."""
        return f'"{name}"' if self.quoted else str(name)


@dataclass(frozen=True, slots=True)
class Figure:
    """A column with a number."""

    table: str
    column: str
    clause: str
    """Behind "towns that": `{cmp}` is a comparison with a number."""
    noun: str
    """Behind "the average"."""
    sort: Literal["amount", "measure", "year"] = "amount"
    """What is compared: a number of things, an uncountable measure, or a year."""
    extremes: tuple[str, str] | None = None
    """In place of "largest" and "smallest"."""


@dataclass(frozen=True, slots=True)
class Word:
    """A column with one of a few words."""

    table: str
    column: str
    clause: str
    """Behind "towns that"; `{w}` is the word."""
    each: str
    """Behind "for each"."""
    called: str = ""
    """What questions call the column; "" for its name."""


@dataclass(frozen=True, slots=True)
class Link:
    """A column that refers to another table."""

    table: str
    column: str
    other: str
    clause: str
    """Behind "companies that"; `{x}` is what they refer to."""
    role: str
    """What the one that is referred to is: "has been {role}", or a clause with "where" or "that"; `{s}` are several."""
    role_one: str = ""
    """The same where `{s}` is one; "" where it does not differ."""

    @property
    def is_clause(self) -> bool:
        """Whether the role is a clause behind its noun, and no noun itself."""
        return self.role.startswith(("where ", "that "))


class Book(Protocol):
    """All that templates need to know of a database."""

    @property
    def nouns(self) -> Mapping[str, Noun]:
        """Of each table that is spoken of."""

    @property
    def figures(self) -> Sequence[Figure]:
        """The columns with numbers."""

    @property
    def words(self) -> Sequence[Word]:
        """The columns with words."""

    @property
    def links(self) -> Sequence[Link]:
        """The columns that refer to a table."""

    @property
    def thresholds(self) -> Mapping[tuple[str, str], Sequence[int | float]]:
        """By table and column, all numbers that questions compare with: few, so that a changed copy has rows there."""

    def named(self, draws: Draws, table: str) -> str | int:
        """The name of one row that no other row of the table has."""

    def values(self, table: str, column: str) -> Sequence[str | int]:
        """The words of a column, in a fixed order."""
