"""Search as a tool: the best passages of a corpus for a query, in the words that the page gives them."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from toolenvs.errors import InfrastructureError, ToolError
from toolenvs.retrieval import Hit
from toolenvs.schema import at_least
from toolenvs.tasks.task import Task
from toolenvs.tools._index import Searcher
from toolenvs.tools.base import ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[tools.search]`."""

    index: str = "world:1000"
    """What is searched: an index folder, the address of a server, or "world:PASSAGES" or "world:PASSAGES:SEED", the
    fictional world of that size, which is built when it is first asked for."""
    backend: str = ""
    """A name of `toolenvs.retrieval.BACKENDS`; "" for the default of the index."""
    topk: int = 3
    """Passages that one query gives."""
    query_chars: int = 2_000
    """Characters of a query that are read."""
    passage: str = "Doc {rank}(Title: {title}) {text}\n"
    """How a passage is shown: `{rank}` from 1, `{title}`, `{text}`, `{id}`, `{score}`."""
    nothing: str = ""
    """What a query without results gives."""
    arguments: Literal["query", "query_list"] = "query"
    """Whether a call holds one query or a list of them."""
    separator: str = "\n---\n"
    """Between the results of the queries of a list."""
    max_queries: int = 8
    """Queries of a list that are searched."""
    description: str = "Searches a collection of passages and returns the best ones."
    """Shown to models that choose functions by their schema."""

    def __post_init__(self) -> None:
        at_least(1, topk=self.topk, query_chars=self.query_chars, max_queries=self.max_queries)


class Tool(Searcher):
    """A retriever that the process shares between all episodes with the same index."""

    name: ClassVar[str] = "search"

    def __init__(self, options: Options) -> None:
        self.options = options
        self.description = options.description
        one = {"type": "string", "description": "What to search for."}
        many = {"type": "array", "items": one, "description": "What to search for, each by itself."}
        key = options.arguments
        self.parameters: Mapping[str, Any] = {
            "type": "object",
            "properties": {key: one if key == "query" else many},
            "required": [key],
        }

    async def open(self, task: Task, *, seed: int, progress: float) -> "Session":
        """A session; it holds nothing."""
        return Session(self)


class Session:
    """Searches of one episode, each by itself."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Search for the query, or the queries, of a call.

        Raises:
            ToolError: there is none, or it is no text.
            RetrievalError: the retriever failed.
        """
        options = self._tool.options
        queries = [query[: options.query_chars] for query in _queries(arguments, options)]
        started_s = time.perf_counter()
        found = await self._tool.retriever().asearch(queries, k=options.topk)
        if len(found) != len(queries):
            raise InfrastructureError(f"the retriever answered {len(queries)} queries with {len(found)} lists")
        text = options.separator.join(_shown(hits, options) for hits in found)
        data = {"queries": queries, "ids": [[hit.id for hit in hits] for hits in found]}
        return ToolResult(text=text, data=data, seconds=time.perf_counter() - started_s)

    async def fork(self) -> "Session":
        """The same: a search keeps nothing."""
        return self

    async def close(self) -> None:
        """Nothing."""


def _queries(arguments: Mapping[str, Any], options: Options) -> Sequence[str]:
    value = arguments.get(options.arguments)
    if options.arguments == "query":
        if not isinstance(value, str):
            raise ToolError("the argument 'query' must be a string to search for")
        return [value]
    if not isinstance(value, list) or not value or not all(isinstance(query, str) for query in value):
        raise ToolError("the argument 'query_list' must be a list of strings to search for")
    return value[: options.max_queries]


def _shown(hits: Sequence[Hit], options: Options) -> str:
    """What the model reads of one query's results."""
    shown = ""
    for rank, hit in enumerate(hits, start=1):
        values = {"rank": str(rank), "title": hit.title, "text": hit.text, "id": hit.id, "score": f"{hit.score:.4f}"}
        shown += _fill(options.passage, values)
    return shown.strip() or options.nothing


def _fill(template: str, values: Mapping[str, str]) -> str:
    """`template` with each `{name}` of `values` filled in, once: what is filled in is not read again."""
    out, rest = "", template
    while rest:
        places = [(at, name) for name in values if (at := rest.find(f"{{{name}}}")) >= 0]
        if not places:
            break
        at, name = min(places)
        out, rest = out + rest[:at] + values[name], rest[at + len(name) + 2 :]
    return out + rest
