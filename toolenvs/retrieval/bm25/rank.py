"""The best passages for a few terms, exactly, with numpy.

Terms are taken in falling order of the most that each can add. Once the k-th best sum so far exceeds what all terms to
come can add together, a passage that none of the terms so far has touched cannot enter: of the terms to come, mostly
long ones, only the passages still in the running are looked up. These sums are float32, with slack for their rounding;
the few passages that are left are summed again in float64.
"""

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
Term = tuple[Rows, Floats, np.float32]
"""Rows that hold the term, what it adds to each, and the most it adds."""
_BLOCK = 512
_local = threading.local()


def best(terms: Sequence[Term], k: int, size: int, rank: Rows) -> tuple[list[int], list[float]]:
    """Rows of the best `k` of `size` passages and their scores; equal scores in the order of `rank`."""
    terms = sorted(terms, key=lambda term: -term[2])
    slack = 1 - 1e-7 * (len(terms) + 8)
    coming = np.cumsum([0.0, *(float(term[2]) for term in reversed(terms))])[::-1].tolist()
    sums = _sums(size)
    floor, taken, touched = 0.0, 0, 0
    for rows, scores, _ in terms:
        if taken and coming[taken] < floor:
            break
        if taken:
            np.add.at(sums, rows, scores)
        else:
            sums[rows] = scores
        taken += 1
        touched += len(rows)
        if len(rows) >= k and taken < len(terms):
            floor = max(floor, kth(sums.take(rows), k) * slack)
    candidates, found = _running(terms[:taken], sums, k, floor, coming[taken], slack)
    if touched > size // 4:
        sums.fill(0)
    else:
        for rows, _, _ in terms[:taken]:
            sums[rows] = 0
    for left, (rows, scores, _) in enumerate(terms[taken:], start=taken + 1):
        found += _looked_up(candidates, rows, scores)
        if len(candidates) > 4 * k:
            kept = found + coming[left] >= kth(found, k) * slack
            candidates, found = candidates[kept], found[kept]
    if len(candidates) > k:
        candidates = candidates[found >= kth(found, k) * slack]
    exact = np.zeros(len(candidates), dtype=np.float64)
    for rows, scores, _ in terms:
        exact += _looked_up(candidates, rows, scores)
    rounded = exact.astype(np.float32)
    order = np.lexsort((rank[candidates], -rounded))[:k]
    return candidates[order].tolist(), rounded[order].tolist()


def kth(values: npt.NDArray[np.floating], k: int) -> float:
    """The k-th greatest of `values`, of which there are at least `k`.

    Of many values, those of blocks whose maximum is below the k-th greatest maximum are never looked at:
    `numpy.partition` alone is slow where most values are equal.
    """
    blocks = len(values) // _BLOCK
    if blocks > 2 * k:
        whole = values[: blocks * _BLOCK].reshape(blocks, _BLOCK)
        maxima = whole.max(axis=1)
        lowest = np.partition(maxima, blocks - k)[blocks - k]
        values = np.concatenate([whole[maxima >= lowest].ravel(), values[blocks * _BLOCK :]])
        values = values[values >= lowest]
    return float(np.partition(values, len(values) - k)[len(values) - k])


def _looked_up(candidates: Rows, rows: Rows, scores: Floats) -> Floats:
    """What a term adds to each of `candidates`."""
    place = rows.searchsorted(candidates)
    place[place == len(rows)] = 0
    return np.where(rows[place] == candidates, scores[place], np.float32(0))


def _running(
    terms: Sequence[Term], sums: Floats, k: int, floor: float, coming: float, slack: float
) -> tuple[Rows, Floats]:
    """The rows that `terms` touch and that may be among the best `k`, rising, with their sums."""
    found = [sums.take(rows) for rows, _, _ in terms]
    floor = max(floor, 0.0, *(kth(values, k) * slack for values in found if len(values) >= k)) - coming
    candidates = np.sort(np.concatenate([term[0][values >= floor] for term, values in zip(terms, found, strict=True)]))
    candidates = candidates[np.diff(candidates, prepend=np.int32(-1)) > 0]
    return candidates, sums[candidates]


def _sums(size: int) -> Floats:
    """[size] zeros, this thread's own; the caller leaves them zero."""
    kept: Floats | None = getattr(_local, "sums", None)
    if kept is None or len(kept) < size:
        kept = _local.sums = np.zeros(size, dtype=np.float32)
    return kept[:size]
