"""The arrays of a BM25 index: which passages hold a term, how often, and what that scores.

Terms are numbered in the order of (CRC-32, bytes), so that a term is found by bisection over integers; no dictionary is
built when an index is opened.
"""

import bisect
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from toolenvs.retrieval.bm25 import similarity
from toolenvs.retrieval.folder import mapped, mapped_bytes, view


class Postings:
    """The arrays of one index, memory-mapped. T terms, P postings, N passages."""

    def __init__(self, part: Path, inverse: similarity.Floats) -> None:
        self.starts: npt.NDArray[np.int64] = mapped(part / "starts.npy")
        """[T + 1] where the postings of each term begin, and the last one's end."""
        self.rows: npt.NDArray[np.int32] = mapped(part / "rows.npy")
        """[P] passages that hold the term, rising within a term."""
        self.scores: npt.NDArray[np.float32] = mapped(part / "scores.npy")
        """[P] what the term adds to the passage's score when it stands once in the query."""
        self.counts: npt.NDArray[np.unsignedinteger] = mapped(part / "counts.npy")
        """[P] how often the passage holds the term."""
        self.bounds: npt.NDArray[np.float32] = mapped(part / "bounds.npy")
        """[T] the greatest of `scores` of each term."""
        self.idf: npt.NDArray[np.float32] = mapped(part / "idf.npy")
        """[T] weight of each term that stands once in the query."""
        self.lengths: npt.NDArray[np.uint8] = mapped(part / "lengths.npy")
        """[N] length of each passage, as a byte of `similarity.LENGTHS`."""
        self.inverse = inverse
        self._crcs = view(mapped(part / "crcs.npy"))
        self._terms, self._ends = mapped_bytes(part / "terms.bin"), view(mapped(part / "term_ends.npy"))

    def find(self, term: str) -> int | None:
        """The number of a term; None where no passage holds it."""
        data = term.encode("utf-8", "replace")
        crc = zlib.crc32(data)
        number = bisect.bisect_left(self._crcs, crc)
        while number < len(self._crcs) and self._crcs[number] == crc:
            if self._terms[self._ends[number - 1] if number else 0 : self._ends[number]] == data:
                return number
            number += 1
        return None

    def of(self, number: int, boost: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32], np.float32]:
        """Passages of a term, what it adds to each when it stands `boost` times in the query, and the most it adds."""
        span = slice(int(self.starts[number]), int(self.starts[number + 1]))
        rows = self.rows[span]
        if boost & (boost - 1) == 0:  # a power of two scales without rounding
            factor = np.float32(boost)
            found = self.scores[span]
            return rows, found if boost == 1 else found * factor, self.bounds[number] * factor
        weight = np.float32(boost) * self.idf[number]
        exact = similarity.scores(weight, self.counts[span], self.inverse[self.lengths[rows]])
        return rows, exact, exact.max()
