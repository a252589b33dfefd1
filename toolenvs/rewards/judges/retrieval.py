"""The judge that searches: the policy's answer is a query, and what it is worth is what it finds (DeepRetrieval).

The answer is a JSON object with the query; see `toolenvs.rewards.json_answer` for the form of a response.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, Literal

from toolenvs.errors import RetrievalError, TaskError
from toolenvs.retrieval import Hit
from toolenvs.rewards.json_answer import is_sound, members, response
from toolenvs.rewards.moment import Moment
from toolenvs.rewards.retrieval import dates, first_hit, ndcg, recall
from toolenvs.rewards.retrieval.judging import SearchJudge
from toolenvs.rewards.retrieval.relevance import Holds, judgements
from toolenvs.rewards.retrieval.searched import Searched
from toolenvs.rewards.verdict import Reason
from toolenvs.schema import at_least
from toolenvs.tasks.task import Task

_HELD_OUT = ("test", "val")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[judge]`, name "retrieval"."""

    measure: Literal["recall", "rank", "ndcg"] = "ndcg"
    """What a ranking is measured by: the share of the relevant passages among the first `k`; the rank of the first
    passage that holds one of the task's golds; or nDCG among the first `k`. The verdict's score is the share, one over
    the rank, or nDCG."""
    index: str = "world:1000"
    """What is searched; see `toolenvs.tools.search`."""
    backend: str = ""
    """A name of `toolenvs.retrieval.BACKENDS`; "" for the default of the index."""
    k: int = 10
    """Passages that a search finds."""
    held_out_k: int | None = None
    """As `k`, for tasks whose source says "test" or "val"; None for the same."""
    key: str = "query"
    """Of the JSON object, for the query."""
    query_chars: int = 10_000
    """Characters of a query that are searched for."""
    dates: str = ""
    """Where the dates of passages are: "world", or a file; see `toolenvs.rewards.retrieval.dates`. A search then finds
    nothing later than the task's `pub_date`. "" for none."""

    def __post_init__(self) -> None:
        at_least(1, k=self.k, held_out_k=self.held_out_k, query_chars=self.query_chars)
        if not self.key:
            raise ValueError("key must not be empty")


class Judge(SearchJudge):
    """See `toolenvs.rewards.retrieval`."""

    def __init__(self, options: Options) -> None:
        super().__init__(options.index, options.backend)
        self._options = options

    def check_task(self, task: Task) -> str | None:
        """Why the task cannot be judged, or None; called when task files are loaded."""
        if self._options.measure != "rank":
            return super().check_task(task)
        try:
            Holds(task.golds)
        except TaskError as error:
            return str(error)
        return None

    def solution(self, task: Task) -> str:
        """A whole response with the best query that a generated task knows of: the last of its `queries`."""
        queries = task.extra.get("queries") or (task.gold,)
        answer = json.dumps({self._options.key: queries[-1]}, ensure_ascii=False)
        return f"<think>\nI name what is looked for.\n</think>\n<answer>\n{answer}\n</answer>"

    async def __call__(self, moment: Moment) -> Searched:
        """Judge a finished episode: search with its query, and measure the ranking.

        Raises:
            RetrievalError: the retriever failed.
            TaskError: the task does not say what is relevant.
        """
        started_s = perf_counter()
        measure = self._measure_of(moment.task)
        query, sound = self._query(moment.answer), float(is_sound(response(moment)))
        by = self._options.measure
        if query is None:
            return Searched(False, Reason.NO_ANSWER, moment.answer, score=0.0, by=by, format=sound)
        hits = await self._search(query, moment.task)
        value = measure(hits)
        score = value if by != "rank" else 1 / value if value else 0.0
        return Searched(
            correct=score == 1,
            reason=Reason.MATCH if score == 1 else Reason.MISMATCH,
            extracted=query,
            seconds=perf_counter() - started_s,
            score=score,
            by=by,
            format=sound,
            readable=True,
            measures=(value,),
            rankings=(tuple(hit.id for hit in hits),),
        )

    def _query(self, answer: str | None) -> str | None:
        """The query in an answer; None where none can be read."""
        query = members(answer).get(self._options.key)
        return query[: self._options.query_chars] if isinstance(query, str) and query.strip() else None

    def _measure_of(self, task: Task) -> Any:
        """From hits to their measure by what the task calls relevant."""
        if self._options.measure == "rank":
            holds = Holds(task.golds)
            return lambda hits: first_hit(hits, holds)
        grades, k = judgements(task), self._k(task)
        share = recall if self._options.measure == "recall" else ndcg
        return lambda hits: share([hit.id for hit in hits], grades, k=k)

    def _k(self, task: Task) -> int:
        held_out_k = self._options.held_out_k
        return held_out_k if held_out_k and any(word in task.source for word in _HELD_OUT) else self._options.k

    async def _search(self, query: str, task: Task) -> Sequence[Hit]:
        """The first `k` passages, none later than the task's date."""
        k, limit = self._k(task), dates.parse(task.extra.get("pub_date")) if self._options.dates else None
        if limit is None:
            return await self._ranking(query, k)
        date_of, depth = dates.dates_of(self._options.index, self._options.dates), k
        while True:  # deeper, until enough are left
            hits = await self._ranking(query, depth)
            kept = [hit for hit in hits if (date := date_of(hit.id)) is None or not dates.is_later(date, limit)]
            if len(kept) >= k or len(hits) < depth:
                return kept[:k]
            depth *= 4

    async def _ranking(self, query: str, k: int) -> Sequence[Hit]:
        rankings = await self.retriever().asearch([query], k=k)
        if len(rankings) != 1:
            raise RetrievalError(f"the retriever answered 1 query with {len(rankings)} lists")
        return rankings[0]
