"""Find passages of a corpus: BM25 without Java, Lucene, dense vectors, both together, or a server.

    retrieval.index("corpus.jsonl", "index/")                  # or: toolenvs index corpus.jsonl index/
    with retrieval.open("index/", backend="bm25") as retriever:
        retriever.search(["who wrote the first novel"], k=3)    # one ranked list of Hit(id, score, title, text) a query

A backend is one module with a class derived from `Retriever`; see `BACKENDS`.
"""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from toolenvs.errors import ConfigError, MissingExtraError, did_you_mean
from toolenvs.retrieval.base import Hit, Retriever
from toolenvs.retrieval.corpus import Passage, read_corpus
from toolenvs.retrieval.indexing import index

__all__ = ["BACKENDS", "Hit", "Passage", "Retriever", "index", "open", "read_corpus"]

BACKENDS = {
    "bm25": "toolenvs.retrieval.bm25:Bm25",
    "boolean": "toolenvs.retrieval.boolean:Boolean",
    "lucene": "toolenvs.retrieval.lucene:Lucene",
    "dense": "toolenvs.retrieval.dense:Dense",
    "hybrid": "toolenvs.retrieval.hybrid:Hybrid",
    "http": "toolenvs.retrieval.http:Http",
}
"""Name -> module and class, imported when asked for."""


def open(source: str | Path | Sequence[str | Path], backend: str | None = None, **options: Any) -> Retriever:
    """A retriever of `backend` over `source`.

    Args:
        source: an index folder that `index` made, or the http:// or https:// address of a server.
        backend: a name of `BACKENDS`, or "module:Class" from elsewhere; by default "http" for an address, else "bm25".
        options: the keywords of the backend's class.

    Raises:
        ConfigError: the backend or an option is not known.
        MissingExtraError: the backend needs a package that is not installed; says which.
        RetrievalError: the index cannot be used, or the server not be reached; says what to do.
    """
    if backend is None:
        backend = "http" if str(source).startswith(("http://", "https://")) else "bm25"
    target = backend if ":" in backend else BACKENDS.get(backend)
    if target is None:
        raise ConfigError(f"no retrieval backend {backend!r}; {did_you_mean(backend, BACKENDS)}")
    module, _, name = target.partition(":")
    try:
        kind = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        if isinstance(error, MissingExtraError) or backend in BACKENDS:
            raise
        raise ConfigError(f"retrieval backend {backend!r} cannot be imported: {error}") from error
    try:
        retriever: Retriever = kind(source, **options)
    except TypeError as error:
        if "unexpected keyword" not in str(error) and "required keyword" not in str(error):
            raise
        raise ConfigError(f"retrieval.open(backend={backend!r}): {error}") from error
    return retriever
