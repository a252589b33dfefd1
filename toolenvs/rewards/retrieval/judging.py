"""What the judges that search share: their retriever, and what is held against it before an episode."""

from collections.abc import Mapping
from typing import Any

from toolenvs.errors import RetrievalError, TaskError
from toolenvs.retrieval import Retriever, shared
from toolenvs.rewards.retrieval.relevance import judgements
from toolenvs.rewards.verdict import Reason, Verdict
from toolenvs.tasks.task import Task


class SearchJudge:
    """A judge over an index.

    Args:
        index: what is searched; see `toolenvs.tools.search`.
        backend: a name of `toolenvs.retrieval.BACKENDS`; "" for the default of the index.
    """

    def __init__(self, index: str, backend: str) -> None:
        self._index, self._backend = index, backend

    def retriever(self) -> Retriever:
        """The retriever that this process shares, with the tools too.

        Raises:
            RetrievalError: the index cannot be used.
        """
        return shared.retriever(self._index, self._backend or None)

    def disagrees(self, tasks: Mapping[str, Any]) -> str | None:
        """Why the tasks of a page cannot be searched for in this index; None where nothing is known against it."""
        return shared.disagrees(self._index, tasks)

    async def check(self) -> None:
        """Search once.

        Raises:
            InfrastructureError: the retriever does not work here.
        """
        await self.retriever().asearch(["toolenvs"], k=1)

    def compare(self, gold: str, answer: str) -> Verdict:
        """Whether two queries are the same text: what they find belongs to a task, see `check_task`."""
        same = gold.strip() == answer.strip()
        return Verdict(same, Reason.MATCH if same else Reason.MISMATCH, answer)

    def check_task(self, task: Task) -> str | None:
        """Why the task cannot be judged, or None; called when task files are loaded.

        A server that has no passages by their ids is believed to hold them.
        """
        try:
            relevant = [passage_id for passage_id, grade in judgements(task).items() if grade > 0]
            found = self.retriever().fetch(relevant)
        except TaskError as error:
            return str(error)
        except RetrievalError:  # if it does not work at all, `check` says so
            return None
        missing = [passage_id for passage_id, hit in zip(relevant, found, strict=True) if hit is None]
        return f"the index {self._index!r} has no passage {missing[0]!r}" if missing else None
