"""Demonstrations for a cold start on questions about the fictional world: a fallible script that searches.

Like the arithmetic ones they are meant to be imperfect. A third of the time the script guesses an answer of the right
kind instead of searching, some of its queries leave the name out, and often it answers with another name or number of
the passage than the one that was asked for.
"""

import re
from dataclasses import dataclass

from toolenvs.errors import TaskError
from toolenvs.protocols.base import Call
from toolenvs.rollout.agent import Request
from toolenvs.tasks.seeding import Draws
from toolenvs.tasks.task import Task
from toolenvs.train.tiny.acting import Script
from toolenvs.world.questions import UNKNOWN

SEARCH_PERCENT = 65
"""Demonstrations that search."""
FAULTY_PERCENT = 15
"""Of those, queries that name nothing, whose answer is then a guess."""
MISREADING_PERCENT = 25
"""Of those, answers that are another span of the passage."""

_SPAN = re.compile(r"[A-Z][a-z]+(?: (?:of )?[A-Z][a-z]+)+|[A-Z][a-z]+|[0-9]+")
_NO_SPANS = frozenset({"Doc", "Title", "It", "Its", "The", "In", "For", "With", "Born"})


@dataclass(frozen=True, slots=True)
class SearchDemonstration:
    """What the script does in one episode, decided before it begins."""

    queries: tuple[str, ...]
    """What it searches for, turn after turn; empty where it guesses at once."""
    misreads: bool
    """Whether it answers with another span of what it found last."""
    guesses: bool
    """Whether it answers with the answer to another question about the same fact, whatever it found."""

    @classmethod
    def of(cls, task: Task, seed: int) -> "SearchDemonstration":
        """The demonstration for a question, a function of the arguments alone.

        Args:
            task: of the generator "world".
            seed: another seed gives another demonstration of the same task.

        Raises:
            TaskError: the task is none of that generator, or has no answer.
        """
        if task.source != "world" or not task.extra["queries"]:
            raise TaskError(f"task {task.id!r} is no answerable question about the world: set tasks.set to 'world'")
        draws = Draws("demonstration", seed, task.id)
        searches, faulty, misreads = (
            draws.below(100) < percent for percent in (SEARCH_PERCENT, FAULTY_PERCENT, MISREADING_PERCENT)
        )
        queries = tuple(task.extra["queries"]) if searches else ()
        if searches and faulty:
            queries = (_without_names(task.question),)
        return cls(queries=queries, misreads=misreads, guesses=faulty or not searches)

    def answer(self, task: Task, result: str) -> str:
        """What is answered, unless guessed, once `result` is the last that was found: never what it does not say."""
        gold = task.golds[0]
        spans = [span for span in _spans(result) if span != gold]
        if gold in result and not (self.misreads and spans):
            return gold
        return Draws("misread", task.id).choice(spans) if spans else UNKNOWN


class SearchDemonstrator(Script):
    """Acts out these demonstrations: searches in the first turns of most episodes, then an answer."""

    def write(self, request: Request) -> tuple[str, bool]:
        """See `Script`."""
        demonstration = SearchDemonstration.of(request.task, self._seed)
        if request.turn <= len(demonstration.queries):
            query = demonstration.queries[request.turn - 1]
            return self._protocol.write_call(Call("search", {"query": f" {query} "})), False
        task = request.task
        answer = self._guess(task) if demonstration.guesses else demonstration.answer(task, request.last_result)
        return self._protocol.write_answer(answer).replace("\n", " "), True  # as the page's prompt shows it

    def _guess(self, task: Task) -> str:
        """The gold of another task that asks for the same fact."""
        tasks = self._blueprint.tasks
        draws = Draws("guess", self._seed, task.id)
        while True:
            other = tasks[draws.below(len(tasks))]
            if other.extra["facts"][-1] == task.extra["facts"][-1] and other.golds != task.golds:
                return other.golds[0]


def _without_names(question: str) -> str:
    """The question's lower-case words."""
    return " ".join(word for word in re.findall(r"[A-Za-z]+", question) if word.islower())


def _spans(result: str) -> list[str]:
    """Names and numbers of a passage, each once."""
    found = dict.fromkeys(_SPAN.findall(result.partition(")")[2] or result))
    return [span for span in found if span not in _NO_SPANS]
