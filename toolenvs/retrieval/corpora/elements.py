"""The World Factbook and the chemical elements in one corpus: see `toolenvs.factbook.elements`."""

from collections.abc import Iterator
from importlib import metadata

from toolenvs.factbook import elements
from toolenvs.retrieval.corpora import factbook
from toolenvs.retrieval.corpus import Passage

_FORM = 1
"""To be raised when an element's passage is written in another way."""


def passages() -> Iterator[Passage]:
    """All passages, those of the Factbook first.

    Raises:
        MissingExtraError: a package that holds the texts is not installed.
    """
    yield from factbook.passages()
    yield from (Passage(made.id, made.title, made.text) for made in elements.passages())


def form() -> str:
    """The releases of the packages that hold the texts, and how these are written.

    Raises:
        MissingExtraError: one of them is not installed.
    """
    elements.elements()
    return f"{factbook.form()}-{metadata.version('mendeleev')}-{_FORM}"
