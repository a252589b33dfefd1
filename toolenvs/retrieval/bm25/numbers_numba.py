"""The words of a piece, numbered by compiled code: the same numbers that a dictionary gives. Needs numba."""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

_SPACE, _NEWLINE = 32, 10


class Table:
    """Words, numbered in the order in which they were first met, and the number of the term of each.

    A slot holds a word's number, in the first free place from the one that its hash names; half of the slots at most
    are taken. The bytes of the words lie one after the other, and are compared at every hit.
    """

    def __init__(self, term_number: Callable[[str], int]) -> None:
        self._term_number = term_number
        self._slots = np.full(1 << 16, -1, dtype=np.int32)
        self._hashes = np.zeros(1 << 15, dtype=np.uint64)  # [words]
        self._ends = np.zeros((1 << 15) + 1, dtype=np.int64)  # [words + 1] in the bytes
        self._bytes = np.zeros(1 << 18, dtype=np.uint8)
        self._terms = np.zeros(1 << 15, dtype=np.int32)  # [words]
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def terms(self, codes: npt.NDArray[np.uint8], texts: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """The number of the term of each word, and [texts] how many words each text has.

        Args:
            codes: ASCII words between spaces, and a newline between one text and the next.
            texts: how many there are.
        """
        found = np.empty(len(codes) // 2 + 1, dtype=np.int32)
        counts = np.zeros(texts, dtype=np.int64)
        at, text, words, known = 0, 0, 0, self._size
        while True:
            at, text, words, self._size = _number(
                codes, at, text, words, found, counts,
                self._slots, self._hashes, self._ends, self._bytes, self._size,
            )  # fmt: skip
            if at >= len(codes):
                break
            self._grow()
        data = self._bytes[: self._ends[self._size]].tobytes()
        ends = self._ends[known : self._size + 1].tolist()
        for number in range(known, self._size):
            word = data[ends[number - known] : ends[number - known + 1]]
            self._terms[number] = self._term_number(word.decode("ascii"))
        return self._terms[found[:words]], counts

    def _grow(self) -> None:
        """Twice the room."""
        self._hashes, self._terms, self._bytes = (
            np.concatenate([array, np.zeros_like(array)]) for array in (self._hashes, self._terms, self._bytes)
        )
        self._ends = np.concatenate([self._ends, np.zeros(len(self._ends) - 1, dtype=np.int64)])
        self._slots = np.full(2 * len(self._slots), -1, dtype=np.int32)
        _fill(self._slots, self._hashes, self._size)


@numba.njit(cache=True, nogil=True)
def _fill(slots: Any, hashes: Any, size: Any) -> None:
    mask = len(slots) - 1
    for number in range(size):
        slot = np.int64(hashes[number] >> np.uint64(20)) & mask
        while slots[slot] >= 0:
            slot = (slot + 1) & mask
        slots[slot] = number


@numba.njit(cache=True, nogil=True)
def _number(
    codes: Any, at: Any, text: Any, words: Any, found: Any, counts: Any,
    slots: Any, hashes: Any, ends: Any, data: Any, size: Any,
) -> Any:  # fmt: skip
    """Go on from `at` until the end, or until there is no room for a new word: then `at` is where that word begins."""
    mask = len(slots) - 1
    while at < len(codes):
        if codes[at] <= _SPACE:
            text += codes[at] == _NEWLINE
            at += 1
            continue
        start, code = at, np.uint64(14695981039346656037)  # FNV-1a
        while at < len(codes) and codes[at] > _SPACE:
            code = (code ^ np.uint64(codes[at])) * np.uint64(1099511628211)
            at += 1
        length = at - start
        slot = np.int64(code >> np.uint64(20)) & mask
        while True:
            number = slots[slot]
            if number < 0:
                if size == len(hashes) or ends[size] + length > len(data):
                    return start, text, words, size
                number = size
                slots[slot], hashes[size], ends[size + 1] = size, code, ends[size] + length
                for offset in range(length):
                    data[ends[size] + offset] = codes[start + offset]
                size += 1
                break
            if hashes[number] == code and ends[number + 1] - ends[number] == length:
                first, same = ends[number], True
                for offset in range(length):
                    if data[first + offset] != codes[start + offset]:
                        same = False
                        break
                if same:
                    break
            slot = (slot + 1) & mask
        found[words] = number
        words += 1
        counts[text] += 1
    return at, text, words, size
