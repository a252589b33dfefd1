"""What follows a number: units of measure, currencies, and the nouns that things are counted in."""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

Dimensions: TypeAlias = tuple[tuple[str, int], ...]

PERCENT: Dimensions = (("percent", 1),)
DEGREE: Dimensions = (("degree", 1),)
RADIAN: Dimensions = (("radian", 1),)


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit as powers of base units, and how many of those it is worth."""

    dimensions: Dimensions
    factor: Fraction = Fraction(1)


def _table() -> dict[str, tuple[str, Fraction]]:
    rows = {
        "m": "m:1 meter metre meters metres",
        "km": "m:1000 kilometer kilometre kilometers kilometres",
        "cm": "m:1/100 centimeter centimetre centimeters centimetres",
        "mm": "m:1/1000 millimeter millimetre millimeters millimetres",
        "in": "m:127/5000 inch inches",
        "ft": "m:381/1250 foot feet",
        "yd": "m:1143/1250 yard yards yds",
        "mi": "m:201168/125 mile miles",
        "g": "g:1 gram grams",
        "kg": "g:1000 kilogram kilograms kilo kilos kgs",
        "mg": "g:1/1000 milligram milligrams",
        "lb": "g:45359237/100000 pound-mass lbs pounds",
        "oz": "g:45359237/1600000 ounce ounces",
        "s": "s:1 sec secs second seconds",
        "ms": "s:1/1000 millisecond milliseconds",
        "min": "s:60 mins minute minutes",
        "h": "s:3600 hr hrs hour hours",
        "day": "s:86400 days",
        "week": "s:604800 weeks wk wks",
        "month": "month:1 months",
        "year": "month:12 years yr yrs",
        "L": "litre:1 l liter litre liters litres",
        "mL": "litre:1/1000 ml milliliter millilitre milliliters millilitres",
        "gal": "gallon:1 gallon gallons",
        "dollar": "dollar:1 dollars usd bucks",
        "cent": "dollar:1/100 cents",
        "euro": "euro:1 euros eur",
        "quid": "pound:1 gbp",
        "yen": "yen:1 jpy",
        "percent": "percent:1 percents percentage",
        "degree": "degree:1 degrees deg degs",
        "radian": "radian:1 radians rad rads",
        "N": "newton:1 newton newtons",
        "J": "joule:1 joule joules",
        "W": "watt:1 watt watts",
        "Hz": "hertz:1 hertz",
        "mol": "mol:1 mole moles",
        "unit": "unit:1 units",
    }
    table: dict[str, tuple[str, Fraction]] = {}
    for name, row in rows.items():
        head, *others = row.split()
        base, factor = head.split(":")
        for spelling in (name, *others):
            table[spelling] = (base, Fraction(factor))
    return table


_UNITS = _table()
_COMPOUND = {
    "mph": "mile / hour",
    "kph": "km / hour",
    "kmph": "km / hour",
    "kmh": "km / hour",
    "fps": "ft / s",
    "cc": "cm^3",
}
_SHORT = frozenset(str.split("m g s h L l N J W"))
"""One-letter units, taken for units only where they stand apart from the number."""
_POWERS = {"square": 2, "sq": 2, "cubic": 3, "cu": 3, "squared": 2, "cubed": 3}
_NOT_NOUNS = frozenset(
    str.split(
        "and or not no maybe if for when where with is are but plus minus times divided over then than perhaps "
        "possibly either neither nor except unless approximately about mod modulo base choose factorial to pi infinity "
        "sqrt sin cos tan log ln exp frac am pm wrong incorrect false half third thirds quarter quarters dozen hundred "
        "thousand million billion trillion zero one two three four five six seven eight nine ten eleven twelve "
        "thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty "
        "ninety first second fourth fifth sixth seventh eighth ninth tenth th ths nd rd tenths hundredths thousandths "
        "negative positive more less most least fewer too very doubtful likely unlikely probably guess guessing think "
        "wait actually sure unsure instead hmm answer correct right also both all none"
    )
)
_PARTICLES = frozenset({"of", "in", "an", "by"})
_EXPONENT = re.compile(r"\^\{?(-?[1-4])\}?")
_WORD = re.compile(r"[A-Za-z][A-Za-z'-]*\.?")
_MULTIPLIERS = {"hundred": 10**2, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SCALED = re.compile(
    r"(?P<currency>(?:\\(?:dollar|euro|pound|yen)\s*)?)(?P<value>.*[\d)}])\s*(?:\\text\{)?\s*"
    rf"(?P<word>{'|'.join(_MULTIPLIERS)})\b(?P<rest>.*)"
)
_CURRENCY = re.compile(r"(?P<sign>[-+]?)\s*\\(?P<name>dollar|euro|pound|yen)(?![A-Za-z])\s*(?P<value>[-+.\d\\(].*)")
_TRAILING_SIGN = re.compile(r"(?P<value>.*\S)\s*\\(?P<name>percent|degree|dollar|euro|pound|yen)\s*(?P<scale>[CFK]?)")
_TRAILING_TEXT = re.compile(
    r"(?P<value>.*?[\d)}\]a-z!])\s*(?P<unit>(?:\\text\{[^{}\d]*\}|/|\\cdot|\^\{?-?[1-4]\}?|\s|(?<![A-Za-z\\])[A-Za-z]+\.?(?=[\s/^]|$))+)"
)
_TRAILING_WORDS = re.compile(
    r"(?P<value>.*?[\d)}])(?P<gap>\s*)(?P<unit>[A-Za-z][A-Za-z'.-]*(?:\s*/\s*[A-Za-z]+|\s+[A-Za-z'.-]+|\^\{?-?[1-4]\}?)*)"
)
_MAX_WORDS = 5
_MAX_CHARACTERS = 300


def split_scale(text: str) -> str:
    """`1.5 million` as a product that can be read; other text unchanged."""
    match = _SCALED.fullmatch(text)
    if match is None:
        return text
    rest = match["rest"].strip().removeprefix("}").strip()
    if "{" in match["rest"] or rest.endswith("}"):
        rest = rest.removesuffix("}")
    scaled = f"{match['currency']}({match['value']})\\cdot {_MULTIPLIERS[match['word']]}"
    return scaled + (f" \\text{{{rest}}}" if rest else "")


def split_unit(text: str) -> tuple[str, Unit | None]:
    """The value's text and its unit, if the text ends in one or begins with a currency sign."""
    if len(text) > _MAX_CHARACTERS:
        return text, None
    if match := _CURRENCY.fullmatch(text):
        value, unit = split_unit(match["value"])
        if unit is None or unit.dimensions == ((match["name"], 1),):
            return match["sign"] + value, Unit(((match["name"], 1),))
        return text, None
    if match := _TRAILING_SIGN.fullmatch(text):
        name = match["name"] + (match["scale"] if match["name"] == "degree" else "")
        if match["scale"] and match["name"] != "degree":
            return text, None
        return match["value"], Unit(((name, 1),))
    if "\\text{" in text and (match := _TRAILING_TEXT.fullmatch(text)) and "\\text{" in match["unit"]:
        unit = read_unit(re.sub(r"\\text\{([^{}]*)\}", r" \1 ", match["unit"]), apart=True)
        if unit is not None:
            return match["value"], unit
    if (match := _TRAILING_WORDS.fullmatch(text)) and not re.search(r"[A-Za-z]\^|\\(?:cup|in)\b", match["value"]):
        unit = read_unit(match["unit"], apart=bool(match["gap"]))
        if unit is not None:
            return match["value"], unit
    return text, None


def read_unit(text: str, *, apart: bool) -> Unit | None:
    """A unit from its text; `apart` where a space or a text command separates it from the number."""
    powers: dict[str, int] = {}
    factor = Fraction(1)
    sign, pending, known = 1, 1, False
    words: list[str] = []
    tokens = re.findall(r"\\cdot|[A-Za-z][A-Za-z'-]*\.?|/|\^\{?-?[1-4]\}?|\S", _expand(text))
    last: str | None = None
    for token in tokens:
        if token == "/" or token == "per":
            sign, last = -1, None
        elif token == "\\cdot":
            continue
        elif exponent := _EXPONENT.fullmatch(token):
            if last is None:
                return None
            extra = int(exponent[1]) - 1
            base, worth = _UNITS.get(last, (last, Fraction(1)))
            powers[base] = powers.get(base, 0) + sign * extra
            factor *= worth ** (sign * extra)
        elif _WORD.fullmatch(token):
            word = token.rstrip(".")
            if word.lower() in _POWERS:
                if word.lower() in ("squared", "cubed") and last is not None:
                    extra = _POWERS[word.lower()] - 1
                    base, worth = _UNITS.get(last, (last, Fraction(1)))
                    powers[base] = powers.get(base, 0) + sign * extra
                    factor *= worth ** (sign * extra)
                else:
                    pending = _POWERS[word.lower()]
                continue
            name = word if word in _UNITS else word.lower()
            if name in _UNITS:
                if name in _SHORT and not apart:
                    return None
                base, worth = _UNITS[name]
                powers[base] = powers.get(base, 0) + sign * pending
                factor *= worth ** (sign * pending)
                last, pending, known = name, 1, True
            elif word.lower() in _NOT_NOUNS or not apart or (len(word) < 3 and word.lower() not in _PARTICLES):
                return None
            else:
                words.append(word.lower())
                last, pending = None, 1
        else:
            return None
    if len(words) > _MAX_WORDS or not (powers or words):
        return None
    if not known:
        return Unit(((_singular(" ".join(words)), 1),))
    dimensions = tuple(sorted((base, power) for base, power in powers.items() if power))
    return Unit(dimensions, factor)


def _expand(text: str) -> str:
    for short, full in _COMPOUND.items():
        text = re.sub(rf"\b{short}\b", full, text)
    return text


def _singular(noun: str) -> str:
    return noun[:-1] if noun.endswith("s") and not noun.endswith("ss") else noun
