"""Maps and dice of FrozenLake with which the goal can be reached in the actions that an episode has."""

from collections.abc import Callable

from toolenvs.errors import TaskError
from toolenvs.games.frozen_lake import ACTIONS, draw_map, plan
from toolenvs.tasks.generated import Problem, require_whole_number
from toolenvs.tasks.seeding import SEEDS, Draws
from toolenvs.tasks.turns import in_turns

_MOST_DRAWS = 200


def make(
    *, side: int = 4, frozen: float = 0.8, slippery: bool = True, max_actions: int = 10, actions_per_turn: int = 5
) -> Callable[[Draws], Problem]:
    """The generator: a map, and the seed that says how the ice slips.

    `extra["kwargs"]` makes the environment, `extra["seed"]` resets it, and `extra["calls"]` reach the goal, as only who
    knew the dice could. Where no `max_actions` actions do, whatever one does, another map and other dice are drawn.

    Raises:
        ConfigError: side or frozen is out of range.
        TaskError: another option is.
    """
    require_whole_number(max_actions, "generator 'frozen_lake': max_actions", 1, 100)
    require_whole_number(actions_per_turn, "generator 'frozen_lake': actions_per_turn", 1, 100)
    draw_map(Draws("frozen_lake", "options"), side=side, frozen=frozen)  # that there is one

    def problem(draws: Draws) -> Problem:
        for _ in range(_MOST_DRAWS):
            rows, seed = draw_map(draws, side=side, frozen=frozen), draws.below(SEEDS)
            actions = plan(rows, seed, max_actions, slippery=slippery)
            if actions is not None:
                break
        else:
            raise TaskError(
                f"generator 'frozen_lake': none of {_MOST_DRAWS} maps lets the goal be reached in {max_actions} "
                "actions: allow more, or make the lake smaller"
            )
        extra = {
            "kwargs": {"desc": list(rows), "is_slippery": bool(slippery)},
            "seed": seed,
            "calls": in_turns([ACTIONS[action] for action in actions], actions_per_turn),
        }
        return Problem(question="\n".join((*rows, f"seed {seed}")), answer=None, extra=extra)

    return problem
