"""Rankings of several queries as one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs import loop
from toolenvs.errors import RetrievalError
from toolenvs.retrieval import Hit
from toolenvs.retrieval.merging import amerged, merge


def hit(key: str, score: float) -> Hit:
    return Hit(key, score, "", f"{key} {score}")


def test_each_passage_has_its_best_score() -> None:
    rankings = [[hit("a", 2.0), hit("b", 1.0)], [hit("b", 3.0), hit("c", 2.0)], []]
    assert merge(rankings, k=3) == [hit("b", 3.0), hit("a", 2.0), hit("c", 2.0)]  # equal scores by id
    assert merge(rankings, k=1) == [hit("b", 3.0)]
    assert merge(rankings, k=3, below=2.5) == [hit("a", 2.0), hit("c", 2.0), hit("b", 1.0)]
    assert merge([], k=3) == []


hits = st.builds(hit, st.sampled_from("abcdef"), st.sampled_from([0.5, 1.0, 2.0]))


@given(rankings=st.lists(st.lists(hits, max_size=6), max_size=4), k=st.integers(1, 6))
def test_the_order_of_the_queries_does_not_matter(rankings: list[list[Hit]], k: int) -> None:
    merged = merge(rankings, k=k)
    assert merged == merge(rankings[::-1], k=k)
    assert len({found.id for found in merged}) == len(merged) <= k
    assert [found.score for found in merged] == sorted((found.score for found in merged), reverse=True)


def test_a_retriever_must_answer_every_query() -> None:
    class Short:
        async def asearch(self, queries: list[str], k: int) -> list[list[Hit]]:
            return [[hit("a", 1.0)]]

    retriever: Any = Short()
    assert loop.run(amerged(retriever, ["x"], k=2)) == [hit("a", 1.0)]
    assert loop.run(amerged(retriever, [], k=2)) == []
    with pytest.raises(RetrievalError, match="answered 2 queries with 1 lists"):
        loop.run(amerged(retriever, ["x", "y"], k=2))
