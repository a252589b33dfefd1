"""The world as a site: a page for each entity, with links to those that its facts lead to, and lists of all.

What a page says is the entity's passage, word for word, and the same facts once more as a table. The first page leads
to lists of each kind, a hundred names a page. A page is a function of the world and its path, nothing is stored.
"""

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from toolenvs.errors import TaskError
from toolenvs.world.entities import KINDS, Entity, Key, Kind
from toolenvs.world.passages import wording

if TYPE_CHECKING:
    from toolenvs.world.world import World

URL = "https://world.test/"
"""Where the site stands; a name that no resolver ever finds (RFC 6761)."""
FORM = 1
"""To be raised when pages are written in another way."""
NAMES_A_PAGE = 100
_PLURALS: dict[Kind, str] = {
    "country": "countries", "place": "places", "person": "people", "company": "companies", "work": "works",
    "event": "events",
}  # fmt: skip
_KINDS = {plural: kind for kind, plural in _PLURALS.items()}


def path_of(key: Key) -> str:
    """The path of an entity's page, below `URL`."""
    return f"{_PLURALS[key.kind]}/{key.number}.html"


def paths(world: "World") -> Iterator[str]:
    """Of all pages: the first, the lists, the entities."""
    yield ""
    for kind in KINDS:
        for number in range(_lists(world, kind)):
            yield _list_path(kind, number)
    yield from map(path_of, world.keys())


def web_page(world: "World", path: str) -> str | None:
    """The HTML of a page; None where there is none.

    Args:
        world: which.
        path: below `URL`, such as "", "people/" or "people/17.html".
    """
    if path == "":
        rows = [f"<li>{_link(_list_path(kind, 0), f'{_PLURALS[kind]} ({world.counts[kind]})')}</li>" for kind in KINDS]
        return _written("The world", ["<h1>The world</h1>", f"<ul>{''.join(rows)}</ul>"])
    folder, slash, name = path.partition("/")
    kind = _KINDS.get(folder)
    if kind is None or not slash:
        return None
    if not name or name.startswith("list-"):
        number = _number(name.removeprefix("list-")) if name else 0
        if number is None or number >= _lists(world, kind) or _list_path(kind, number) != path:
            return None
        return _list(world, kind, number)
    number = _number(name)
    if number is None:
        return None
    try:
        entity = world.find(f"{kind}-{number}")
    except TaskError:
        return None
    return _entity(world, entity)


def _number(name: str) -> int | None:
    digits = name.removesuffix(".html")
    plain = digits.isascii() and digits.isdigit() and len(digits) < 8 and str(int(digits)) == digits
    return int(digits) if plain and name != digits else None


def _lists(world: "World", kind: Kind) -> int:
    return -(-world.counts[kind] // NAMES_A_PAGE)


def _list_path(kind: Kind, number: int) -> str:
    return f"{_PLURALS[kind]}/" + (f"list-{number}.html" if number else "")


def _list(world: "World", kind: Kind, number: int) -> str:
    first = number * NAMES_A_PAGE
    keys = [Key(kind, at) for at in range(first, min(first + NAMES_A_PAGE, world.counts[kind]))]
    names = [f"<li>{_link(path_of(key), world.name(key))}</li>" for key in keys]
    title = f"{_PLURALS[kind].capitalize()}, {first + 1} to {first + len(keys)} of {world.counts[kind]}"
    turns = []
    if number:
        turns.append(_link(_list_path(kind, number - 1), "previous"))
    if number + 1 < _lists(world, kind):
        turns.append(_link(_list_path(kind, number + 1), "next"))
    return _written(title, [f"<h1>{escape(title)}</h1>", f"<ul>{''.join(names)}</ul>", f"<p>{' '.join(turns)}</p>"])


def _entity(world: "World", entity: Entity) -> str:
    linked = {fact: _link(path_of(key), world.name(key)) for fact, key in entity.links.items()}
    plain = {**{fact: str(value) for fact, value in entity.figures.items()}, **entity.words}
    facts = {**linked, **{fact: escape(value) for fact, value in plain.items()}}
    text = wording(world, entity).format_map({"name": escape(entity.name), **facts})
    rows = [f"<tr><th>{fact.replace('_', ' ')}</th><td>{value}</td></tr>" for fact, value in facts.items()]
    place = f"<p>{_link('', 'The world')} / {_link(_list_path(entity.key.kind, 0), _PLURALS[entity.key.kind])}</p>"
    return _written(
        entity.name,
        [
            place,
            f"<h1>{escape(entity.name)}</h1>",
            f"<p>{text}</p>",
            "<h2>Facts</h2>",
            f"<table>{''.join(rows)}</table>",
        ],
    )


def _link(path: str, text: str) -> str:
    return f'<a href="/{path}">{escape(text)}</a>'


def _written(title: str, parts: list[str]) -> str:
    head = f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n</head>'
    return "\n".join([head, "<body>", *parts, "</body>", "</html>", ""])
