"""Seed answers of search self-play: `ground_truth` and `search_turns`, one answer a row."""

from toolenvs.tasks.schemas._columns import Row, as_golds, as_id, unclaimed
from toolenvs.tasks.task import Task

REPEATS = True
"""The same answer with the same number of searches is one task."""


def matches(row: Row) -> bool:
    """Whether a row has the two columns and no question of its own."""
    return "ground_truth" in row and "search_turns" in row and "question" not in row


def to_task(row: Row, index: int) -> Task:
    """Read one row; what the proposer reads is the answer and the number of searches.

    Raises:
        TaskError: there is no answer.
    """
    golds = as_golds(row["ground_truth"], "ground_truth")
    turns = row["search_turns"]
    return Task(
        id=as_id(row.get("id"), index),
        question=f"Answer: {golds[0]}\nSearches needed: {turns}",
        golds=golds,
        source="ssp",
        extra={"hops": turns, **unclaimed(row, "id", "ground_truth", "search_turns")},
    )
