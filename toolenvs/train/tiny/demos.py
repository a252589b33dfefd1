"""Demonstrations for a cold start: a fallible scripted policy that solves arithmetic with the interpreter.

It acts in the real environment, so prompts, observations and masks are what the environment makes of them. It is meant
to be imperfect: a third of the time it guesses instead of calling the tool, some of its calls are wrong, and now and
then it does not believe the result. What a policy learns from it is the protocol; what pays is left to RL.
"""

import re
from dataclasses import dataclass

from toolenvs.tasks.seeding import Draws
from toolenvs.tasks.task import Task

TOOL_PERCENT = 65
"""Demonstrations that call the interpreter."""
FAULTY_PERCENT = 15
"""Of those, calls whose program is wrong."""
IGNORING_PERCENT = 10
"""Of those, answers that are a guess in spite of the result."""

_CALL = "<code>\n```python\n{program}\n```\n</code>"
_ANSWER = "<answer>\n\\boxed{{{answer}}}\n</answer>"
_RESULT = re.compile(r"^-?[0-9]+$", re.MULTILINE)
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
        """
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

    def first_turn(self) -> str:
        """A call, or the guess."""
        return self._answer(self.guess) if self.program is None else _CALL.format(program=self.program)

    def next_turn(self, observation: str) -> str:
        """The answer after an observation: the number on a line of its own, if there is one and it is believed."""
        result = _RESULT.search(observation)
        return self._answer(result.group() if self.believes and result else self.guess)

    @staticmethod
    def _answer(answer: str) -> str:
        return _ANSWER.format(answer=answer)


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
