"""Passages by the meaning of their texts: vectors compared by inner product, exactly or with faiss."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from toolenvs.errors import ConfigError, RetrievalError, did_you_mean
from toolenvs.retrieval.base import Hit, Retriever
from toolenvs.retrieval.dense import ann, exact
from toolenvs.retrieval.dense.encoders import Encoder, load
from toolenvs.retrieval.folder import building, manifest_of, mapped, seal
from toolenvs.retrieval.store import Store, Writer

__all__ = ["Dense", "writer"]

PART = "dense"
REMEDY = "build it with `toolenvs index CORPUS OUT --backend dense`"
KINDS = ("exact", *ann.KINDS)
_BATCH_ROWS = 2048


class Dense(Retriever):
    """The `dense` part of an index folder, or a file that faiss wrote, such as Search-R1's e5_Flat.index.

    Args:
        source: the folder, or the file; a row of it is a row of `passages`.
        encoder: name of an encoder, or one itself; by default the one that the folder was built with.
        encoder_options: keywords of the encoder's class.
        passages: for a faiss file, the index folder with the texts.
        threads: of faiss.

    Raises:
        RetrievalError: the index is missing, damaged, or of another corpus or encoder; says what to do.
        ConfigError: an argument is missing.
        MissingExtraError: faiss or the encoder needs a package that is not installed.
    """

    backend = "dense"

    def __init__(
        self,
        source: str | Path,
        *,
        encoder: str | Encoder | None = None,
        encoder_options: Mapping[str, Any] | None = None,
        passages: str | Path | None = None,
        threads: int = 1,
    ) -> None:
        path = Path(source)
        if path.is_file():
            if passages is None or encoder is None:
                raise ConfigError(f"{path} is a faiss file: give passages=FOLDER (an index folder) and encoder=NAME")
            self._store, name, kind = Store(Path(passages)), encoder, "faiss"
            stamp: Any = [path.name, path.stat().st_size]
            self._encoder = load(name, encoder_options or {}) if isinstance(name, str) else name
        else:
            manifest = manifest_of(path, PART, REMEDY)
            self._store = Store(path)
            self._store.check(manifest["corpus"], PART)
            settings = manifest["settings"]
            kind, stamp = settings["kind"], settings
            chosen = encoder if encoder is not None else settings["encoder"]
            options = encoder_options if encoder_options is not None else settings["encoder_options"]
            self._encoder = load(chosen, options) if isinstance(chosen, str) else chosen
            if self._encoder.name != settings["encoder_name"]:
                raise RetrievalError(
                    f"{path / PART} was built by the encoder {settings['encoder_name']!r}, not "
                    f"{self._encoder.name!r}: give that encoder, or build the index again"
                )
        self._threads, self._kind = threads, kind
        self._vectors: npt.NDArray[np.float32] | None = None
        self._index: Any = None
        if kind == "exact":
            self._vectors = mapped(path / PART / "vectors.npy")
        else:
            self._index = ann.read(path if path.is_file() else path / PART / "vectors.faiss")
        self.size = len(self._store)
        rows, dim = self._vectors.shape if self._vectors is not None else (self._index.ntotal, self._index.d)
        if rows != self.size or (rows and dim != self._encoder.dim):
            raise RetrievalError(
                f"{path} holds {rows} vectors of {dim} dimensions for {self.size} passages and an encoder of "
                f"{self._encoder.dim}: build it from the same corpus with the same encoder"
            )
        identity = json.dumps([self.backend, self._store.fingerprint, stamp, self._encoder.name], sort_keys=True)
        self.fingerprint = hashlib.sha256(identity.encode()).hexdigest()

    def _search(self, queries: list[str], k: int) -> list[list[Hit]]:
        vectors = self._encoder.queries(queries)
        if self._vectors is not None:
            found = exact.best(vectors, self._vectors, k, self._store.rank)
        else:
            found = ann.search(self._index, vectors, k, self._threads)
        empty = [not vector.any() for vector in vectors]
        return [
            [] if empty[number] else [self._store.hit(row, value) for row, value in zip(rows, values, strict=True)]
            for number, (rows, values) in enumerate(found)
        ]

    def fetch(self, ids: Iterable[str]) -> list[Hit | None]:
        """The passages with these ids, with a score of 0; None for an id that the corpus does not have."""
        return self._store.fetch(ids)


def writer(
    *, encoder: str = "wordllama", encoder_options: Mapping[str, Any] | None = None, kind: str = "exact"
) -> Writer:
    """What writes the dense part of a store's folder.

    Args:
        encoder: name of an encoder.
        encoder_options: keywords of its class.
        kind: "exact" (numpy, shared between processes), or a kind of faiss index: "flat", "sq8", "hnsw", "ivf",
            "ivf-sq8". All but "exact" and "flat" are faster and miss some of the nearest.

    Raises:
        ConfigError: there is no such kind, or the encoder has no such option.
        PageError: there is no such encoder.
        MissingExtraError: faiss or the encoder needs a package that is not installed.
    """
    if kind not in KINDS:
        raise ConfigError(f"no kind {kind!r} of dense index; {did_you_mean(kind, KINDS)}")
    if kind != "exact":
        ann.faiss()
    options = dict(encoder_options or {})
    settings = {"kind": kind, "encoder": encoder, "encoder_options": options}
    return partial(_write, model=load(encoder, options), settings=settings)


def _write(
    store: Store, progress: Callable[[int], None] | None = None, *, model: Encoder, settings: Mapping[str, Any]
) -> None:
    kind = settings["kind"]
    with building(store.folder, PART) as part:
        path, shape = part / "vectors.npy", (len(store), model.dim)
        vectors: npt.NDArray[np.float32]
        if len(store):
            vectors = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
        else:
            vectors = np.empty(shape, dtype=np.float32)
            np.save(path, vectors)
        for start in range(0, len(store), _BATCH_ROWS):
            stop = min(start + _BATCH_ROWS, len(store))
            texts = [store.passage(row).contents for row in range(start, stop)]
            vectors[start:stop] = model.passages(texts)
            if progress is not None:
                progress(stop)
        if kind != "exact":
            ann.write(ann.create(vectors, kind), part / "vectors.faiss")
            path.unlink()
        elif isinstance(vectors, np.memmap):
            vectors.flush()
        seal(part, {"corpus": store.fingerprint, "settings": {**settings, "encoder_name": model.name}})
