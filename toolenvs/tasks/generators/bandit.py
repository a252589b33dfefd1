"""Bandits with two arms, by the arms' names and a seed; see `toolenvs.games`."""

from collections.abc import Callable, Sequence

from toolenvs.errors import TaskError
from toolenvs.games.bandit import Bandit
from toolenvs.tasks.generated import Problem
from toolenvs.tasks.seeding import SEEDS, Draws


def make(*, arms: Sequence[Sequence[str]] = (("Phoenix", "Dragon"),)) -> Callable[[Draws], Problem]:
    """The generator: one of the pairs of `arms`, the low one first, and a seed that says their order and what they pay.

    RAGEN tests with ("Trader", "Librarian"), and with the names of its training the other way round.

    `extra["kwargs"]` makes the environment, `extra["seed"]` resets it, and `extra["calls"]` pull the high arm.

    Raises:
        TaskError: `arms` are no pairs of names.
        ConfigError: a pair has one name twice.
    """
    if isinstance(arms, str) or not arms:
        raise TaskError(f"generator 'bandit': arms is {arms!r:.80}; give pairs, such as [['Phoenix', 'Dragon']]")
    for pair in arms:
        if isinstance(pair, str) or len(pair) != 2 or not all(isinstance(name, str) for name in pair):
            raise TaskError(
                f"generator 'bandit': arms: {pair!r:.80} is no pair; give the low arm's name and the high's"
            )
        Bandit(*pair)

    def problem(draws: Draws) -> Problem:
        (low, high), seed = draws.choice(arms), draws.below(SEEDS)
        extra = {"kwargs": {"low": low, "high": high}, "seed": seed, "calls": ({"actions": high},)}
        return Problem(question=f"{' and '.join(sorted((low, high)))}, seed {seed}", answer=None, extra=extra)

    return problem
