"""BM25 in this process: no Java, and the passages, scores and order that Lucene gives under pyserini's settings."""

import hashlib
import importlib.util
import itertools
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from toolenvs.errors import ConfigError, MissingExtraError, RetrievalError
from toolenvs.retrieval import analysis
from toolenvs.retrieval.base import Hit, Retriever
from toolenvs.retrieval.bm25 import rank, similarity
from toolenvs.retrieval.bm25.builder import PART, writer
from toolenvs.retrieval.bm25.postings import Postings
from toolenvs.retrieval.folder import manifest_of
from toolenvs.retrieval.store import REMEDY, Store

__all__ = ["MAX_TERMS", "Bm25", "writer"]

MAX_TERMS = 1024
"""Distinct terms of a query that count, the rarest of them; Lucene refuses a query with more."""
COMPILED_SIZE = 20_000
"""Passages from which "auto" is numba: compiled code takes longer to load than numpy to search fewer."""
_KERNELS = ("auto", "numpy", "numba")
_CHECKED_TERMS = 8
"""Of one passage, which are looked up when an index is opened."""


class Bm25(Retriever):
    """The `bm25` part of an index folder, memory-mapped: processes that open it share one copy.

    Args:
        source: the index folder.
        kernel: "numpy"; "numba", which is faster; "auto" is numba where it is installed and the index is not small.

    Raises:
        RetrievalError: the folder holds no such index, or a damaged one, or one of another corpus, or one that does not
            find its own passage.
        ConfigError: there is no such `kernel`.
        MissingExtraError: numba is asked for and not installed.
    """

    backend = "bm25"
    in_memory = True

    def __init__(self, source: str | Path, *, kernel: str = "auto") -> None:
        if kernel not in _KERNELS:
            raise ConfigError(f"kernel {kernel!r} of bm25: known are {', '.join(_KERNELS)}")
        there = importlib.util.find_spec("numba") is not None
        if kernel == "numba" and not there:
            raise MissingExtraError("numba", "search", "the kernel 'numba' of bm25")
        folder = Path(source)
        manifest = manifest_of(folder, PART, REMEDY)
        self._store = Store(folder)
        self._store.check(manifest["corpus"], PART)
        self.size = len(self._store)
        self.kernel = kernel if kernel != "auto" else "numba" if there and self.size >= COMPILED_SIZE else "numpy"
        settings = manifest["settings"]
        inverse = similarity.inverses(settings["k1"], settings["b"], manifest["average"])
        self._postings = Postings(folder / PART, inverse)
        if len(self._postings.lengths) != self.size:
            raise RetrievalError(f"{folder / PART} does not fit {folder / 'passages'}: {REMEDY}")
        self._check_itself(folder / PART)
        identity = json.dumps([self.backend, manifest["corpus"], settings], sort_keys=True)
        self.fingerprint = hashlib.sha256(identity.encode()).hexdigest()

    def _check_itself(self, part: Path) -> None:
        """That the passage in the middle stands in the postings of its terms, as often as its text has them."""
        row = self.size // 2
        if not self.size:
            return
        held, postings = Counter(analysis.terms(self._store.passage(row).contents)), self._postings
        fits = int(postings.lengths[row]) == int(similarity.length_bytes(np.array([held.total()]))[0])
        for term, count in itertools.islice(held.items(), _CHECKED_TERMS):
            number = postings.find(term)
            start, end = (0, 0) if number is None else postings.starts[number : number + 2].tolist()
            at = start + int(np.searchsorted(postings.rows[start:end], row))
            fits = fits and at < end and int(postings.rows[at]) == row and int(postings.counts[at]) == count
        if not fits:
            raise RetrievalError(
                f"{part} does not find passage {self._store.id(row)!r} of its own corpus: its files do not belong "
                f"together, or another version made them; {REMEDY}"
            )

    def rank(self, query: str, k: int) -> tuple[list[int], list[float]]:
        """Rows of the best `k` passages and their scores, without reading the passages."""
        postings = self._postings
        numbered = {postings.find(term): boost for term, boost in Counter(analysis.terms(query)).items()}
        numbered.pop(None, None)
        boosts = {number: boost for number, boost in numbered.items() if number is not None}
        if len(boosts) > MAX_TERMS:
            rarest = sorted(boosts, key=lambda number: -float(postings.idf[number]))[:MAX_TERMS]
            boosts = {number: boosts[number] for number in rarest}
        if not boosts:
            return [], []
        order = self._store.rank
        if self.kernel == "numba" and all(boost & (boost - 1) == 0 for boost in boosts.values()):
            from toolenvs.retrieval.bm25 import rank_numba

            numbers = np.fromiter(boosts, dtype=np.int64, count=len(boosts))
            factors = np.fromiter(boosts.values(), dtype=np.float32, count=len(boosts))
            starts, ends = postings.starts[numbers], postings.starts[numbers + 1]
            bounds = postings.bounds[numbers] * factors
            rows, scores = rank_numba.best(
                starts, ends, factors, bounds, postings.rows, postings.scores, order, k, self.size
            )
            return list(rows), list(scores)
        return rank.best([postings.of(number, boost) for number, boost in boosts.items()], k, self.size, order)

    def _search(self, queries: list[str], k: int) -> list[list[Hit]]:
        return [self._hits(*self.rank(query, k)) for query in queries]

    def _hits(self, rows: list[int], scores: list[float]) -> list[Hit]:
        return [self._store.hit(row, score) for row, score in zip(rows, scores, strict=True)]

    def fetch(self, ids: Iterable[str]) -> list[Hit | None]:
        """The passages with these ids, with a score of 0; None for an id that the corpus does not have."""
        return self._store.fetch(ids)
