"""What tools over one index of this process share: opening it, holding a page's tasks against it."""

from collections.abc import Mapping
from typing import Any

from toolenvs.retrieval import Retriever, shared


class Searcher:
    """A tool that searches the index of its options."""

    options: Any
    """With `index` and `backend`; the rest is the tool's."""

    def retriever(self) -> Retriever:
        """The retriever that this process shares.

        Raises:
            RetrievalError: the index cannot be used.
        """
        return shared.retriever(self.options.index, self.options.backend or None)

    def disagrees(self, tasks: Mapping[str, Any]) -> str | None:
        """Why the tasks of a page cannot be answered from this index; None where nothing is known against it."""
        return shared.disagrees(self.options.index, tasks)

    async def check(self) -> None:
        """Search once.

        Raises:
            InfrastructureError: the retriever does not work here.
        """
        await self.retriever().asearch(["toolenvs"], k=1)

    async def close(self) -> None:
        """Nothing: the process shares the retriever and closes it when it exits."""
