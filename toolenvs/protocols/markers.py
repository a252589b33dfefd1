"""Neutralise protocol markers in text from outside, so that a page or a program cannot forge a turn."""

import re
from collections.abc import Sequence
from functools import lru_cache

_BREAKS = ("\\", "^", "\u00b7")
_TAG = re.compile(r"<(/?)([\w-]+)>")


@lru_cache(maxsize=256)
def _reading(markers: tuple[str, ...]) -> tuple[re.Pattern[str], str]:
    """What finds the markers, and a character that none of them holds: no marker can run across it."""
    ordered = sorted({marker for marker in markers if len(marker) > 1}, key=len, reverse=True)
    held = set("".join(ordered))
    free = next((character for character in _BREAKS if character not in held), None)
    if free is None:
        free = next(chr(code) for code in range(0x2010, 0x3000) if chr(code) not in held)
    return re.compile("|".join(map(_spelling, ordered)) or r"(?!)", re.IGNORECASE), free


def _spelling(marker: str) -> str:
    """The marker; a tag also with stray spaces and attributes, which a model reads alike."""
    tag = _TAG.fullmatch(marker)
    if tag is None:
        return re.escape(marker)
    slash = r"/\s*" if tag[1] else ""
    return rf"<\s*{slash}{re.escape(tag[2])}(?=[\s/>])"


def neutralize(text: str, markers: Sequence[str]) -> str:
    r"""`text` with a backslash behind the first character of every marker in it, however it is written.

    `</interpreter>` becomes `<\/interpreter>`: still readable, and no longer a marker. Another character stands for the
    backslash where a marker holds one. Markers of a single character cannot be broken, and are left.
    """
    if not text or not markers:
        return text
    pattern, free = _reading(tuple(markers))
    while pattern.search(text):  # again, since markers may overlap
        text = pattern.sub(lambda match: match[0][0] + free + match[0][1:], text)
    return text
