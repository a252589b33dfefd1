"""Puzzles of Countdown, each with an expression that solves it; see `toolenvs.games`."""

from collections.abc import Callable
from functools import partial

from toolenvs.games.countdown import draw_puzzle
from toolenvs.tasks.generated import Problem
from toolenvs.tasks.seeding import SEEDS, Draws


def make(
    *, min_numbers: int = 3, max_numbers: int = 4, largest: int = 99, operators: str = "+-*/"
) -> Callable[[Draws], Problem]:
    """The generator: numbers and a target of two digits; for the options see `toolenvs.games.countdown.draw_puzzle`.

    `extra["kwargs"]` makes the environment, `extra["seed"]` resets it, and `extra["calls"]` hold an expression.

    Raises:
        ConfigError: an option is out of range.
    """
    drawn = partial(draw_puzzle, min_numbers=min_numbers, max_numbers=max_numbers, largest=largest, operators=operators)
    drawn(Draws("countdown", "options"))  # that there is one

    def problem(draws: Draws) -> Problem:
        numbers, target, expression = drawn(draws)
        extra = {
            "kwargs": {"numbers": list(numbers), "target": target},
            "seed": draws.below(SEEDS),
            "calls": ({"actions": expression},),
        }
        return Problem(question=f"{', '.join(map(str, numbers))} -> {target}", answer=None, extra=extra)

    return problem
