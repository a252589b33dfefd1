"""Tier tables: a measure is worth what the highest tier that it reaches is worth.

DeepRetrieval (arXiv:2503.00223) rewards searching by them, and so leaves no gradient between "nearly nothing" and
"nothing" but a step.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tiers:
    """A table."""

    steps: tuple[tuple[float, float], ...]
    """(threshold, worth), the best first."""
    otherwise: float
    """Worth of what reaches no tier."""
    failed: float
    """Worth of a search that could not be made."""
    lower_is_better: bool = False
    """True where the measure is a rank: a tier is reached at its threshold or below."""


RECALL_TIERS = Tiers(
    steps=((0.7, 5.0), (0.5, 4.0), (0.4, 3.0), (0.3, 1.0), (0.1, 0.5), (0.05, 0.1)), otherwise=-3.5, failed=-4.0
)
"""Of the recall of the gold documents: publication and trial search."""

RANK_TIERS = Tiers(
    steps=((5, 5.0), (20, 4.0), (50, 2.0), (100, 1.0), (1_000, 0.5), (3_000, 0.1)),
    otherwise=-3.5,
    failed=-4.0,
    lower_is_better=True,
)
"""Of the rank of the first passage that holds an answer: Natural Questions and TriviaQA. SQuAD's has -2.5 and -3.0 in
place of -3.5 and -4.0."""


def tier(measure: float | None, table: Tiers) -> float:
    """What a measure is worth by a table.

    Args:
        measure: a share or a rank; None for a rank that does not exist.
        table: the tiers.
    """
    if measure is None:
        return table.otherwise
    for threshold, worth in table.steps:
        if measure <= threshold if table.lower_is_better else measure >= threshold:
            return worth
    return table.otherwise
