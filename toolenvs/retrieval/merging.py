"""Several queries as one search: the rankings of all of them, each passage with the best score that it has in any."""

from collections.abc import Sequence

from toolenvs.errors import RetrievalError
from toolenvs.retrieval.base import Hit, Retriever

__all__ = ["amerged", "merge"]


def merge(rankings: Sequence[Sequence[Hit]], *, k: int, below: float | None = None) -> list[Hit]:
    """The best `k` passages of all rankings, best first; equal scores stand in order of their ids.

    Args:
        rankings: of one retriever, whose scores can be compared.
        k: how many are kept.
        below: passages that score this much or more are left out: where scores are cosines, 0.999 leaves out what the
            query only copies.
    """
    best: dict[str, Hit] = {}
    for hits in rankings:
        for hit in hits:
            if (below is None or hit.score < below) and (hit.id not in best or hit.score > best[hit.id].score):
                best[hit.id] = hit
    return sorted(best.values(), key=lambda hit: (-hit.score, hit.id))[:k]


async def amerged(retriever: Retriever, queries: Sequence[str], *, k: int, below: float | None = None) -> list[Hit]:
    """What the queries find together; see `merge`.

    Raises:
        RetrievalError: the retriever failed, or did not answer every query.
    """
    if not queries:
        return []
    rankings = await retriever.asearch(queries, k)
    if len(rankings) != len(queries):
        raise RetrievalError(f"the retriever answered {len(queries)} queries with {len(rankings)} lists")
    return merge(rankings, k=k, below=below)
