"""faiss indexes: made, read and searched here only, so that nothing else imports faiss."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from toolenvs.errors import MissingExtraError, RetrievalError

KINDS = {"flat": "Flat", "sq8": "SQ8", "hnsw": "HNSW32", "ivf": "IVF{lists},Flat", "ivf-sq8": "IVF{lists},SQ8"}
"""Kind -> faiss factory string, for vectors compared by inner product."""
_EF = 64
_PROBES = 32
_ADD_ROWS = 50_000


def faiss() -> Any:
    """The module.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import faiss as module
    except ImportError:
        raise MissingExtraError("faiss-cpu", "dense", "a dense index that is not 'exact'") from None
    return module


def create(vectors: npt.NDArray[np.float32], kind: str) -> Any:
    """An index of `kind` over [N, D] vectors; IVF has about 4 sqrt(N) lists."""
    module = faiss()
    lists = max(1, min(len(vectors) // 39, int(4 * len(vectors) ** 0.5)))
    index = module.index_factory(vectors.shape[1], KINDS[kind].format(lists=lists), module.METRIC_INNER_PRODUCT)
    if not index.is_trained and len(vectors):
        step = max(1, len(vectors) // (lists * 64 + 1000))
        index.train(np.ascontiguousarray(vectors[::step]))
    for start in range(0, len(vectors), _ADD_ROWS):  # a memory-mapped matrix is never copied whole
        index.add(np.ascontiguousarray(vectors[start : start + _ADD_ROWS]))
    return index


def write(index: Any, path: Path) -> None:
    """Write an index as faiss does."""
    faiss().write_index(index, str(path))


def read(path: Path) -> Any:
    """The index in a file that faiss wrote.

    Raises:
        RetrievalError: it cannot be read.
    """
    module = faiss()
    try:
        index = module.read_index(str(path))
    except RuntimeError as error:
        raise RetrievalError(f"{path} is no faiss index that can be read ({error}): build it again") from error
    if hasattr(index, "nprobe"):
        index.nprobe = min(_PROBES, index.nlist)
    if hasattr(index, "hnsw"):
        index.hnsw.efSearch = _EF
    return index


def search(index: Any, queries: npt.NDArray[np.float32], k: int, threads: int) -> list[tuple[list[int], list[float]]]:
    """For each query the rows found, best first, and their products. Fewer than `k` where the index finds fewer."""
    module = faiss()
    module.omp_set_num_threads(threads)
    products, rows = index.search(np.ascontiguousarray(queries), k)
    found = []
    for row, values in zip(rows, products, strict=True):
        there = row >= 0  # -1 stands for none, and would index the last passage
        found.append((row[there].tolist(), values[there].tolist()))
    return found
