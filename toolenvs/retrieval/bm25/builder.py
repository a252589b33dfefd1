"""Build a BM25 index from stored passages, in pieces that are analysed in parallel and merged on disk."""

import contextlib
import importlib.util
import itertools
import math
import os
import pickle
import subprocess
import sys
import zlib
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from toolenvs.errors import ConfigError, RetrievalError
from toolenvs.retrieval.analysis import divide, term_of
from toolenvs.retrieval.bm25 import similarity
from toolenvs.retrieval.folder import building, seal
from toolenvs.retrieval.store import Store, Writer

PART = "bm25"
PIECE_ROWS = 20_000
"""Passages that are analysed and sorted in memory at a time."""
_WORKER = [sys.executable, "-c", "from toolenvs.retrieval.bm25.builder import work; work()"]
_KNOWN_WORDS = 1_000_000
"""Words whose terms a process remembers from one piece to the next."""
COMPILED_ROWS = 50_000
"""Passages from which compiled code is worth the time that it takes to load."""


@dataclass(frozen=True, slots=True)
class Piece:
    """The postings of some consecutive passages, sorted by term, then by row."""

    terms: list[str]
    """Terms of this piece, by their number in it."""
    sizes: npt.NDArray[np.int64]
    """[terms] passages that hold each."""
    rows: npt.NDArray[np.int32]
    """[postings]"""
    counts: npt.NDArray[np.int32]
    """[postings]"""
    lengths: npt.NDArray[np.int64]
    """[rows] terms in each passage, stop words not counted."""


class _Numbers(dict[str, int]):
    """Word -> number of its term, -1 for a stop word."""

    def __init__(self) -> None:
        super().__init__()
        self.terms: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        term = term_of(word)
        number = self[word] = self.terms.setdefault(term, len(self.terms)) if term else -1
        return number

    def of(self, simple: bytearray) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """The number of the term of each word that `divide` left in `simple`, and how many words each text has."""
        found, counts = array("i"), array("q")
        for line in simple.decode("ascii").split("\n"):
            words = line.split()
            found.extend(map(self.__getitem__, words))
            counts.append(len(words))
        return np.array(found, dtype=np.int32), np.array(counts, dtype=np.int64)


class _Analyser:
    """Numbers words, and remembers them from piece to piece."""

    def __init__(self, compiled: bool) -> None:
        self._compiled = compiled
        self._begin()

    def _begin(self) -> None:
        self.numbers = _Numbers()
        self._table: Any = None
        if self._compiled:
            from toolenvs.retrieval.bm25.numbers_numba import Table

            self._table = Table(self.numbers.__missing__)

    def __len__(self) -> int:
        return max(len(self.numbers), len(self._table or ()))

    def numbered(self, texts: list[str]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
        """The numbers of the terms of all texts, -1 for words that are none, and [texts] how many each text has."""
        if len(self) > _KNOWN_WORDS:
            self._begin()  # lest words that stand in the corpus once fill the memory
        simple, others = divide(texts)
        if self._table is None:
            each, counts = self.numbers.of(simple)
        else:
            each, counts = self._table.terms(np.frombuffer(simple, dtype=np.uint8), len(texts))
        if others:
            more = [[self.numbers[word] for word in words] for words in others.values()]
            holders, sizes = np.fromiter(others, dtype=np.int64), np.array([len(one) for one in more])
            places = np.repeat(np.cumsum(counts)[holders], sizes)
            each = np.insert(each, places, np.fromiter(itertools.chain.from_iterable(more), dtype=np.int32))
            counts[holders] += sizes
        return each, counts


def analyse(analyser: _Analyser, folder: Path, start: int, stop: int) -> Piece:
    """The postings of the passages in rows `start` to `stop` of the index folder."""
    store = Store(folder)
    each, counts = analyser.numbered([store.passage(row).contents for row in range(start, stop)])
    owner = np.repeat(np.arange(start, stop, dtype=np.int32), counts)
    kept = each >= 0
    each, owner = each[kept], owner[kept]
    lengths = np.bincount(owner - start, minlength=stop - start)
    order = _stable_order(each)
    each, owner = each[order], owner[order]
    first = np.flatnonzero((np.diff(each, prepend=-1) != 0) | (np.diff(owner, prepend=-1) != 0))
    terms = analyser.numbers.terms
    sizes = np.bincount(each[first], minlength=len(terms))
    there = sizes > 0
    return Piece(
        terms=list(itertools.compress(terms, there.tolist())),
        sizes=sizes[there],
        rows=owner[first],
        counts=np.diff(first, append=len(each)).astype(np.int32),
        lengths=lengths,
    )


def _stable_order(numbers: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    """`numpy.argsort` of numbers from 0, equal ones in their order: twice by half of the bits, which numpy counts."""
    order = np.argsort((numbers & 0xFFFF).astype(np.uint16), kind="stable")
    return order[np.argsort((numbers[order] >> 16).astype(np.uint16), kind="stable")]


def pieces(folder: Path, rows: int, processes: int) -> Iterator[Piece]:
    """All pieces in order, made by `processes` processes; by this one if that is 1."""
    compiled = rows >= COMPILED_ROWS and importlib.util.find_spec("numba") is not None
    spans = [(start, min(start + PIECE_ROWS, rows)) for start in range(0, rows, PIECE_ROWS)]
    processes = min(processes, len(spans))
    if processes <= 1:
        analyser = _Analyser(compiled)
        yield from (analyse(analyser, folder, *span) for span in spans)
        return
    # programs of their own: multiprocessing would import the caller's script again, or fork its threads
    workers = [
        subprocess.Popen([*_WORKER, str(int(compiled))], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(processes)
    ]
    try:
        for number, span in enumerate(spans[:processes]):
            _send(workers[number], (folder, *span))
        for number in range(len(spans)):  # in turn, so that no more than one piece a worker waits in memory
            worker = workers[number % processes]
            assert worker.stdout is not None
            try:
                piece: Piece = pickle.load(worker.stdout)
            except (EOFError, pickle.UnpicklingError):
                raise RetrievalError(f"a process that analyses text ended early, with {worker.wait()}") from None
            if number + processes < len(spans):
                _send(worker, (folder, *spans[number + processes]))
            yield piece
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()


def _send(worker: "subprocess.Popen[bytes]", task: tuple[Path, int, int]) -> None:
    assert worker.stdin is not None
    pickle.dump(task, worker.stdin)
    worker.stdin.flush()


def work() -> None:
    """What a worker process does: analyse the spans that it is sent, until there are no more."""
    analyser = _Analyser(compiled=sys.argv[1] == "1")
    with contextlib.suppress(EOFError):
        while True:
            pickle.dump(analyse(analyser, *pickle.load(sys.stdin.buffer)), sys.stdout.buffer)
            sys.stdout.buffer.flush()


def writer(*, k1: float, b: float, processes: int | None = None) -> Writer:
    """What writes the BM25 part of a store's folder.

    Args:
        k1: how soon a term's repetition stops counting.
        b: how much a passage's length counts, 0 to 1.
        processes: that analyse text; by default one a core, and no more than 8.

    Raises:
        ConfigError: `k1` or `b` is out of range.
    """
    if not _is_number(k1) or not 0 < k1 < math.inf:
        raise ConfigError(f"bm25: k1 is a number above 0, not {k1!r}")
    if not _is_number(b) or not 0 <= b <= 1:
        raise ConfigError(f"bm25: b is a number from 0 to 1, not {b!r}")
    return partial(_write, k1=k1, b=b, processes=processes or min(8, len(os.sched_getaffinity(0))))


def _write(store: Store, progress: Callable[[int], None] | None = None, *, k1: float, b: float, processes: int) -> None:
    numbers: dict[str, int] = {}
    sizes = np.zeros(0, dtype=np.int64)
    spilled: list[tuple[Path, npt.NDArray[np.int64], npt.NDArray[np.int64]]] = []
    all_lengths = [np.zeros(0, dtype=np.int64)]
    most, done = 0, 0
    with building(store.folder, PART) as part:
        for piece in pieces(store.folder, len(store), processes):
            there = np.array([numbers.setdefault(term, len(numbers)) for term in piece.terms], dtype=np.int64)
            sizes = np.concatenate([sizes, np.zeros(len(numbers) - len(sizes), dtype=np.int64)])
            sizes[there] += piece.sizes
            most = max(most, int(piece.counts.max(initial=0)))
            path = part / f"{len(spilled)}.piece.npy"
            np.save(path, np.stack([piece.rows, piece.counts]))
            spilled.append((path, there, piece.sizes))
            all_lengths.append(piece.lengths)
            done += len(piece.lengths)
            if progress is not None:
                progress(done)
        lengths = np.concatenate(all_lengths)
        place = _write_terms(part, numbers)
        ordered = np.zeros_like(sizes)
        ordered[place] = sizes
        passages, total = int(np.count_nonzero(lengths)), int(lengths.sum())
        average = float(np.float32(total / passages)) if passages else 1.0
        weights = similarity.idf(passages, ordered)
        codes = similarity.length_bytes(lengths)
        np.save(part / "idf.npy", weights)
        np.save(part / "lengths.npy", codes)
        _merge(part, spilled, place, ordered, weights, similarity.inverses(k1, b, average)[codes], most)
        settings = {"k1": k1, "b": b, "analysis": "english-1"}
        seal(part, {"corpus": store.fingerprint, "settings": settings, "average": average, "terms": len(numbers)})


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _write_terms(part: Path, numbers: dict[str, int]) -> npt.NDArray[np.int64]:
    """Write the vocabulary; the place in it of each term, by its number."""
    encoded = [term.encode("utf-8", "replace") for term in numbers]
    crcs = np.fromiter(map(zlib.crc32, encoded), dtype=np.uint32, count=len(encoded))
    by_crc = np.argsort(crcs, kind="stable")
    crcs = crcs[by_crc]
    order: list[int] = by_crc.tolist()
    for later in (np.flatnonzero(crcs[1:] == crcs[:-1]) + 1).tolist():  # a few, which their bytes put in order
        at = later
        while at and crcs[at - 1] == crcs[at] and encoded[order[at - 1]] > encoded[order[at]]:
            order[at - 1], order[at] = order[at], order[at - 1]
            at -= 1
    (part / "terms.bin").write_bytes(b"".join(encoded[number] for number in order))
    np.save(part / "term_ends.npy", np.cumsum([len(encoded[number]) for number in order], dtype=np.int64))
    np.save(part / "crcs.npy", crcs)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return place


def _merge(
    part: Path,
    spilled: list[tuple[Path, npt.NDArray[np.int64], npt.NDArray[np.int64]]],
    place: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
    weights: similarity.Floats,
    inverse: similarity.Floats,
    most: int,
) -> None:
    """Scatter the pieces into the arrays of the whole, and score each posting on the way."""
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    np.save(part / "starts.npy", starts)
    count_type = next(kind for kind in (np.uint8, np.uint16, np.uint32) if most <= np.iinfo(kind).max)
    kinds = {"rows": np.int32, "scores": np.float32, "counts": count_type}
    out = {
        name: np.lib.format.open_memmap(part / f"{name}.npy", mode="w+", dtype=kind, shape=(max(1, int(starts[-1])),))
        for name, kind in kinds.items()
    }
    free = starts[:-1].copy()
    bounds = np.zeros(len(sizes), dtype=np.float32)
    for path, there, held in spilled:
        rows, counts = np.load(path)
        path.unlink()
        terms = place[there]
        begins = np.cumsum(held) - held
        target = np.arange(len(rows)) + np.repeat(free[terms] - begins, held)
        free[terms] += held
        found = similarity.scores(np.repeat(weights[terms], held), counts, inverse[rows])
        out["rows"][target], out["counts"][target], out["scores"][target] = rows, counts, found
        if len(found):
            bounds[terms] = np.maximum(bounds[terms], np.maximum.reduceat(found, begins))
    np.save(part / "bounds.npy", bounds)
    for array_ in out.values():
        array_.flush()
