"""The tier tables of DeepRetrieval at and beside each of their thresholds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolenvs.rewards.retrieval import RANK_TIERS, RECALL_TIERS, tier


@pytest.mark.parametrize(
    ("recall", "worth"),
    [
        (1.0, 5.0), (0.7, 5.0), (0.69, 4.0), (0.5, 4.0), (0.49, 3.0), (0.4, 3.0), (0.39, 1.0), (0.3, 1.0), (0.29, 0.5),
        (0.1, 0.5), (0.09, 0.1), (0.05, 0.1), (0.049, -3.5), (0.0, -3.5),
    ],
)  # fmt: skip
def test_recall(recall: float, worth: float) -> None:
    assert tier(recall, RECALL_TIERS) == worth


@pytest.mark.parametrize(
    ("rank", "worth"),
    [
        (1, 5.0), (5, 5.0), (6, 4.0), (20, 4.0), (21, 2.0), (50, 2.0), (51, 1.0), (100, 1.0), (101, 0.5), (1000, 0.5),
        (1001, 0.1), (3000, 0.1), (3001, -3.5), (None, -3.5),
    ],
)  # fmt: skip
def test_rank(rank: int | None, worth: float) -> None:
    assert tier(rank, RANK_TIERS) == worth


def test_what_a_failed_search_is_worth() -> None:
    assert (RECALL_TIERS.failed, RANK_TIERS.failed) == (-4.0, -4.0)


@given(shares=st.lists(st.floats(0, 1), min_size=2), ranks=st.lists(st.integers(1, 5_000), min_size=2))
def test_better_is_never_worth_less(shares: list[float], ranks: list[int]) -> None:
    by_recall = [tier(share, RECALL_TIERS) for share in sorted(shares)]
    by_rank = [tier(rank, RANK_TIERS) for rank in sorted(ranks, reverse=True)]
    for worths, table in ((by_recall, RECALL_TIERS), (by_rank, RANK_TIERS)):
        assert worths == sorted(worths)
        assert table.failed < table.otherwise <= worths[0] <= worths[-1] <= 5
