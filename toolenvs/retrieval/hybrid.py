"""Two rankings or more as one, by reciprocal rank fusion (Cormack, Clarke and Buettcher, 2009)."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from toolenvs.errors import ConfigError, RetrievalError
from toolenvs.retrieval.base import Hit, Retriever

RRF_K = 60
"""The constant of the paper: how little the first ranks count more than the next."""


class Hybrid(Retriever):
    """A passage's score is the sum of 1 / (60 + rank) over the rankings that hold it.

    Args:
        source: the index folder that all backends of `of` open, or a list of retrievers, which are then closed too.
        of: names of backends.
        depth: ranks that each gives to the fusion, where `k` is not larger.

    Raises:
        ConfigError: fewer than two are named.
        RetrievalError: they search corpora of different sizes.
    """

    backend = "hybrid"

    def __init__(
        self, source: str | Path | Sequence[Retriever], *, of: Sequence[str] = ("bm25", "dense"), depth: int = 100
    ) -> None:
        from toolenvs.retrieval import open as open_one

        if isinstance(of, str):
            raise ConfigError(f"the backend 'hybrid' takes names in a list, not {of!r}")
        opened: list[Retriever] = []
        try:
            for part in of if isinstance(source, str | Path) else source:
                opened.append(open_one(source, part) if isinstance(part, str) else part)  # type: ignore[arg-type]
            if len(opened) < 2:
                raise ConfigError(f"the backend 'hybrid' fuses two rankings or more; this is {len(opened)}")
            sizes = {part.backend: part.size for part in opened}
            if len(set(sizes.values())) > 1:
                raise RetrievalError(f"the backends search different corpora, of {sizes} passages: index them together")
        except BaseException:
            for part in opened:
                part.close()
            raise
        self._parts, self._depth = opened, depth
        self.size = opened[0].size
        identity = json.dumps([self.backend, [part.fingerprint for part in opened], depth])
        self.fingerprint = hashlib.sha256(identity.encode()).hexdigest()

    def _search(self, queries: list[str], k: int) -> list[list[Hit]]:
        rankings = [part.search(queries, max(k, self._depth)) for part in self._parts]
        return [fuse(lists)[:k] for lists in zip(*rankings, strict=True)]

    def fetch(self, ids: Iterable[str]) -> list[Hit | None]:
        """The passages with these ids, with a score of 0; None for an id that the corpus does not have."""
        return self._parts[0].fetch(ids)

    def close(self) -> None:
        """Close all that are fused."""
        super().close()
        for part in self._parts:
            part.close()


def fuse(rankings: Iterable[Sequence[Hit]]) -> list[Hit]:
    """One ranking of several, equal scores in the order of ids."""
    scores: dict[str, float] = {}
    hits: dict[str, Hit] = {}
    for ranking in rankings:
        for rank, hit in enumerate(ranking, start=1):
            scores[hit.id] = scores.get(hit.id, 0.0) + 1 / (RRF_K + rank)
            hits.setdefault(hit.id, hit)
    order = sorted(scores, key=lambda key: (-scores[key], key))
    return [Hit(key, scores[key], hits[key].title, hits[key].text) for key in order]
