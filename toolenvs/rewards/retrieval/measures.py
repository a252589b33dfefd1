"""Measures of one ranking, with trec_eval's meaning.

A ranking is a list of document ids, the best first; a document that stands in it twice counts once, where it stands
first. Judgements map ids to grades: 1 or more is relevant, anything else, or a document not judged, is not.
"""

from collections.abc import Callable, Mapping, Sequence
from math import log2
from typing import TypeVar

Judgements = Mapping[str, int]
Item = TypeVar("Item")


def ndcg(ranking: Sequence[str], judgements: Judgements, *, k: int | None = None) -> float:
    """Normalised discounted cumulative gain, 0 to 1, with the grade itself as the gain (linear).

    The ideal ranking is of all that is judged, whether or not it was found.

    Args:
        ranking: ids, the best first.
        judgements: grades by id.
        k: how many ranks count, in the ideal too; None for all.

    Raises:
        ValueError: k is less than 1.
    """
    ideal = _dcg(sorted(judgements.values(), reverse=True)[: _depth(k)])
    return _dcg([judgements.get(id, 0) for id in _first(ranking, k)]) / ideal if ideal > 0 else 0.0


def recall(ranking: Sequence[str], judgements: Judgements, *, k: int | None = None) -> float:
    """The share of all relevant documents that stand in the first k; 0 where nothing is relevant."""
    relevant = {id for id, grade in judgements.items() if grade > 0}
    return len(relevant.intersection(_first(ranking, k))) / len(relevant) if relevant else 0.0


def mean_reciprocal_rank(ranking: Sequence[str], judgements: Judgements, *, k: int | None = None) -> float:
    """1 / rank of the first relevant document among the first k; 0 where there is none."""
    rank = first_hit(_first(ranking, k), lambda id: judgements.get(id, 0) > 0)
    return 1 / rank if rank else 0.0


def first_hit(ranking: Sequence[Item], is_hit: Callable[[Item], bool]) -> int | None:
    """The rank, from 1, of the first item for which `is_hit` holds; None where it holds for none."""
    return next((rank for rank, item in enumerate(ranking, start=1) if is_hit(item)), None)


def _dcg(gains: Sequence[int]) -> float:
    return sum(max(gain, 0) / log2(rank + 1) for rank, gain in enumerate(gains, start=1))


def _first(ranking: Sequence[str], k: int | None) -> list[str]:
    return list(dict.fromkeys(ranking))[: _depth(k)]


def _depth(k: int | None) -> int | None:
    if k is not None and k < 1:
        raise ValueError(f"k = {k} is out of range: at least 1 is needed")
    return k
