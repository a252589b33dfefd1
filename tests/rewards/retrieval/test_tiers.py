"""The tier tables of DeepRetrieval at and beside each of their thresholds."""

import pytest

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
