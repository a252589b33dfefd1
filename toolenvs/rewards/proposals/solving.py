"""Who tries a proposed question, and a solver that needs no model."""

from collections.abc import Sequence
from typing import Protocol

from toolenvs.retrieval import Retriever
from toolenvs.rewards.qa.judging import judge
from toolenvs.rewards.qa.published import em
from toolenvs.rewards.reading import Reader
from toolenvs.tasks.seeding import Draws
from toolenvs.tasks.task import Task


class Solver(Protocol):
    """Tries questions."""

    async def solve(self, task: Task, *, n: int, seed: int) -> Sequence[float]:
        """Correctness of each of `n` tries of the task, 0 to 1.

        Raises:
            InfrastructureError: the solver failed, which says nothing about the question.
        """
        ...


class Seeker:
    """Searches for the question, then for what a reader makes of all that was found, until that no longer changes.

    How patient a try is, 1 to `searches` searches, is drawn from the seed: of a question of h hops the tries with fewer
    than h searches mostly fail, so harder questions are solved less often. Equal seeds give equal tries.

    Args:
        retriever: what is searched.
        reader: who reads what was found.
        searches: of the most patient try.
        topk: passages of one search.
    """

    def __init__(self, retriever: Retriever, reader: Reader, *, searches: int = 4, topk: int = 3) -> None:
        self._retriever, self._reader = retriever, reader
        self._searches, self._topk = searches, topk

    async def solve(self, task: Task, *, n: int, seed: int) -> list[float]:
        """Correctness of each try, by exact match or by the careful judge.

        Raises:
            InfrastructureError: the retriever or the reader failed.
        """
        patience = [Draws("seeker", seed, index).between(1, self._searches) for index in range(n)]
        answers = await self._answers(task.question, max(patience, default=0))
        said = [answers[min(searches, len(answers)) - 1] for searches in patience]
        return [float(em(task.golds, answer) == 1 or judge(golds=task.golds, answer=answer).correct) for answer in said]

    async def _answers(self, question: str, searches: int) -> list[str]:
        """What would be answered after one search, after two, ...; no longer than something new turns up."""
        query, text, asked, answers = question, "", {""}, []
        for _ in range(searches):
            [hits] = await self._retriever.asearch([query], k=self._topk)
            text += "".join(f"Doc {rank}(Title: {hit.title}) {hit.text}\n" for rank, hit in enumerate(hits, start=1))
            answers.append(await self._reader.read(question, text))
            asked.add(query)
            query = answers[-1]
            if query in asked:
                break
        return answers
