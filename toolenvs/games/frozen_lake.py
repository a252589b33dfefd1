"""Gymnasium's FrozenLake for who reads: maps with a way to the goal, the lake as symbols, and what the dice allow.

The environment itself is Gymnasium's own, `FrozenLake-v1`. As RAGEN's, a map has its start and its goal anywhere.
"""

from collections.abc import Sequence
from typing import Any

import gymnasium
from gymnasium.utils import seeding

from toolenvs.errors import ConfigError
from toolenvs.tasks.seeding import Draws

ACTIONS = ("Left", "Down", "Right", "Up")
"""Gymnasium's actions, in order."""
_STEPS = ((0, -1), (1, 0), (0, 1), (-1, 0))
_TO_A_SIDE = 1 / 3
"""How likely a step slips to its one side, and to its other; Gymnasium draws these in the order of the actions."""
_ICE, _HOLE, _GOAL, _PLAYER, _FALLEN, _ARRIVED = "_OGPX√"
_SHOWN = {b"S": _ICE, b"F": _ICE, b"H": _HOLE, b"G": _GOAL}
_HERE = {b"H": _FALLEN, b"G": _ARRIVED}
_LEAST_SIDE, _MOST_SIDE = 2, 16


def draw_map(draws: Draws, *, side: int = 4, frozen: float = 0.8) -> tuple[str, ...]:
    """A square map, rows of `S` start, `F` ice, `H` hole and `G` goal, with a way that meets no hole.

    Args:
        draws: where its chance comes from.
        side: cells of a side, 2 to 16.
        frozen: how likely a cell is ice, above 0, to 1.

    Raises:
        ConfigError: an option is out of range.
    """
    if not isinstance(side, int) or isinstance(side, bool) or not _LEAST_SIDE <= side <= _MOST_SIDE:
        raise ConfigError(f"FrozenLake: side is {side!r}; give {_LEAST_SIDE} to {_MOST_SIDE}, a whole number")
    if not isinstance(frozen, int | float) or not 0 < frozen <= 1:
        raise ConfigError(f"FrozenLake: frozen is {frozen!r}; give a share above 0, at most 1")
    cells = [(row, column) for row in range(side) for column in range(side)]
    while True:  # the goal lies beside the start often enough
        kinds = {cell: "F" if draws.below(10**6) < frozen * 10**6 else "H" for cell in cells}
        start, goal = draws.sample(cells, 2)
        kinds[start], kinds[goal] = "S", "G"
        seen, frontier = {start}, [start]
        while frontier:
            row, column = frontier.pop()
            for cell in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
                if cell not in seen and kinds.get(cell, "H") != "H":
                    seen.add(cell)
                    frontier.append(cell)
        if goal in seen:
            return tuple("".join(kinds[row, column] for column in range(side)) for row in range(side))


def plan(rows: Sequence[str], seed: int, most: int, *, slippery: bool = True) -> list[int] | None:
    """The fewest actions that reach the goal after `reset(seed=seed)`, knowing how the ice will slip; None for none.

    What one step draws does not depend on where it is taken, so that the draws of a seed can be known beforehand.

    Args:
        rows: the map.
        seed: of the environment's reset.
        most: actions, at most.
        slippery: as the environment is made.
    """
    kinds = {(row, column): kind for row, line in enumerate(rows) for column, kind in enumerate(line)}
    random, _ = seeding.np_random(seed)
    random.random()  # the reset draws where it begins
    reached: dict[tuple[int, int], list[int]] = {next(cell for cell in kinds if kinds[cell] == "S"): []}
    for _ in range(most):
        draw = random.random()
        slip = (-1 if draw < _TO_A_SIDE else 0 if draw < 1 - _TO_A_SIDE else 1) if slippery else 0
        following: dict[tuple[int, int], list[int]] = {}
        for (row, column), actions in reached.items():
            for action in range(len(ACTIONS)):
                down, right = _STEPS[(action + slip) % len(ACTIONS)]
                after = (row + down, column + right)
                after = after if after in kinds else (row, column)
                if kinds[after] == "G":
                    return [*actions, action]
                if kinds[after] != "H":
                    following.setdefault(after, [*actions, action])
        reached = following
    return None


def render(env: gymnasium.Env[Any, Any], observation: Any) -> str:
    """The lake as symbols: `P` player, `_` ice, `O` hole, `G` goal, `X` player in a hole, `√` player at the goal.

    Args:
        env: Gymnasium's environment, in whatever wrappers.
        observation: the player's cell.
    """
    lake: Any = env.unwrapped
    here = divmod(int(observation), lake.ncol)
    return "\n".join(
        " ".join(
            _HERE.get(bytes(kind), _PLAYER) if (row, column) == here else _SHOWN[bytes(kind)]
            for column, kind in enumerate(kinds)
        )
        for row, kinds in enumerate(lake.desc)
    )
