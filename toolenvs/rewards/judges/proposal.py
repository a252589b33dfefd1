"""The judge of proposed questions: whether one is valid, and how often a solver solves it (SSP, arXiv:2510.18821).

A valid question keeps the rules of `toolenvs.rewards.proposals.Rules` and can be answered by a reader from what the
proposer found, `noise` blocks of other passages among it. The released code takes the reader's failure for a yes; here
it is infrastructure, and no question passes for it.
"""

import importlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from toolenvs import plugins
from toolenvs.endpoint import Endpoint
from toolenvs.errors import PageError
from toolenvs.retrieval import Hit, Retriever, shared
from toolenvs.rewards import qa
from toolenvs.rewards.chains import MAX_CHARS, Chains
from toolenvs.rewards.moment import Moment
from toolenvs.rewards.proposals import Flaw, Proposal, Rules, Seeker, Solver, flaw, queries
from toolenvs.rewards.reading import Model, Reader
from toolenvs.rewards.verdict import Reason, Verdict
from toolenvs.schema import at_least
from toolenvs.tasks.seeding import Draws, stable_seed
from toolenvs.tasks.task import Task
from toolenvs.transcript import Author

_POOL = 200
"""Passages for the question itself, from the lower half of which noise is drawn."""
_NOISE_QUERY_WORDS = 12
_AGENTS = "toolenvs.self_play"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trying:
    """The keys of `[judge.solver]`."""

    name: str = "seeker"
    """Who tries: "seeker", which needs no model; "module:object", a `Solver`, or an agent, which then plays
    SSPSolver-v0; "" for nobody, where questions are solved in a batch of their own (`toolenvs.self_play`)."""
    tries: int = 5
    searches: int = 4
    """Of the seeker's most patient try."""
    passages: int = 3
    """Of each search of the seeker."""

    def __post_init__(self) -> None:
        at_least(1, tries=self.tries, searches=self.searches, passages=self.passages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The keys of `[judge]`, name "proposal"."""

    rules: Rules = field(default_factory=Rules)
    corpus: str = "world:1000"
    """What noise is drawn from and the seeker searches: as `index` of `[tools.search]`, and the same."""
    noise: int = 4
    """Blocks of other passages that the reader has to see through; 0 for none."""
    search_tag: str = "search"
    """The proposer's tag around a query."""
    endpoint: Endpoint | None = None
    """The model that reads; None for `toolenvs.rewards.chains.Chains`."""
    solver: Trying = field(default_factory=Trying)

    def __post_init__(self) -> None:
        at_least(0, noise=self.noise)


class Judge:
    """See the module.

    Attributes:
        solver: who tries valid questions; None for nobody. May be replaced by any `Solver`, as by
            `toolenvs.self_play.AgentSolver` with the policy that is being trained.
        flaws: how often each flaw was found, None for valid questions, since the judge was made.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._reader: Reader = Chains() if options.endpoint is None else Model(options.endpoint, max_chars=MAX_CHARS)
        self.solver: Solver | None = self._solver(options.solver)
        self.flaws: Counter[Flaw | None] = Counter()

    def _solver(self, trying: Trying) -> Solver | None:
        if not trying.name:
            return None
        if trying.name == "seeker":
            return _Late(self, trying)
        found = plugins.find("toolenvs.rewards.proposals", trying.name, "Solver", "judge.solver.name")
        if callable(getattr(found, "solve", None)) and not isinstance(found, type):
            return found  # type: ignore[no-any-return]
        if callable(getattr(found, "act", None)) and not isinstance(found, type):
            solver: Solver = importlib.import_module(_AGENTS).AgentSolver(found)  # above this floor, and asked for
            return solver
        raise PageError(
            f"judge.solver.name: {trying.name!r} is neither a solver, an object with solve(), nor an agent, one with "
            "act() and release()"
        )

    def retriever(self) -> Retriever:
        """The corpus.

        Raises:
            RetrievalError: it cannot be used.
        """
        return shared.retriever(self._options.corpus, None)

    def disagrees(self, tasks: Mapping[str, Any]) -> str | None:
        """Why the page's tasks have nothing to do with this corpus; None where nothing is known against it."""
        why = shared.disagrees(self._options.corpus, tasks)
        return why and why.replace("index =", "corpus =")

    def compare(self, gold: str, answer: str) -> Verdict:
        """Judge an answer that stands alone; task sets hold their golds against it."""
        return qa.judge(golds=(gold,), answer=answer)

    async def __call__(self, moment: Moment) -> Proposal:
        """Judge a finished episode of a proposer.

        Raises:
            InfrastructureError: the reader, the corpus or the solver failed.
        """
        options, question = self._options, (moment.answer or "").strip()
        golds = moment.task.golds or (moment.task.gold,)
        found = [segment.text for segment in moment.transcript.by(Author.TOOL) if segment.verbatim]
        asked = queries(moment.transcript, options.search_tag)
        broken = flaw(question, golds=golds, queries=asked, found=found, rules=options.rules)
        if broken is None and not await self._answerable(question, golds, found):
            broken = Flaw.UNANSWERABLE
        self.flaws[broken] += 1
        if broken is not None:
            reason = Reason.NO_ANSWER if broken is Flaw.NO_QUESTION else Reason.MISMATCH
            return Proposal(False, reason, question or None, flaw=broken)
        solved: tuple[float, ...] = ()
        if self.solver is not None:
            task = Task(id=f"{moment.task.id}/proposal", question=question, golds=golds, source="ssp")
            seed = stable_seed(moment.task.id, question) % (1 << 31)
            solved = tuple(await self.solver.solve(task, n=options.solver.tries, seed=seed))
        return Proposal(True, Reason.MATCH, question, solved=solved)

    async def _answerable(self, question: str, golds: tuple[str, ...], found: list[str]) -> bool:
        """Whether the reader comes to a gold from what was found, noise among it."""
        own = "\n".join(found)[:MAX_CHARS]
        noise = await self._noise(question, golds, own) if self._options.noise else []
        room = (MAX_CHARS - len(own)) // max(len(noise), 1) - 2  # noise makes way, so that nothing found is cut off
        texts = [own, *(block[:room] for block in noise if room > 0)]
        text = "\n\n".join(Draws("noise order", question).sample(texts, len(texts)))
        answer = await self._reader.read(question, text)
        return any(qa.em((gold,), answer) == 1 for gold in golds) or qa.judge(golds=golds, answer=answer).correct

    async def _noise(self, question: str, golds: tuple[str, ...], own: str) -> list[str]:
        """What searches for something else find, without a passage that the proposer had or that holds a gold."""
        retriever, draws = self.retriever(), Draws("noise", question)
        [near] = await retriever.asearch([question], k=_POOL)
        far = near[len(near) // 2 :]
        drawn = draws.sample(far, min(self._options.noise, len(far)))
        others = [" ".join(f"{hit.title} {hit.text}".split()[:_NOISE_QUERY_WORDS]) for hit in drawn]
        lists = await retriever.asearch(others, k=self._options.solver.passages) if others else []
        words = [squad for squad in map(qa.squad, golds) if squad]
        kept = [[hit for hit in hits if hit.text not in own and not _tells(hit, words)] for hits in lists]
        return [
            "\n".join(f"Doc {rank}(Title: {hit.title}) {hit.text}" for rank, hit in enumerate(hits, start=1))
            for hits in kept
            if hits
        ]


def _tells(hit: Hit, golds: list[str]) -> bool:
    text = f" {qa.squad(f'{hit.title} {hit.text}')} "
    return any(f" {gold} " in text for gold in golds)


class _Late:
    """The seeker, over a corpus that is opened when it is first searched."""

    def __init__(self, judge: Judge, trying: Trying) -> None:
        self._judge, self._trying = judge, trying

    async def solve(self, task: Task, *, n: int, seed: int) -> list[float]:
        trying = self._trying
        seeker = Seeker(self._judge.retriever(), self._judge._reader, searches=trying.searches, topk=trying.passages)
        return await seeker.solve(task, n=n, seed=seed)
