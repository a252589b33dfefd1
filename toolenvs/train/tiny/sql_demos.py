"""Demonstrations for a cold start on questions about the world's database: a fallible script that writes queries.

More than half of its queries are wrong, each in one way: a comparison, an order, a column or a table is another, a
condition is left out, the query breaks off, or there is none. Names, words and numbers are always the question's. Half
of the time it tries its query before it answers with it; where the database reports an error, or finds nothing, it
mostly answers with a better one.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from toolenvs.errors import TaskError
from toolenvs.protocols.base import Call
from toolenvs.rollout.agent import Request
from toolenvs.tasks.seeding import Draws
from toolenvs.tasks.task import Task
from toolenvs.train.tiny.acting import Script
from toolenvs.world.entities import KINDS
from toolenvs.world.sql.tables import columns

FAULTY_PERCENT = 55
"""Demonstrations whose first query is wrong."""
TRYING_PERCENT = 50
"""Demonstrations that run their query before they answer."""
STUBBORN_PERCENT = 30
"""Of those that the database found fault with, answers that are the same query even so."""

_TOKEN = re.compile(r"'[^']*'|[A-Za-z_]+|\d+(?:\.\d+)?|[<>]=?|\s+|.", re.DOTALL)
_COMPARISONS = (">", ">=", "<", "<=")
_DIRECTIONS = ("ASC", "DESC")
_COLUMNS = tuple(dict.fromkeys(column for kind in KINDS for column in columns(kind) if not column.endswith("id")))
_OTHERS: tuple[Callable[[str], tuple[str, ...]], ...] = (
    lambda token: _COMPARISONS if token in _COMPARISONS else (),
    lambda token: _DIRECTIONS if token in _DIRECTIONS else (),
    lambda token: _COLUMNS if token in _COLUMNS else (),
    lambda token: KINDS if token in KINDS else (),
)
"""What may stand in place of a token, by kind of token."""
_FOUND_NOTHING = re.compile(r"Error\b|.*\(0 rows\)\s*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SqlDemonstration:
    """What the script does in one episode, decided before it begins."""

    query: str
    """Its first query."""
    tries: bool
    """Whether it runs that query before it answers."""
    stubborn: bool
    """Whether it answers with that query even where the database found fault with it."""

    @classmethod
    def of(cls, task: Task, seed: int) -> "SqlDemonstration":
        """The demonstration for a question, a function of the arguments alone.

        Args:
            task: of the generator "world_sql".
            seed: another seed gives another demonstration of the same task.

        Raises:
            TaskError: the task is none of that generator.
        """
        if task.source != "world_sql":
            raise TaskError(f"task {task.id!r} is no question about the world's database: set tasks.set to 'world_sql'")
        draws = Draws("demonstration", seed, task.id)
        faulty, tries, stubborn = (
            draws.below(100) < percent for percent in (FAULTY_PERCENT, TRYING_PERCENT, STUBBORN_PERCENT)
        )
        return cls(query=spoilt(task.gold, draws) if faulty else task.gold, tries=tries, stubborn=stubborn)

    def answer(self, task: Task, result: str) -> str:
        """The query that is answered with, once `result` is what trying the first one gave; "" where none was tried."""
        return task.gold if not self.stubborn and _FOUND_NOTHING.match(result) else self.query


class SqlDemonstrator(Script):
    """Acts out these demonstrations: in half of the episodes a query to try, then the query that is the answer."""

    def write(self, request: Request) -> tuple[str, bool]:
        """See `Script`."""
        demonstration = SqlDemonstration.of(request.task, self._seed)
        if request.turn == 1 and demonstration.tries:
            return self._protocol.write_call(Call("sql", {"query": demonstration.query})), False
        answer = demonstration.answer(request.task, request.last_result)
        return self._protocol.write_answer(answer).replace("\n", ""), True


def spoilt(sql: str, draws: Draws) -> str:
    """A query with one fault."""
    tokens = _TOKEN.findall(sql)
    faults: list[str] = []
    for others in _OTHERS:
        places = [place for place, token in enumerate(tokens) if others(token)]
        if places:
            place = draws.choice(places)
            other = draws.choice([other for other in others(tokens[place]) if other != tokens[place]])
            faults.append("".join((*tokens[:place], other, *tokens[place + 1 :])))
    head, where, tail = sql.partition(" WHERE ")
    if where:
        left, _, right = tail.partition(" AND ")
        faults.append(f"{head} WHERE {right or left}" if right else head)
    faults.append("".join(tokens[: draws.between(1, len(tokens) - 1)]).strip())
    faults.append(draws.choice(_COLUMNS))  # no query
    return draws.choice(faults)
