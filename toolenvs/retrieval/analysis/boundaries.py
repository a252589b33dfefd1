"""Text to words, as Lucene's StandardTokenizer divides it: the word boundaries of Unicode's UAX #29, and emoji.

ASCII is divided by one regular expression. In other text each code point is first replaced by the letter of its class,
and a regular expression over those letters finds the words. The classes are recorded from Lucene's own tokenizer
(`wordbreak.txt`, which tests/retrieval/recording/wordbreak.py makes), so its version of Unicode is ours:

    L letter, Hangul too    H Hebrew letter    N digit         K Katakana      X joins, such as "_"
    I Han and Hiragana      S Thai, Lao, ...   P pictograph    R flag letter   # keycap base
    M ":" between letters   B "." and "’" between letters or digits    Q "'"   n "," and ";" between digits   D '"'
    E extends what precedes it    e V k Z  variation selectors, keycap, joiner    T extends, or stands alone
"""

import functools
import re
from importlib import resources

import numpy as np
import numpy.typing as npt

MAX_LENGTH = 255
"""A longer word is cut here, and what is left is divided again."""

_ASCII = re.compile(
    r"_*[A-Za-z0-9]\w*(?:(?:(?<=[A-Za-z])[:.'](?=[A-Za-z])|(?<=[0-9])[.,;'](?=[0-9]))\w+)*|_+", re.ASCII
)
_BEYOND_ASCII = re.compile(r"(?<![!-~])[!-~]*+[^\x00-\x7f][^\x00-\x20]*")
"""A stretch without spaces that is not all ASCII."""
_E = "[EeVkZT]*"
_X = f"X{_E}"
_RUN = f"(?:(?:K{_E})+|(?:H{_E}D{_E}(?=H)|[LH]{_E}[MBQ]{_E}(?=[LH])|H{_E}Q{_E}|N{_E}[nBQ]{_E}(?=N)|[LHN]{_E})+)"
_EMOJI = "P[EVkT]*(?:Z[EVkT]*P[EVkT]*)*Z*"
_CLASSES = re.compile(
    f"(?:{_X})*{_RUN}(?:(?:{_X})+{_RUN})*(?:{_X})*|[#N]V?k|R{_E}R{_E}|I{_E}|[ST]+{_E}|{_EMOJI}|(?:{_X})+"
)
_JOINS, _JOINS_BY_CLASS = "_", "XEeVkZT"
"""A run of these, beginning with the first, is no word. The patterns find it all the same, for its time: else every
character of a long one would be tried as the beginning of a word that goes on to its end."""


def words(text: str) -> list[str]:
    """The words of `text`, in order, as they are written."""
    if text.isascii():
        found = _ASCII.findall(text)
        if max(map(len, found), default=0) > MAX_LENGTH:
            return _cut(_ASCII, text, text, _JOINS)
        return [word for word in found if word[0] != _JOINS or word.strip(_JOINS)] if _JOINS in text else found
    if _mostly_beyond(text):
        return _by_class(text)
    found, at = [], 0  # mostly ASCII: the rest lies in few stretches, which spaces keep apart
    for stretch in _BEYOND_ASCII.finditer(text):
        found += words(text[at : stretch.start()])
        found += _by_class_remembered(stretch[0])
        at = stretch.end()
    return found + words(text[at:])


def apart(text: str) -> tuple[str, list[str]]:
    """What is ASCII of a text, the rest being left out, and the words of that rest: all its words together."""
    if _mostly_beyond(text):
        return "", _by_class(text)
    parts, found = text.split(" "), list[str]()
    for number, part in enumerate(parts):
        if not part.isascii():
            parts[number], others = _apart_remembered(part)
            found += others
    return " ".join(parts), found


@functools.lru_cache(1 << 16)
def _apart_remembered(part: str) -> tuple[str, tuple[str, ...]]:
    found: list[str] = []

    def leave_out(stretch: "re.Match[str]") -> str:
        found.extend(_by_class(stretch[0]))
        return " "

    return _BEYOND_ASCII.sub(leave_out, part), tuple(found)


def _mostly_beyond(text: str) -> bool:
    return len(text.encode("utf-8", "surrogatepass")) - len(text) > len(text) // 16


def _by_class(text: str) -> list[str]:
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    classes = _table()[points].tobytes().decode("ascii")
    spans = [match.span() for match in _CLASSES.finditer(classes) if not _is_joined(match[0], _JOINS_BY_CLASS)]
    if any(end - start > MAX_LENGTH for start, end in spans):
        return _cut(_CLASSES, classes, text, _JOINS_BY_CLASS)
    return [text[start:end] for start, end in spans]


@functools.lru_cache(1 << 16)
def _by_class_remembered(text: str) -> tuple[str, ...]:
    return tuple(_by_class(text))


def _is_joined(run: str, joins: str) -> bool:
    """Whether it is a run of joins alone."""
    return run[0] == joins[0] and not run.strip(joins)


def _cut(pattern: "re.Pattern[str]", classes: str, text: str, joins: str) -> list[str]:
    """Words of a text that holds one of more than `MAX_LENGTH` characters."""
    found, at = [], 0
    while match := _first(pattern, classes, at, joins):
        if not _is_joined(match[0], joins):
            found.append(text[match.start() : match.end()])
        at = match.end()
    return found


def _first(pattern: "re.Pattern[str]", classes: str, at: int, joins: str) -> "re.Match[str] | None":
    """The first match from `at` on, cut to `MAX_LENGTH` where a word can be; a long one is not read to its end."""
    for end in (at + 4 * MAX_LENGTH, len(classes)):
        match = pattern.search(classes, at, end)
        if match and match.end() - match.start() > MAX_LENGTH and not _is_joined(match[0], joins):
            cut = pattern.search(classes, match.start(), match.start() + MAX_LENGTH)
            if cut and not _is_joined(cut[0], joins):
                return cut
    return match


@functools.cache
def _table() -> npt.NDArray[np.uint8]:
    table = np.full(0x110000, ord("."), dtype=np.uint8)
    for line in (resources.files(__package__) / "wordbreak.txt").read_text("ascii").splitlines():
        first, *last, letter = line.split()
        table[int(first, 16) : int(last[0] if last else first, 16) + 1] = ord(letter)
    return table
