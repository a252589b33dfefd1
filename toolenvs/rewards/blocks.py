"""Blocks between tags, found in time that grows with the text and no faster, however it is written."""

import re
from collections.abc import Iterator, Sequence


def blocks(text: str, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Name and content of each `<name>...</name>`, in order.

    A block ends at the first closing tag of its name, whatever stands before it; an opening tag without one is text.
    """
    opening = re.compile(f"<({'|'.join(map(re.escape, names))})>")
    unclosed: set[str] = set()  # names with no closing tag from here on; searched for once and not at every opening
    position = 0
    while found := opening.search(text, position):
        name, position = found[1], found.end()
        if name in unclosed:
            continue
        end = text.find(f"</{name}>", position)
        if end < 0:
            unclosed.add(name)
            continue
        yield name, text[position:end]
        position = end + len(name) + 3
