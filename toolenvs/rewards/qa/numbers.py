"""Numbers in words, with scales, as ordinals and as Roman numerals, in one form."""

import re
from fractions import Fraction

_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_ORDINALS = (
    "zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
)  # fmt: skip
_SMALL = {word: value for value, word in enumerate(_UNITS)} | {word: 20 + 10 * i for i, word in enumerate(_TENS)}
_NTH = {word: value for value, word in enumerate(_ORDINALS)} | {
    word[:-1] + "ieth": 20 + 10 * i for i, word in enumerate(_TENS)
}
_SCALES = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_NTH_SCALES = {word + "th": value for word, value in _SCALES.items()}
_DECADES = {word[:-1] + "ies": f"19{2 + i}0s" for i, word in enumerate(_TENS)}
_DIGITS = re.compile(r"-?\d+(?:\.\d+)?")
_NTH_DIGITS = re.compile(r"(\d+)(?:st|nd|rd|th)")
_ROMAN = re.compile(r"(?=[ivx])x{0,3}(?:ix|iv|v?i{0,3})")
_TITLES = frozenset({"mr", "mrs", "ms", "miss", "mister", "dr", "prof", "professor", "president", "chairman"})
_ROMAN_VALUES = {"i": 1, "v": 5, "x": 10}


def plain(text: str) -> str:
    """A number in digits without the zeros that say nothing: "7.0" is "7", and "007" stays."""
    whole, point, part = text.partition(".")
    part = part.rstrip("0")
    return f"{whole}.{part}" if point and part else whole


def read_numbers(tokens: list[str]) -> list[str]:
    """`tokens` with each run of number words as one number: "twenty", "one" as "21", "1.5", "million" as "1500000"."""
    out: list[str] = []
    at = 0
    while at < len(tokens):
        length, number = _run(tokens[at:])
        out.append(number if length else _DECADES.get(tokens[at], tokens[at]))
        at += max(length, 1)
    return out


def _run(tokens: list[str]) -> tuple[int, str]:
    """How many tokens from the first on are one number, and that number; (0, "") where none are."""
    total, group, used, ordinal = Fraction(0), None, 0, False
    small = False  # whether the group ends with a unit, that no other may follow
    for index, token in enumerate(tokens):
        value = _value(token)
        if ordinal or (value is None and token != "and"):
            break
        if token == "and":
            if not (used and used == index and tokens[index - 1] in _SCALES and _next_is_small(tokens[index + 1 :])):
                break
            continue
        assert value is not None
        number, kind = value
        if kind == "digits":
            if used:
                break
            group, small = number, True
        elif kind == "scale":
            group = (Fraction(1) if group is None else group) * number
            if number > 100:
                total, group = total + group, None
            small = False
        else:
            tens = group is not None and group % 100 != 0
            if small and not (tens and group is not None and group % 10 == 0 and number < 10):
                break
            group = (group or Fraction(0)) + number
            small = True
        used, ordinal = index + 1, token in _NTH or token in _NTH_SCALES
    if not used:
        return 0, ""
    number = total + (group or 0)
    if used == 1 and _DIGITS.fullmatch(tokens[0]):
        return 1, plain(tokens[0])
    shown = str(number.numerator) if number.denominator == 1 else plain(f"{float(number):.12f}")
    return used, _nth(int(number)) if ordinal else shown


def _value(token: str) -> tuple[Fraction, str] | None:
    if token in _SMALL or token in _NTH:
        return Fraction(_SMALL.get(token, _NTH.get(token, 0))), "small"
    if token in _SCALES or token in _NTH_SCALES:
        return Fraction(_SCALES.get(token, _NTH_SCALES.get(token, 1))), "scale"
    if len(token) <= 40 and _DIGITS.fullmatch(token):
        return Fraction(token), "digits"
    return None


def _next_is_small(tokens: list[str]) -> bool:
    return bool(tokens) and (tokens[0] in _SMALL or tokens[0] in _NTH)


def _nth(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def read_romans(tokens: list[str]) -> list[str]:
    """`tokens` with Roman numerals behind a name in digits: "louis", "xiv" as "louis", "14".

    A single letter counts at the end only, as in "World War I", and nothing behind a title, as in "Mr. X".
    """
    last = len(tokens) - 1
    return [
        str(_roman(token))
        if index and tokens[index - 1] not in _TITLES and _ROMAN.fullmatch(token) and (len(token) > 1 or index == last)
        else token
        for index, token in enumerate(tokens)
    ]


def _roman(token: str) -> int:
    values = [_ROMAN_VALUES[letter] for letter in token]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return sum(-value if value < following else value for value, following in pairs)


__all__ = ["plain", "read_numbers", "read_romans"]
