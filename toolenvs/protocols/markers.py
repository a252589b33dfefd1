"""Neutralise protocol markers in text from outside, so that a page or a program cannot forge a turn."""

import re
from collections.abc import Sequence
from functools import lru_cache

_BREAK = "\\"


@lru_cache(maxsize=256)
def _pattern(markers: tuple[str, ...]) -> re.Pattern[str]:
    ordered = sorted({marker for marker in markers if marker}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, ordered)), re.IGNORECASE)


def neutralize(text: str, markers: Sequence[str]) -> str:
    r"""`text` with a backslash behind the first character of every marker in it, in whatever case it is written.

    `</interpreter>` becomes `<\/interpreter>`: still readable, and no longer a marker.
    """
    if not text or not markers:
        return text
    pattern = _pattern(tuple(markers))
    while pattern.search(text):  # again, since markers may overlap
        text = pattern.sub(lambda match: match[0][0] + _BREAK + match[0][1:], text)
    return text
