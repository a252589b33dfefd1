"""Demonstrations for a cold start: a fallible scripted policy that solves arithmetic with the interpreter.

It acts in the real environment, so prompts, observations and masks are what the environment makes of them. It is meant
to be imperfect: a third of the time it guesses instead of calling the tool, some of its calls are wrong, and now and
then it does not believe the result. What a policy learns from it is the protocol; what pays is left to RL.
"""

import re
from dataclasses import dataclass

from toolenvs.errors import TaskError
from toolenvs.protocols.base import Call
from toolenvs.rollout.agent import Request
from toolenvs.tasks.seeding import Draws
from toolenvs.tasks.task import Task
from toolenvs.train.tiny.acting import Script

TOOL_PERCENT = 65
"""Demonstrations that call the interpreter."""
FAULTY_PERCENT = 15
"""Of those, calls whose program is wrong."""
IGNORING_PERCENT = 10
"""Of those, answers that are a guess in spite of the result."""

_NUMBER = re.compile(r"-?[0-9]+")
_OPERATORS = "+-*"


@dataclass(frozen=True, slots=True)
class Demonstration:
    """What the scripted policy does in one episode, decided before it begins."""

    program: str | None
    """What it has the interpreter run; None where it guesses at once."""
    believes: bool
    """Whether it answers with the interpreter's result."""
    guess: str
    """What it answers otherwise; never the right answer."""

    @classmethod
    def of(cls, task: Task, seed: int) -> "Demonstration":
        """The demonstration for an arithmetic task, a function of both arguments alone.

        Args:
            task: with one integer as its gold and, in `extra["program"]`, a program that prints it.
            seed: another seed gives another demonstration of the same task.

        Raises:
            TaskError: the task is none of the generator "arithmetic".
        """
        if task.source != "arithmetic":
            raise TaskError(f"task {task.id!r} is no arithmetic: set tasks.set to 'arithmetic' for demonstrations")
        draws = Draws("demonstration", seed, task.id)
        calls, faulty, ignores = (
            draws.below(100) < percent for percent in (TOOL_PERCENT, FAULTY_PERCENT, IGNORING_PERCENT)
        )
        program = task.extra["program"].replace(" ", "")
        return cls(
            program=(_spoilt(program, draws) if faulty else program) if calls else None,
            believes=not ignores,
            guess=_wrong(task.gold, draws),
        )

    def answer(self, result: str) -> str:
        """What is answered after a call: its result, if that is a number and believed, else the guess."""
        return result.strip() if self.believes and _NUMBER.fullmatch(result.strip()) else self.guess


class Demonstrator(Script):
    """Acts out demonstrations: a call in the first turn of most episodes, else an answer."""

    def write(self, request: Request) -> tuple[str, bool]:
        """See `Script`."""
        demonstration = Demonstration.of(request.task, self._seed)
        if request.turn == 1 and demonstration.program is not None:
            return self._protocol.write_call(Call("python", {"code": demonstration.program})), False
        answer = demonstration.answer(request.last_result)
        return self._protocol.write_answer(f"\\boxed{{{answer}}}"), True


def _spoilt(program: str, draws: Draws) -> str:
    """The program with one operator exchanged or a bracket too many."""
    if draws.below(2):
        return program + ")"
    place = draws.choice([place for place, character in enumerate(program) if character in _OPERATORS])
    other = draws.choice([operator for operator in _OPERATORS if operator != program[place]])
    return program[:place] + other + program[place + 1 :]


def _wrong(gold: str, draws: Draws) -> str:
    """A number of as many digits and the same sign, but another."""
    digits = len(gold.lstrip("-"))
    while True:
        number = draws.between(10 ** (digits - 1), 10**digits - 1)
        guess = f"-{number}" if gold.startswith("-") else str(number)
        if guess != gold:
            return guess
