"""What a reader of one kind of documentation proposes to ask."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from toolenvs.web.facts.pages import Sheet


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A question that may turn out to have no one answer."""

    kind: str
    subject: str
    question: str
    answer: str
    aliases: tuple[str, ...] = ()
    line: int
    """Of the page: it holds the answer."""
    cites: tuple[int, ...] = ()
    """Further lines that it takes."""
    names: tuple[str, ...] = ()
    """Words by which other lines of the site speak of the subject."""
    at: int | None = None
    """Where in the line, without marks of links, the answer begins; None where copies leave it."""
    values: str = ""
    """As of `toolenvs.site_facts.Slot`."""
    body: range = field(default=range(0))
    """The lines that speak of the subject without naming it."""
    anchor: str = ""
    """Of the page, at or before the line; its source is searched from there."""
    refused: str = ""
    """Why it is not asked; "" where the reader has nothing against it."""


Reader = Callable[[Sheet], Iterator[Candidate]]
"""Reads one page."""
