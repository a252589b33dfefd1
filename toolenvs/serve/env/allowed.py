"""Which keys of a page a client may override.

What counts is what changes: each override is applied alone, and every key whose value is then another must be allowed,
however the client spelt it. A page names modules to import, folders, databases and addresses; those are text. So a
pattern with a "*" lets numbers through, and true, false and null, and text needs its exact key.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from toolenvs import page as pages
from toolenvs.errors import PageError

_ABSENT = object()
MAX_OVERRIDES = 64
_MAX_KEY_CHARS = 256


def check(page: str | Path, overrides: Mapping[str, Any], allow: Sequence[str]) -> None:
    """Hold a client's overrides of a page against what is allowed.

    Raises:
        PageError: a key is not allowed, not known, or its value is wrong.
    """
    if not overrides:
        return
    if len(overrides) > MAX_OVERRIDES:
        raise PageError(f"{len(overrides)} overrides are more than the {MAX_OVERRIDES} that this server takes")
    before = _gathered(pages.load(page))
    for key, value in overrides.items():
        if len(key) > _MAX_KEY_CHARS:
            raise PageError(f"the key {key[:40]!r}... is longer than any key of a page")
        after = _gathered(pages.load(page, {key: value}))
        for path in before.keys() | after.keys():
            old, new = before.get(path, [_ABSENT]), after.get(path, [_ABSENT])
            if len(old) == len(new) and all(map(_same, old, new)):
                continue
            if not all(_may(path, each, allow) for each in new):
                told = ", ".join(allow) or "nothing"
                raise PageError(f"{key!r} changes {path}, which this server does not let clients set; it lets: {told}")


def _same(old: Any, new: Any) -> bool:
    return old is new or (old == new and type(old) is type(new))


def _gathered(page: Any) -> dict[str, list[Any]]:
    """The values at each dotted key: several where a key of a table holds dots itself."""
    found: dict[str, list[Any]] = {}
    for path, value in _leaves(page):
        found.setdefault(path, []).append(value)
    return found


def _may(path: str, value: Any, allow: Sequence[str]) -> bool:
    number = value is None or isinstance(value, bool | int | float)
    return path in allow or (number and any(fnmatchcase(path, pattern) for pattern in allow))


def _leaves(part: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of a page by its dotted key; a term of the reward stands under its name."""
    if is_dataclass(part):
        for entry in fields(part):
            yield from _leaves(getattr(part, entry.name), f"{path}.{entry.name}" if path else entry.name)
    elif isinstance(part, Mapping):
        yield path, "a table"
        for key, value in part.items():
            yield from _leaves(value, f"{path}.{key}")
    elif path == "reward":
        for index, term in enumerate(part):
            yield f"{path}[{index}]", str(term.get("term"))
            yield from _leaves(
                {key: value for key, value in term.items() if key != "term"}, f"{path}.{term.get('term')}"
            )
    elif isinstance(part, tuple | list):
        yield path, repr(part)
    else:
        yield path, part
