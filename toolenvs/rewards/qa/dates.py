"""Dates and times of day in one form: ISO for dates, "5:00am" for times."""

import re

_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_NUMBER = {name[:length]: month for month, name in enumerate(_MONTHS, 1) for length in (3, len(name))} | {"sept": 9}
_MONTH = r"(?P<month>" + "|".join(sorted(_NUMBER, key=len, reverse=True)) + r")\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>\d{4})(?![\d-])"
_FORMS = [
    re.compile(pattern)
    for pattern in (
        rf"\b{_MONTH}\s+{_DAY}\b(?:\s*,\s*|\s+){_YEAR}",
        rf"\b{_DAY}(?:\s+of)?[\s-]+{_MONTH}[\s,-]+{_YEAR}",
        rf"\b{_YEAR}\s+{_MONTH}\s+{_DAY}\b",
        r"(?<![\d-])(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})(?![\d-])",
        rf"\b{_MONTH}\s+{_DAY}\b",
        rf"\b{_DAY}(?:\s+of)?\s+{_MONTH}(?!\w)",
        rf"\b{_MONTH},?\s+{_YEAR}",
    )
]
_TIME = re.compile(r"\b(?P<hour>\d{1,2})(?:[:.](?P<minute>\d{2}))?\s*(?P<half>[ap])\.?\s?m\b\.?")


def read_dates(text: str) -> str:
    """Folded `text` with every date and time of day in it as one word, `date19290211` or `time5:00am`."""
    for form in _FORMS:
        text = form.sub(_date, text)
    return _TIME.sub(lambda match: f" time{int(match['hour'])}x{match['minute'] or '00'}{match['half']}m ", text)


def _date(match: re.Match[str]) -> str:
    parts = match.groupdict()
    month = parts["month"]
    number = int(month) if month.isdigit() else _NUMBER[month]
    day = int(parts.get("day") or 0)
    if not 1 <= number <= 12 or day > 31:
        return match[0]
    return f" date{parts.get('year') or 'x'}m{number}d{day} "
