"""Fold the ways of writing one character: case, accents, widths, dashes, quotes."""

import re
import unicodedata
from functools import lru_cache

_LETTERS = str.maketrans(
    {"đ": "d", "ø": "o", "ł": "l", "æ": "ae", "œ": "oe", "ı": "i", "þ": "th", "ð": "d", "ħ": "h", "ŋ": "ng"}
)
_MARKS = str.maketrans(
    {
        **dict.fromkeys("‐‑‒–—―−﹣－", "-"),
        **dict.fromkeys("‘’‚‛ʼ´`′", "'"),
        **dict.fromkeys("“”„‟«»″", '"'),
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", None),
        "⁄": "/",
        "∕": "/",
        "×": "x",
        "♯": "#",
        "♭": " flat",
    }
)
_POWER = re.compile(r"(?<=\d)([⁰¹²³⁴⁵⁶⁷⁸⁹]+)")
_VULGAR = re.compile(r"(?<=\d)(?=[¼½¾⅐-⅞])")
_GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})


def fold(text: str, *, german: bool = False) -> str:
    """`text` in one case, one width and without accents; marks of other scripts are letters, and stay.

    A power stays apart from its base, and a fraction from its whole number.

    Args:
        text: any text.
        german: write umlauts out ("Zürich" as "zuerich") instead of dropping their dots.
    """
    text = _VULGAR.sub(" ", _POWER.sub(r"^\1", text))
    text = unicodedata.normalize("NFKC", text).translate(_MARKS).casefold()
    text = unicodedata.normalize("NFC", text)
    if german:
        text = text.translate(_GERMAN)
    return unicodedata.normalize("NFC", "".join(map(_bare, text))).translate(_LETTERS)


@lru_cache(maxsize=4096)
def _bare(character: str) -> str:
    """The letter without its accents, where the script treats them as such."""
    if character < "\x80":
        return character
    base = unicodedata.normalize("NFD", character)[0]
    if base != character and unicodedata.name(base, "").startswith(("LATIN", "GREEK")):
        return base
    if unicodedata.combining(character) and "COMBINING" in unicodedata.name(character, ""):
        return ""
    return "е" if character == "ё" else character
