"""The words of many texts at once: what is ASCII in them is divided by a few passes over all of its bytes.

The words are those of `boundaries.words`, those of ASCII in lower case, and not in order: an index asks how often a
passage holds a term, and not where.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from toolenvs.retrieval.analysis.boundaries import MAX_LENGTH, apart, words

_LETTERS, _DIGITS = b"abcdefghijklmnopqrstuvwxyz", b"0123456789"
_BETWEEN_LETTERS, _BETWEEN_DIGITS = b":.'", b".,;'"
_JOINERS = b":.',;"
_BETWEEN = b"\xff"
"""Stands between two texts; no ASCII."""
_SPACE, _NEWLINE = 32, 10
_BLOCK = (MAX_LENGTH + 1) // 2
"""Bytes; a word that is too long fills one of these blocks, wherever it begins."""


def _simplified() -> bytes:
    """[256] letters in lower case, digits, "_"; joiners as 1 to 5; a newline between texts; a space for all else."""
    table = bytearray([_SPACE] * 256)
    for byte in _LETTERS + _DIGITS + b"_":
        table[byte] = byte
    for byte in _LETTERS.upper():
        table[byte] = byte + 32
    for number, byte in enumerate(_JOINERS, start=1):
        table[byte] = number
    table[_BETWEEN[0]] = _NEWLINE
    return bytes(table)


_SIMPLIFIED = _simplified()
_SIDES = np.zeros(256, dtype=np.uint8)
"""[256] 1 for a letter, 2 for a digit."""
_SIDES[list(_LETTERS)] = 1
_SIDES[list(_DIGITS)] = 2
_JOINED = np.array(
    [0, *((byte in _BETWEEN_LETTERS) * 1 + (byte in _BETWEEN_DIGITS) * 2 for byte in _JOINERS)], dtype=np.uint8
)
"""[6] what each joiner stands between: 1 letters, 2 digits."""
_WRITTEN = np.frombuffer(b" " + _JOINERS, dtype=np.uint8)


def words_of_each(texts: Sequence[str]) -> Iterator[list[str]]:
    """The words of each text, in any order, and in lower case where they are ASCII.

    Here a word may also be a run of "_" alone, which stands for no term.
    """
    plain: list[str] = []
    beyond: dict[int, list[str]] = {}
    for number, text in enumerate(texts):
        if not text.isascii():
            text, beyond[number] = apart(text)
        plain.append(text)
    divided, long = _divided(plain)
    for number, line in enumerate(divided):
        if number in long:
            yield words(texts[number])
        else:
            yield line.split() + beyond.get(number, [])


def _divided(texts: Sequence[str]) -> tuple[list[str], set[int]]:
    """ASCII texts with spaces between their words, and the numbers of those that may hold one of over `MAX_LENGTH`."""
    if not texts:
        return [], set()
    simple = bytearray(_BETWEEN.join([text.encode() for text in texts]).translate(_SIMPLIFIED))
    codes = np.frombuffer(simple, dtype=np.uint8)
    at = np.flatnonzero(codes < _NEWLINE)
    joiners = codes[at]
    before, after = _SIDES[codes[np.maximum(at - 1, 0)]], _SIDES[codes[np.minimum(at + 1, len(codes) - 1)]]
    joins = (before == after) & (before & _JOINED[joiners] != 0)
    codes[at] = np.where(joins, _WRITTEN[joiners], _SPACE)
    blocks = codes[: len(codes) // _BLOCK * _BLOCK].reshape(-1, _BLOCK)
    full = np.flatnonzero((blocks > _SPACE).all(axis=1)).tolist()
    return simple.decode("ascii").split("\n"), {simple.count(b"\n", 0, block * _BLOCK) for block in full}
