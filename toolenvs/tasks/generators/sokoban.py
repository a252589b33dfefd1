"""Levels of Sokoban that can be solved within the moves that an episode has; see `toolenvs.games`."""

from collections.abc import Callable
from functools import partial

from toolenvs.games.sokoban_levels import draw_level
from toolenvs.tasks.generated import Problem, require_whole_number
from toolenvs.tasks.seeding import SEEDS, Draws
from toolenvs.tasks.turns import in_turns


def make(
    *,
    width: int = 6,
    height: int = 6,
    boxes: int = 1,
    min_moves: int = 1,
    max_moves: int = 10,
    actions_per_turn: int = 5,
) -> Callable[[Draws], Problem]:
    """The generator: the level is the question, in the usual notation.

    `extra["kwargs"]` makes the environment, `extra["seed"]` resets it, and `extra["calls"]` solve it in the fewest
    moves, `actions_per_turn` in each.

    Raises:
        ConfigError: an option is out of range.
    """
    require_whole_number(actions_per_turn, "generator 'sokoban': actions_per_turn", 1, 100)
    drawn = partial(draw_level, width=width, height=height, boxes=boxes, min_moves=min_moves, max_moves=max_moves)
    drawn(Draws("sokoban", "options"))  # that there is one

    def problem(draws: Draws) -> Problem:
        level, moves = drawn(draws)
        extra = {
            "kwargs": {"level": list(level.rows)},
            "seed": draws.below(SEEDS),
            "calls": in_turns(moves, actions_per_turn),
        }
        return Problem(question="\n".join(level.rows), answer=None, extra=extra)

    return problem
