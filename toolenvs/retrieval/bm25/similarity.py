"""BM25 in Lucene's arithmetic: float32, lengths kept in one byte, no factor k1 + 1.

    weight = boost * idf,  idf = ln(1 + (N - df + 0.5) / (df + 0.5))
    score  = weight - weight / (1 + tf * inverse[length byte]),  inverse = 1 / (k1 * (1 - b + b * length / average))

N counts the passages that have a term, and the average is taken over them. A passage's score is the sum over the terms
of the query, in float64, rounded to float32.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]


def _lengths() -> npt.NDArray[np.int64]:
    """What each byte stands for: 0 to 23 themselves, then four significant bits, as 24 + a small float."""
    lengths = np.arange(256, dtype=np.int64)
    for code in range(24, 256):
        bits, shift = (code - 24) & 7, ((code - 24) >> 3) - 1
        lengths[code] = 24 + (bits if shift < 0 else (bits | 8) << shift)
    return lengths


LENGTHS = _lengths()
"""[256] the length that each byte stands for, rising."""


def length_bytes(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.uint8]:
    """[N] the byte for each length: the greatest that stands for no more."""
    return (np.searchsorted(LENGTHS, lengths, side="right") - 1).astype(np.uint8)


def inverses(k1: float, b: float, average: float) -> Floats:
    """[256] what a term frequency is multiplied by, for each length byte."""
    one, k, share, mean = np.float32(1), np.float32(k1), np.float32(b), np.float32(average)
    found: Floats = one / (k * ((one - share) + share * LENGTHS.astype(np.float32) / mean))
    return found


def idf(passages: int, frequencies: npt.NDArray[np.int64]) -> Floats:
    """[T] inverse document frequency of terms that `frequencies` of `passages` hold."""
    odds = (passages - frequencies + 0.5) / (frequencies + 0.5)
    found: Floats = np.log(1 + odds).astype(np.float32)
    return found


def scores(weights: Floats | np.float32, counts: npt.NDArray[np.unsignedinteger], inverse: Floats) -> Floats:
    """[P] what a term of `weights` adds to passages that hold it `counts` times."""
    divisor = np.float32(1) + counts.astype(np.float32) * inverse
    found: Floats = np.subtract(weights, weights / divisor, dtype=np.float32)
    return found
