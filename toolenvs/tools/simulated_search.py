"""ZeroSearch's simulated search engine: documents that help or that only look as if, by a chance that training raises.

Each query is answered by useful documents or by noisy ones; the chance of noise after a share x of training is

    p(x) = p_s + (b ** x - 1) / (b - 1) * (p_e - p_s)

with `start_noise` p_s, `end_noise` p_e and `base` b, and x the `progress` that an episode is reset with
(arXiv:2505.04588). The documents come from a corpus, deterministically, or are written by a model.
"""

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from toolenvs.endpoint import Endpoint
from toolenvs.errors import ToolError
from toolenvs.retrieval import Hit, shared
from toolenvs.rewards.qa.published import squad
from toolenvs.schema import at_least
from toolenvs.tasks.seeding import Draws, stable_seed
from toolenvs.tasks.task import Task
from toolenvs.tools.base import ToolResult

_PROMPT = """\
You play a search engine. Somebody who wants to answer the question below has sent you a query. Write {count} \
documents as such an engine would return them, each of about {words} words in one paragraph.
{kind}
Begin each with its number: {labels}. Write nothing else.

Question: {question}
Right answer: {answer}
Query: {query}"""
_USEFUL = "The documents must help: what they say is true and bears on the query, and leads towards the right answer."
_NOISY = "The documents must not help: they are on the subject of the query, and nothing in them leads to the answer."
_DRAWS = 1 << 53


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[tools.simulated_search]`."""

    start_noise: float = 0.0
    """Chance of noisy documents when training begins."""
    end_noise: float = 0.5
    """Chance of noisy documents when it ends."""
    base: float = 4.0
    """How late the chance rises: 1 is a straight line, more is later."""
    topk: int = 5
    """Documents that one query gives."""
    index: str = "world:1000"
    """The corpus that documents are taken from; see `toolenvs.tools.search`."""
    pool: int = 50
    """How many of the best passages for a query are looked through for useful and for noisy ones."""
    query_chars: int = 2_000
    """Characters of a query that are read."""
    passage: str = "Doc {rank}: {text}\n"
    """How a document is shown: `{rank}` from 1, `{title}`, `{text}`."""
    nothing: str = ""
    """What a query without documents gives."""
    words: int = 30
    """About how many words a model is asked to write for each document."""
    endpoint: Endpoint | None = None
    """A model that writes the documents; None takes them from the corpus."""
    description: str = "Searches for documents and returns the best ones."
    """Shown to models that choose functions by their schema."""

    def __post_init__(self) -> None:
        at_least(1, topk=self.topk, pool=self.pool, query_chars=self.query_chars, words=self.words)
        at_least(0, start_noise=self.start_noise, end_noise=self.end_noise)
        if max(self.start_noise, self.end_noise) > 1:
            raise ValueError("start_noise and end_noise are chances, from 0 to 1")
        if self.base <= 0:
            raise ValueError(f"base = {self.base:g} is out of range: more than 0 is needed")

    def noise(self, progress: float) -> float:
        """The chance of noisy documents after that share of training, 0 to 1."""
        risen = progress if self.base == 1 else (self.base**progress - 1) / (self.base - 1)
        return self.start_noise + risen * (self.end_noise - self.start_noise)


class Tool:
    """The engine that all episodes share."""

    name: ClassVar[str] = "search"

    def __init__(self, options: Options) -> None:
        self.options = options
        self.description = options.description
        query = {"type": "string", "description": "What to search for."}
        self.parameters: Mapping[str, Any] = {"type": "object", "properties": {"query": query}, "required": ["query"]}

    def disagrees(self, tasks: Mapping[str, Any]) -> str | None:
        """Why the tasks of a page cannot be answered from this index; None where nothing is known against it."""
        return shared.disagrees(self.options.index, tasks)

    async def check(self) -> None:
        """Search once.

        Raises:
            InfrastructureError: the corpus or the model cannot be used.
        """
        task = Task(id="check", question="In which year was the town founded?", golds=("1911",))
        await Session(self, task, seed=0, progress=0.0).call({"query": "town"})

    async def open(self, task: Task, *, seed: int, progress: float) -> "Session":
        """A session, whose chance of noise is that of `progress`."""
        return Session(self, task, seed=seed, progress=progress)

    async def close(self) -> None:
        """Nothing: the process shares the corpus."""


class Session:
    """The queries of one episode; it remembers how many there were."""

    def __init__(self, tool: Tool, task: Task, *, seed: int, progress: float, queries: int = 0) -> None:
        self._tool, self._task, self._seed, self._progress = tool, task, seed, progress
        self._queries = queries

    async def call(self, arguments: Mapping[str, Any]) -> ToolResult:
        """Draw whether the query is answered usefully, and answer it. The same seed, task, query and number of
        queries before it draw the same.

        Raises:
            ToolError: the query is no text.
            InfrastructureError: the corpus or the model failed.
        """
        options = self._tool.options
        query = arguments.get("query")
        if not isinstance(query, str):
            raise ToolError("the argument 'query' must be a string to search for")
        query = query[: options.query_chars]
        started_s = time.perf_counter()
        key = ("simulated_search", self._seed, self._task.id, self._queries)
        self._queries += 1
        useful = Draws(*key).below(_DRAWS) / _DRAWS > options.noise(self._progress)
        if options.endpoint is None:
            hits = await self._found(query, useful)
            text = "".join(_shown(options.passage, rank, hit) for rank, hit in enumerate(hits, start=1))
        else:
            text = await options.endpoint.ask(self._prompt(query, useful), seed=stable_seed(*key) % (1 << 31))
            text = text.partition(f"Doc {options.topk + 1}")[0]
        data = {"query": query, "useful": useful}
        seconds = time.perf_counter() - started_s
        return ToolResult(text=text.strip() or options.nothing, data=data, seconds=seconds)

    async def _found(self, query: str, useful: bool) -> list[Hit]:
        """Useful: the passages that the query finds and that hold the task's evidence or a gold, then others.

        Noisy: others only, the query's first, then the question's, so that there are as many as of the useful.
        """
        options = self._tool.options
        queries = [query, self._task.question[: options.query_chars]]
        found, about = await shared.retriever(options.index, None).asearch(queries, k=options.pool)
        helping = [hit for hit in found if self._helps(hit)] if useful else []
        others = {hit.id: hit for hit in (*found, *about) if not self._helps(hit)}
        return [*helping, *others.values()][: options.topk]

    def _helps(self, hit: Hit) -> bool:
        said = f" {squad(hit.text)} "
        golds = [squad(gold) for gold in self._task.golds]
        return hit.id in self._task.extra.get("evidence", ()) or any(gold and f" {gold} " in said for gold in golds)

    def _prompt(self, query: str, useful: bool) -> str:
        options = self._tool.options
        values = {
            "count": str(options.topk),
            "words": str(options.words),
            "kind": _USEFUL if useful else _NOISY,
            "labels": ", ".join(f"Doc {rank}" for rank in range(1, options.topk + 1)),
            "question": self._task.question,
            "answer": self._task.golds[0] if self._task.golds else "",
            "query": query,
        }
        return _PROMPT.format_map(values)

    async def fork(self) -> "Session":
        """A copy that has had as many queries."""
        return Session(self._tool, self._task, seed=self._seed, progress=self._progress, queries=self._queries)

    async def close(self) -> None:
        """Nothing."""


def _shown(template: str, rank: int, hit: Hit) -> str:
    values = {"{rank}": str(rank), "{title}": hit.title, "{text}": hit.text}
    return re.sub(r"\{(?:rank|title|text)\}", lambda name: values[name[0]], template)
