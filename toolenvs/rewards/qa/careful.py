"""One careful normalisation: what may differ between two ways to write one short answer, and nothing else.

Tokens are compared in order, and once more joined, so that "Spider-Man" is "Spiderman". Signs, points, percent and
symbols of a name stay where they carry meaning: "3.14" is not "314", "C++" is not "C". Rules from the comparison of
scorers in the literature's issue threads; see the cases beside the tests.
"""

import re
from functools import lru_cache
from unicodedata import category

from toolenvs.rewards.qa.dates import read_dates
from toolenvs.rewards.qa.fold import fold
from toolenvs.rewards.qa.numbers import plain, read_numbers, read_romans

Forms = frozenset[str]

_LEADING = re.compile(r"^(?:[\s\"',;:!?]|\.(?!\d))+")
_GROUPED = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?!\d|,\d)")
_INITIALS = re.compile(r"(?<![^\W\d_])([^\W\d_])\.(?=\W|[^\W\d_]|$)")
_ARTICLE = re.compile(r"^(?:the|an?)\s+(?=[^\W_])")
_INNER_ARTICLE = re.compile(r"(?<=\w)\s+the\s+(?=[^\W_])")
_HEDGE = re.compile(r"^(?:about|around|approximately|approx\.?|roughly|circa|ca?\.|~)\s*(?=[\d$€£])")
_RANGE = re.compile(r"(?<=\d)\s*(?:-|\bto\b)\s*(?=\d)")
_VOWELS = "".join(sign for sign in map(chr, range(0x900, 0x1B00)) if category(sign) in ("Mn", "Mc"))
"""Signs behind the letters of Indian and South-East Asian scripts, which `\\w` leaves out."""
_TOKEN = re.compile(
    r"(?<![\w.)])[-+]?(?:\d+(?:\.\d+)?|\.\d+)(?![\w.]*\w)"  # a number with its sign
    r"|\d+(?:\.\d+)+"
    r"|(?<!\w)[^\W\d_]{1,2}-(?!\S)"  # a grade, a blood group
    rf"|(?:[^\W\d_][{_VOWELS}]*)+(?:\d+|[+#]+(?!\w))*|\d+[^\W\d_]+\w*"  # a word, C++, C#, h2o, 2nd, 5km
    r"|\d+|[-+*/^&=<>~@](?=\s*[\d])|[=<>](?=\s*[^\W\d_])|[%‰°&$€£¥]|(?<=\d)/(?=\d)"
    r"|[^\s\w\x00-\x7f]"  # of these, symbols: see _is_said
)
_LETTER_PLUS = re.compile(r"(?<=\w)\s*\+\s*(?=[^\W\d_])|(?<=[^\W\d_])\+(?=\d)")
_HYPHEN = re.compile(r"((?<!\w)[^\W\d_]+)-(?=\d)")
_FEET = re.compile(r"(?<=\d)'(?=\d{1,2}(?!\d))")
_RATE = re.compile(r"(?<=\d)(\s*[^\W\d_]{1,12})/(?=[^\W\d_])")
_UNSAID = "©®℗"
_OR_MORE = re.compile(r"(?<=\d)\s*\+(?!\s*[\d.(]|\w)")
_NTH = re.compile(r"([1-9]|[123]\d)(?:st|nd|rd|th)")
_GLUED = re.compile(r"(-?\d+(?:\.\d+)?)([^\W\d_]+)")
_WORDS = {
    "%": "percent", "pct": "percent", "&": "and", "$": "dollar", "usd": "dollar", "dollars": "dollar", "€": "euro",
    "eur": "euro", "euros": "euro", "£": "pound", "gbp": "pound", "pounds": "pound", "¥": "yen", "degrees": "degree",
    "₹": "rupee", "rupees": "rupee", "₩": "won", "₿": "bitcoin", "¢": "cent", "cents": "cent", "‰": "permille",
    "°": "degree", "celsius": "c", "fahrenheit": "f", "minus": "-", "percentage": "percent",
}  # fmt: skip
_MEASURES = {
    "kilometer": "km", "kilometre": "km", "meter": "m", "metre": "m", "centimeter": "cm", "centimetre": "cm",
    "millimeter": "mm", "millimetre": "mm", "kilogram": "kg", "gram": "g", "mile": "mi", "feet": "ft", "foot": "ft",
    "inch": "in", "inches": "in", "hour": "h", "hr": "h", "minute": "min", "lb": "pound",
}  # fmt: skip
_COMPANY = {
    "inc": "inc", "incorporated": "inc", "corp": "corp", "corporation": "corp", "ltd": "ltd", "limited": "ltd",
    "llc": "llc", "plc": "plc", "gmbh": "gmbh",
}  # fmt: skip
_SUFFIXES = frozenset(f"\1{suffix}" for suffix in _COMPANY.values())
"""The suffixes of companies as tokens of their own, so that "Z Inc" is not "Zinc"."""
_BEFORE_NAMES = {"st": "saint", "mt": "mount"}
_CURRENCIES = frozenset({"dollar", "euro", "pound", "yen", "rupee", "won", "bitcoin"})


@lru_cache(maxsize=8192)
def forms(text: str) -> Forms:
    """Every form under which `text` may equal another text; two answers are the same where they share one."""
    found = set()
    for german in (False, True):
        folded = fold(text, german=german)
        tokens = _tokens(folded)
        for read in (tokens, read_romans(tokens), _tokens(folded, regnal=True)):
            for whole in _suffixed(read):
                found |= {"\0".join(whole), _joined(whole)}
    found.discard("")
    if not found:  # nothing but punctuation: a name as it is written
        found = {"".join(fold(text).split())} - {""}
    return frozenset(found)


def _suffixed(tokens: list[str]) -> list[list[str]]:
    """A name without a company's suffix may stand for one with any; one that has a suffix, for none with another."""
    if not tokens or tokens[-1] in _SUFFIXES:
        return [tokens]
    return [tokens, *([*tokens, suffix] for suffix in _SUFFIXES)]


def _tokens(text: str, *, regnal: bool = False) -> list[str]:
    """The tokens of a folded text; `regnal`: "elizabeth the second" read as "elizabeth 2"."""
    text = _LEADING.sub("", " ".join(text.split())).rstrip(" \"'.,;:!?")
    text = _HEDGE.sub("", text)
    text = read_dates(text)
    text = _GROUPED.sub(lambda match: match[0].replace(",", ""), text)
    text = _RATE.sub(r"\1 per ", _HYPHEN.sub(r"\1 ", _FEET.sub(" ft ", text)))
    text = _INITIALS.sub(r"\1", text.replace("'", ""))
    text = _ARTICLE.sub("", text.strip())
    if not regnal:
        text = _INNER_ARTICLE.sub(" ", text)
    text = _LETTER_PLUS.sub(" plus ", _OR_MORE.sub(" plus ", text))
    text = _RANGE.sub(" to ", text)
    tokens: list[str] = []
    for token in filter(_is_said, _TOKEN.findall(text)):
        glued = _GLUED.fullmatch(token)
        if glued and glued[2] not in ("st", "nd", "rd", "th", "s"):
            tokens += [glued[1], glued[2]]
        else:
            tokens.append(token)
    read = read_numbers([_word(token) for token in tokens])
    return _measures(_names(_currency(_regnal(read) if regnal else read)))


def _is_said(token: str) -> bool:
    """Whether a token is part of a name: a word, a number, or a symbol, and no other script's punctuation."""
    symbol = category(token[0])[0] == "S" and token not in _UNSAID
    return token[0] < "\x80" or token[0].isalnum() or symbol or token == "‰"


def _regnal(tokens: list[str]) -> list[str]:
    """Without the articles inside, and an ordinal behind a name and an article as its number."""
    out: list[str] = []
    for at, token in enumerate(tokens):
        nth = _NTH.fullmatch(token) if at > 1 and tokens[at - 1] == "the" and tokens[at - 2].isalpha() else None
        if nth or token != "the" or not 0 < at < len(tokens) - 1:
            out.append(nth[1] if nth else token)
    return out


def _word(token: str) -> str:
    token = token.removeprefix("+")
    if token.startswith("."):
        token = f"0{token}"
    return plain(token) if token.lstrip("-").replace(".", "", 1).isdigit() else _WORDS.get(token, token)


def _currency(tokens: list[str]) -> list[str]:
    """The sign of a currency behind its amount."""
    out = tokens[:]
    for at in range(len(out) - 1):
        if out[at] in _CURRENCIES and out[at + 1][:1].isdigit():
            out[at], out[at + 1] = out[at + 1], out[at]
    return out


def _names(tokens: list[str]) -> list[str]:
    if len(tokens) > 1 and tokens[-1] in _COMPANY:
        tokens = [*tokens[:-1], f"\1{_COMPANY[tokens[-1]]}"]
    return [_BEFORE_NAMES.get(token, token) if at < len(tokens) - 1 else token for at, token in enumerate(tokens)]


def _measures(tokens: list[str]) -> list[str]:
    """Units behind a number in one spelling."""
    out = tokens[:]
    for at in range(1, len(out)):
        if out[at - 1][-1:].isdigit() or out[at - 1] == "per":
            unit = out[at]
            out[at] = _MEASURES.get(unit, _MEASURES.get(unit.removesuffix("s"), unit))
    return out


def _joined(tokens: list[str]) -> str:
    """The tokens as one word; two numbers stay apart."""
    text = ""
    for token in tokens:
        text += (" " if text[-1:].isdigit() and token[:1] in "-0123456789" else "") + token
    return text
