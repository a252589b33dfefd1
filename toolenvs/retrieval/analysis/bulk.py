"""The words of many texts at once: what is ASCII in them is divided by a few passes over all of its bytes.

The words are those of `boundaries.words`, though not in order: an index asks how often a passage holds a term, and not
where.
"""

from collections.abc import Sequence

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


def divide(texts: Sequence[str]) -> tuple[bytearray, dict[int, list[str]]]:
    """The ASCII words of texts in lower case, and their other words, by the number of the text.

    The former stand with spaces between them, and one newline between a text and the next. A word there may also be a
    run of "_" alone, which stands for no term.
    """
    others: dict[int, list[str]] = {}
    plain: list[bytes] = []
    for number, text in enumerate(texts):
        if not text.isascii():
            text, others[number] = apart(text)
        plain.append(text.encode())
    simple = bytearray(_BETWEEN.join(plain).translate(_SIMPLIFIED))
    codes = np.frombuffer(simple, dtype=np.uint8)
    at = np.flatnonzero(codes < _NEWLINE)
    joiners = codes[at]
    before, after = _SIDES[codes[np.maximum(at - 1, 0)]], _SIDES[codes[np.minimum(at + 1, len(codes) - 1)]]
    joins = (before == after) & (before & _JOINED[joiners] != 0)
    codes[at] = np.where(joins, _WRITTEN[joiners], _SPACE)
    blocks = codes[: len(codes) // _BLOCK * _BLOCK].reshape(-1, _BLOCK)
    for block in np.flatnonzero((blocks > _SPACE).all(axis=1)).tolist():
        start = simple.rfind(b"\n", 0, block * _BLOCK) + 1
        end = simple.find(b"\n", start)
        number = simple.count(b"\n", 0, start)
        others[number] = words(texts[number])
        codes[start : end if end >= 0 else None] = _SPACE
    return simple, others
