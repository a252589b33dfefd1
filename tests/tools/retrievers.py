"""Retrievers that stand in for an index."""

from toolenvs.retrieval import Hit


class Recorded:
    """Answers what it is told to, and keeps what it was asked."""

    def __init__(self, lists: list[list[Hit]]) -> None:
        self.lists = lists

    async def asearch(self, queries: list[str], k: int) -> list[list[Hit]]:
        self.asked = (queries, k)
        return self.lists
