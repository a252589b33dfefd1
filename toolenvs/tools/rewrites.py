"""Search with several queries at once: what they find together, each passage cut short."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from toolenvs.errors import ToolError
from toolenvs.retrieval.merging import amerged
from toolenvs.schema import at_least
from toolenvs.tasks.task import Task
from toolenvs.tools._index import Searcher
from toolenvs.tools.base import ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[tools.rewrites]`."""

    index: str = "world:1000"
    """What is searched; see `toolenvs.tools.search`."""
    backend: str = ""
    """A name of `toolenvs.retrieval.BACKENDS`; "" for the default of the index."""
    topk: int = 10
    """Passages that a call gives."""
    passage_words: int = 100
    """Words of a passage that are shown."""
    below: float | None = None
    """Passages that score this much or more are left out; see `toolenvs.retrieval.merging.merge`."""
    max_queries: int = 64
    """Queries of a call that are searched, the first ones."""
    query_chars: int = 10_000
    """Characters of a query that are searched for."""
    description: str = "Searches a collection of passages with several queries and returns the best passages of all."
    """Shown to models that choose functions by their schema."""

    def __post_init__(self) -> None:
        at_least(1, topk=self.topk, passage_words=self.passage_words, max_queries=self.max_queries)
        at_least(1, query_chars=self.query_chars)


class Tool(Searcher):
    """A retriever that the process shares between all episodes with the same index."""

    name: ClassVar[str] = "search"

    def __init__(self, options: Options) -> None:
        self.options = options
        self.description = options.description
        queries = {
            "type": "array",
            "items": {"type": "string", "description": "What to search for."},
            "description": "What to search for, each by itself.",
        }
        self.parameters: Mapping[str, Any] = {
            "type": "object",
            "properties": {"query_list": queries},
            "required": ["query_list"],
        }

    async def open(self, task: Task, *, seed: int, progress: float) -> "Session":
        """A session; it holds nothing."""
        return Session(self)


class Session:
    """Searches of one episode, each by itself."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Search for the queries of a call.

        Raises:
            ToolError: there is none, or one is no text.
            RetrievalError: the retriever failed.
        """
        options, given = self._tool.options, arguments.get("query_list")
        if not isinstance(given, list) or not given or not all(isinstance(query, str) for query in given):
            raise ToolError("the argument 'query_list' must be a list of strings to search for")
        queries = [query[: options.query_chars] for query in given[: options.max_queries]]
        started_s = time.perf_counter()
        hits = await amerged(self._tool.retriever(), queries, k=options.topk, below=options.below)
        shown = [
            f"<doc{rank}>{' '.join(f'{hit.title} {hit.text}'.split()[: options.passage_words])}</doc{rank}>"
            for rank, hit in enumerate(hits, start=1)
        ]
        data = {"queries": queries, "ids": [hit.id for hit in hits]}
        return ToolResult(text="\n".join(shown), data=data, seconds=time.perf_counter() - started_s)

    async def fork(self) -> "Session":
        """The same: a search keeps nothing."""
        return self

    async def close(self) -> None:
        """Nothing."""
