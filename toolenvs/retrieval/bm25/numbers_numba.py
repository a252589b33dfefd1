"""The words of a piece, numbered by compiled code: the same numbers that a dictionary gives. Needs numba."""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

_SPACE, _NEWLINE = 32, 10


class Table:
    """Words, numbered in the order in which they were first met, and the number of the term of each.

    The key of a word is its bytes, where they are eight at most; more bytes are mixed into it, and such words compared
    at every hit. A slot is a key and beside it the word's number, in the first free place from the one that the key
    names; half of the slots at most are taken.
    """

    def __init__(self, term_number: Callable[[str], int]) -> None:
        self._term_number = term_number
        self._slots = np.zeros((1 << 16, 2), dtype=np.uint64)  # key; 0, or 2 * number + 2, and 1 more for a long word
        self._keys = np.zeros(1 << 15, dtype=np.uint64)  # [words]
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
                self._slots, self._keys, self._ends, self._bytes, self._size,
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
        self._keys, self._terms, self._bytes = (
            np.concatenate([array, np.zeros_like(array)]) for array in (self._keys, self._terms, self._bytes)
        )
        self._ends = np.concatenate([self._ends, np.zeros(len(self._ends) - 1, dtype=np.int64)])
        self._slots = np.zeros((2 * len(self._slots), 2), dtype=np.uint64)
        _fill(self._slots, self._keys, self._ends, self._size)


@numba.njit(cache=True, nogil=True)
def _first_slot(key: Any, mask: Any) -> Any:
    return np.int64((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(34)) & mask


@numba.njit(cache=True, nogil=True)
def _fill(slots: Any, keys: Any, ends: Any, size: Any) -> None:
    mask = len(slots) - 1
    for number in range(size):
        slot = _first_slot(keys[number], mask)
        while slots[slot, 1] != 0:
            slot = (slot + 1) & mask
        slots[slot, 0], slots[slot, 1] = keys[number], 2 * number + 2 + (ends[number + 1] - ends[number] > 8)


@numba.njit(cache=True, nogil=True)
def _number(
    codes: Any, at: Any, text: Any, words: Any, found: Any, counts: Any,
    slots: Any, keys: Any, ends: Any, data: Any, size: Any,
) -> Any:  # fmt: skip
    """Go on from `at` until the end, or until there is no room for a new word: then `at` is where that word begins."""
    mask = len(slots) - 1
    while at < len(codes):
        if codes[at] <= _SPACE:
            text += codes[at] == _NEWLINE
            at += 1
            continue
        start, key, shift = at, np.uint64(0), np.uint64(0)
        while at < len(codes) and codes[at] > _SPACE:
            if at - start < 8:
                key |= np.uint64(codes[at]) << shift
                shift += np.uint64(8)
            else:  # as FNV-1a goes on
                key = (key ^ np.uint64(codes[at])) * np.uint64(0x100000001B3)
            at += 1
        length = at - start
        long = np.int64(length > 8)
        slot = _first_slot(key, mask)
        while True:
            value = np.int64(slots[slot, 1])
            if value == 0:
                if size == len(keys) or ends[size] + length > len(data):
                    return start, text, words, size
                number = size
                slots[slot, 0], slots[slot, 1] = key, 2 * size + 2 + long
                keys[size], ends[size + 1] = key, ends[size] + length
                for offset in range(length):
                    data[ends[size] + offset] = codes[start + offset]
                size += 1
                break
            if slots[slot, 0] == key and value & 1 == long:
                number = (value >> 1) - 1
                if long == 0 or _same(codes, start, data, ends[number], ends[number + 1], length):
                    break
            slot = (slot + 1) & mask
        found[words] = number
        words += 1
        counts[text] += 1
    return at, text, words, size


@numba.njit(cache=True, nogil=True)
def _same(codes: Any, start: Any, data: Any, first: Any, end: Any, length: Any) -> Any:
    if end - first != length:
        return False
    for offset in range(length):  # noqa: SIM110
        if data[first + offset] != codes[start + offset]:
            return False
    return True
