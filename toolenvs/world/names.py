"""Invented names: one for each number, no two alike.

Given names are short, and more than half of them are words or names somewhere; of the others, which tell entities
apart, about one in 1,400 is (`benchmarks/contamination.py`).
"""

from math import gcd
from typing import Literal

from toolenvs.tasks.seeding import stable_seed

Style = Literal["surname", "given", "place", "country", "company", "work", "event"]

_ONSETS = (
    "b", "d", "f", "g", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "dr", "kr", "st", "vl", "zh",
)  # fmt: skip
_VOWELS = ("a", "e", "i", "o", "u", "ae", "ou")
_ENDINGS: dict[Style, tuple[str, ...]] = {
    "surname": (
        "bek", "bran", "dran", "dov", "fenn", "gost", "hald", "jak", "kel", "lund", "mor", "nax", "noy", "pold",
        "quist", "rell", "ruk", "sko", "sarn", "tav", "tosk", "vik", "wen", "zor",
    ),
    "given": ("la", "mi", "nu", "ro", "sha", "ti", "vo", "xe"),
    "place": (
        "bor", "dral", "fen", "gard", "hult", "kop", "mere", "noth", "pel", "quay", "ros", "sund", "thal", "tun",
        "vash", "ved", "wick", "wold", "yr", "zell",
    ),
    "country": ("nia", "stan", "mark", "voria", "lesh", "dunia"),
    "company": ("bix", "cor", "dex", "fon", "lux", "mag", "nor", "plix", "sten", "tron", "vex", "zon"),
    "work": (
        "bane", "deth", "fane", "gior", "hane", "joon", "keth", "lior", "moon", "nane", "poon", "reth", "sulle", "tyss",
        "vane", "wyss",
    ),
    "event": ("bal", "dek", "fim", "gos", "kun", "lav", "mek", "nim", "pos", "run", "tal", "vek"),
}  # fmt: skip
_SYLLABLES = len(_ONSETS) * len(_VOWELS)


def capacity(style: Style) -> int:
    """How many different names a style has."""
    return len(_ENDINGS[style]) * int(_SYLLABLES ** _syllables(style))


def name(style: Style, number: int, seed: int) -> str:
    """The name of `number`, from 0 to the style's `capacity`; another seed deals the same names out otherwise.

    Raises:
        ValueError: the number is out of range.
    """
    size = capacity(style)
    if not 0 <= number < size:
        raise ValueError(f"the style {style!r} has {size} names; there is none of number {number}")
    rest = (number * _step(size, seed) + stable_seed("names", style, seed)) % size
    rest, ending = divmod(rest, len(_ENDINGS[style]))
    word = ""
    for _ in range(_syllables(style)):
        rest, syllable = divmod(rest, _SYLLABLES)
        word += _ONSETS[syllable % len(_ONSETS)] + _VOWELS[syllable // len(_ONSETS)]
    return (word + _ENDINGS[style][ending]).capitalize()


def _syllables(style: Style) -> int:
    return 1 if style == "given" else 2


def _step(size: int, seed: int) -> int:
    """A number prime to `size`, so that its multiples visit every remainder once."""
    step = stable_seed("names", seed) % size | 1
    while gcd(step, size) != 1:
        step += 2
    return step
