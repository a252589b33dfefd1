"""The nearest vectors by inner product, exactly: one matrix product a batch over a memory-mapped matrix."""

import numpy as np
import numpy.typing as npt

from toolenvs.retrieval.bm25.rank import kth

_CHUNK_ROWS = 1 << 15
_BATCH = 64
Floats = npt.NDArray[np.float32]
Found = tuple[list[int], list[float]]


def best(queries: Floats, vectors: Floats, k: int, rank: npt.NDArray[np.int32]) -> list[Found]:
    """For each query the rows of its `k` nearest vectors and the products; equal ones in the order of `rank`.

    Args:
        queries: [Q, D]
        vectors: [N, D], N at least `k`
        k: rows wanted.
        rank: [N]
    """
    found: list[Found] = []
    for start in range(0, len(queries), _BATCH):
        found += _batch(queries[start : start + _BATCH], vectors, k, rank)
    return found


def _batch(queries: Floats, vectors: Floats, k: int, rank: npt.NDArray[np.int32]) -> list[Found]:
    floors = np.full(len(queries), -np.inf, dtype=np.float32)
    kept: list[tuple[npt.NDArray[np.int64], Floats]] = [
        (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)) for _ in queries
    ]
    for start in range(0, len(vectors), _CHUNK_ROWS):
        products = queries @ vectors[start : start + _CHUNK_ROWS].T  # [Q, chunk]
        for number, row in enumerate(products):
            if not kept[number][0].size and len(row) >= k:  # the first chunk, of which nearly all are out
                floors[number] = max(floors[number], kth(row, k))
            near = np.flatnonzero(row >= floors[number])
            if not near.size:
                continue
            rows = np.concatenate([kept[number][0], near + start])
            values = np.concatenate([kept[number][1], row[near]])
            if len(rows) > k:
                floors[number] = kth(values, k)
                still = values >= floors[number]
                rows, values = rows[still], values[still]
            kept[number] = (rows, values)
    found = []
    for rows, values in kept:
        order = np.lexsort((rank[rows], -values))[:k]
        found.append((rows[order].tolist(), values[order].tolist()))
    return found
