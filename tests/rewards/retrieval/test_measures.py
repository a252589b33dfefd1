"""The measures by hand, and against trec_eval itself."""

import doctest
from math import log2

import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.rewards import retrieval
from toolenvs.rewards.retrieval import first_hit, mean_reciprocal_rank, ndcg, recall


@pytest.mark.parametrize(
    ("ranking", "judgements", "k", "value"),
    [
        (["a"], {"a": 1}, None, 1.0),
        (["b", "a"], {"a": 1}, None, 1 / log2(3)),
        (["b", "a"], {"a": 1}, 1, 0.0),
        (["a", "b"], {"a": 1, "b": 3}, None, (1 + 3 / log2(3)) / (3 + 1 / log2(3))),  # linear gain
        (["a"], {"a": 1, "b": 1}, None, 1 / (1 + 1 / log2(3))),  # the ideal holds what was not found
        (["a"], {"a": 1, "b": 1}, 1, 1.0),
        (["a", "a", "b"], {"a": 1, "b": 1}, None, 1.0),  # twice counts once
        (["x", "y"], {"a": 1}, None, 0.0),
        ([], {"a": 1}, None, 0.0),
        (["a"], {}, None, 0.0),
        (["a"], {"a": 0}, None, 0.0),
        (["n", "a"], {"n": -1, "a": 1}, None, 1 / log2(3)),  # a grade below 0 gains nothing
    ],
)
def test_ndcg(ranking: list[str], judgements: dict[str, int], k: int | None, value: float) -> None:
    assert ndcg(ranking, judgements, k=k) == pytest.approx(value)


def test_recall_and_reciprocal_rank() -> None:
    judgements = {"a": 1, "b": 2, "c": 0, "d": 1}
    assert recall(["a", "c", "b", "b"], judgements) == pytest.approx(2 / 3)
    assert recall(["a", "c", "b"], judgements, k=2) == pytest.approx(1 / 3)
    assert recall(["a"], {"a": 0}) == 0
    assert mean_reciprocal_rank(["c", "x", "b"], judgements) == pytest.approx(1 / 3)
    assert mean_reciprocal_rank(["c", "c", "b"], judgements) == pytest.approx(1 / 2)
    assert mean_reciprocal_rank(["c", "x", "b"], judgements, k=2) == 0
    assert first_hit(["x", "yes"], lambda item: "y" in item) == 2
    assert first_hit([], lambda item: True) is None
    for measure in (ndcg, recall, mean_reciprocal_rank):
        with pytest.raises(ValueError, match="k = 0 is out of range"):
            measure(["a"], judgements, k=0)


ids = st.sampled_from([f"d{number:02}" for number in range(25)])


@given(
    ranking=st.lists(ids, max_size=25, unique=True),
    judgements=st.dictionaries(ids, st.integers(0, 4), min_size=1),
)
def test_trec_eval_says_the_same(ranking: list[str], judgements: dict[str, int]) -> None:
    evaluator = pytrec_eval.RelevanceEvaluator(
        {"q": judgements}, {"ndcg", "ndcg_cut.5,10", "recall.5,10", "recip_rank"}
    )
    run = {id: float(-rank) for rank, id in enumerate(ranking)}
    said = evaluator.evaluate({"q": run}).get("q", {})  # nothing is said of an empty ranking
    for name, measured in (
        ("ndcg", ndcg(ranking, judgements)),
        ("ndcg_cut_5", ndcg(ranking, judgements, k=5)),
        ("ndcg_cut_10", ndcg(ranking, judgements, k=10)),
        ("recall_5", recall(ranking, judgements, k=5)),
        ("recall_10", recall(ranking, judgements, k=10)),
        ("recip_rank", mean_reciprocal_rank(ranking, judgements)),
    ):
        assert measured == pytest.approx(said.get(name, 0.0), abs=1e-6), name


def test_the_examples_of_the_documentation() -> None:
    assert doctest.testmod(retrieval).failed == 0
