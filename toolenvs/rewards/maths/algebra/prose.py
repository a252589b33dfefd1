"""Words: names, options, numbers in words, and phrases that stand for something mathematical."""

import re

from .parse import looks_like_word
from .shapes import Words

_SMALL = str.split(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen twenty"
)
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_NUMBER_WORDS = {word: k for k, word in enumerate(_SMALL)} | _TENS
_NUMBER_WORDS |= {f"{t}-{_SMALL[k]}": _TENS[t] + k for t in _TENS for k in range(1, 10)} | {"hundred": 100}
_PHRASES: dict[str, str] = {
    "no solution": r"\emptyset", "no solutions": r"\emptyset", "no real solution": r"\emptyset",
    "no real solutions": r"\emptyset", "empty set": r"\emptyset", "the empty set": r"\emptyset",
    "there are no solutions": r"\emptyset", "there is no solution": r"\emptyset",
    "all real numbers": r"\mathbb{R}", "all reals": r"\mathbb{R}", "all real": r"\mathbb{R}",
    "the real numbers": r"\mathbb{R}", "real numbers": r"\mathbb{R}",
    "one half": "1/2", "a half": "1/2", "half": "1/2", "one third": "1/3", "a third": "1/3", "two thirds": "2/3",
    "one quarter": "1/4", "a quarter": "1/4", "one fourth": "1/4", "three quarters": "3/4", "three fourths": "3/4",
    "infinity": r"\infty", "positive infinity": r"\infty", "plus infinity": r"\infty",
    "negative infinity": r"-\infty", "minus infinity": r"-\infty",
    "dne": "does not exist", "undefined": "undefined",
}  # fmt: skip
_PROSE = re.compile(r"[A-Za-z][A-Za-z'.-]*(?:[ ,]+[A-Za-z'.-]+)*[.!]?")
_LETTER_OPTION = re.compile(r"\(?([A-Z])(?:\)|:|\.(?!\w))\s*(.*)", re.DOTALL)


def prose(plain: str) -> Words | str | None:
    """Words for text without mathematics; a string where the words name something that is read instead."""
    if option := _LETTER_OPTION.fullmatch(plain):
        return Words((option[1], *option[2].split()))
    if not _PROSE.fullmatch(plain) or "," in plain:
        return None
    phrase = plain.rstrip(".!").lower()
    if phrase in _PHRASES:
        return _PHRASES[phrase] if phrase not in ("dne", "undefined") else Words(tuple(_PHRASES[phrase].split()))
    if phrase in _NUMBER_WORDS:
        return str(_NUMBER_WORDS[phrase])
    words = re.split(r"[ ,]+", plain.rstrip(".!"))
    if len(words) > 1 and words[0].lower() in ("the", "a", "an") and len(words[1]) > 1:
        words = words[1:]
    if len(words) == 1 and (not looks_like_word(plain) or plain in ("pi", "infty")):
        return None
    first = words[0].lower()
    if len(words) > 1 and first in _NUMBER_WORDS:
        return " ".join((str(_NUMBER_WORDS[first]), *words[1:]))
    if all(len(word) == 1 for word in words) or any(word in ("and", "or") for word in words):
        return None
    if any(word in ("sqrt", "sin", "cos", "tan", "log", "ln", "pi") for word in words):
        return None
    return Words(tuple(word.lower() if len(word) > 1 else word for word in words))
