"""The judge that searches with rewritten queries, in one turn or in two (arXiv:2606.16817).

The policy writes queries between `<rewrite>` tags, as many as it likes; what they find is merged, each passage with its
best score, and measured by nDCG. In one turn the response must be a thought and rewrites behind it, and nothing else.
In two turns it has half of its format for any first rewrite of the first turn, and half for any second one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from toolenvs.retrieval.merging import amerged
from toolenvs.rewards.moment import Moment
from toolenvs.rewards.retrieval import ndcg
from toolenvs.rewards.retrieval.judging import SearchJudge
from toolenvs.rewards.retrieval.relevance import judgements
from toolenvs.rewards.retrieval.searched import Searched
from toolenvs.rewards.verdict import Reason
from toolenvs.schema import at_least
from toolenvs.tasks.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[judge]`, name "rewrites"."""

    index: str = "world:1000"
    """What is searched; see `toolenvs.tools.search`."""
    backend: str = ""
    """The retriever that the policy writes for: a name of `toolenvs.retrieval.BACKENDS`; "" for the index's default."""
    k: int = 10
    """Passages that count."""
    first: str = "rewrite"
    """The tag of a query."""
    second: str = ""
    """The tag of a query of the second turn; "" for one turn."""
    below: float | None = None
    """Passages that score this much or more are left out; see `toolenvs.retrieval.merging.merge`."""
    max_queries: int = 64
    """Queries of a turn that are searched, the first ones."""
    query_chars: int = 10_000
    """Characters of a query that are searched for."""

    def __post_init__(self) -> None:
        at_least(1, k=self.k, max_queries=self.max_queries, query_chars=self.query_chars)
        if not self.first or self.first == self.second:
            raise ValueError("first and second must be different tags, and first not empty")


class Judge(SearchJudge):
    """See `toolenvs.rewards.retrieval`."""

    def __init__(self, options: Options) -> None:
        super().__init__(options.index, options.backend)
        self._options = options

    def solution(self, task: Task) -> str:
        """A last turn with the best query that a generated task knows of: the last of its `queries`."""
        query = (task.extra.get("queries") or (task.gold,))[-1]
        tag = self._options.second or self._options.first
        return f"<think>I name what is looked for.</think><{tag}>{query}</{tag}>"

    async def __call__(self, moment: Moment) -> Searched:
        """Judge a finished episode: search with the rewrites of each turn, and measure what they find together.

        Raises:
            RetrievalError: the retriever failed.
            TaskError: the task does not say what is relevant.
        """
        started_s = perf_counter()
        grades, said = judgements(moment.task), moment.transcript
        first, second = self._options.first, self._options.second
        turns = [rewrites(said.policy_text(1 if second else None), first)]  # later ones know what the first turn found
        turns += [rewrites(said.policy_text(), second)] if second else []
        halves = sum(0.5 for queries in turns if queries)
        format = halves if len(turns) == 2 else float(is_one_turn("".join(moment.said), first))
        rankings = [await self._search(queries) for queries in turns] if format == 1 else []
        measures = tuple(ndcg(ranking, grades, k=self._options.k) for ranking in rankings)
        score = measures[-1] if measures else 0.0
        written = turns[-1] or turns[0]
        return Searched(
            correct=score == 1,
            reason=Reason.NO_ANSWER if not written else Reason.MATCH if score == 1 else Reason.MISMATCH,
            extracted="\n".join(written) or None,
            seconds=perf_counter() - started_s,
            score=score,
            by="ndcg",
            format=format,
            readable=bool(written),
            measures=measures,
            rankings=tuple(map(tuple, rankings)),
        )

    async def _search(self, queries: Sequence[str]) -> list[str]:
        """Ids of what the queries find together, the best first."""
        options = self._options
        asked = [query[: options.query_chars] for query in queries[: options.max_queries]]
        return [hit.id for hit in await amerged(self.retriever(), asked, k=options.k, below=options.below)]


def rewrites(response: str, tag: str) -> list[str]:
    """The queries in a response, in order: what stands between the tags and holds no "<"."""
    return re.findall(f"<{re.escape(tag)}>([^<]*)</{re.escape(tag)}>", response)


def is_one_turn(response: str, tag: str) -> bool:
    """Whether a response is a thought, directly followed by a rewrite, up to the end of the last one."""
    text = response.strip()
    if not text.startswith("<think>") or not text.endswith(f"</{tag}>"):
        return False
    return re.search(rf"</think>\s*+<{re.escape(tag)}>", text) is not None
