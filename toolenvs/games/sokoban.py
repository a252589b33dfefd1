"""Sokoban: push every box onto a target. Boxes cannot be pulled, so that a wrong push may be the end of it.

The rewards are gym-sokoban's, which RAGEN's agents play for: -0.1 a step, 1 for a box that comes onto a target and -1
for one that leaves it, and 10 once all stand there.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from toolenvs.errors import ConfigError
from toolenvs.games.sokoban_levels import MOVES, Level, State, draw_level, read_level
from toolenvs.tasks.seeding import Draws

_STEP, _BOX, _SOLVED = -0.1, 1.0, 10.0
_MOVES = tuple(MOVES.values())
_KINDS = 7


class Sokoban(gymnasium.Env[NDArray[np.uint8], int]):
    """One level, or another one at each reset.

    Observation: a grid [height, width] of uint8, 0 wall, 1 floor, 2 target, 3 box on a target, 4 box, 5 player, 6 the
    player on a target. Action: 0 up, 1 down, 2 left, 3 right. `info["success"]` says whether all boxes are on targets,
    which ends the episode; `info["moved"]` whether the player did.

    Args:
        level: rows in the usual notation, see `read_level`; None for one that is drawn at each reset.
        width: columns of a drawn level, walls included.
        height: its rows.
        boxes: how many boxes it has.
        min_moves: moves of its shortest solution, at least.
        max_moves: at most; None for 100.
        max_steps: after so many steps an episode is truncated.
        symbols: how "ansi" draws the seven kinds of cells, in the order of the observation's numbers.
        render_mode: "ansi" or None.

    Raises:
        ConfigError: the level is none, or a number is out of range.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 1}  # noqa: RUF012
    action_names = tuple(MOVES)
    """Name of each action, in order."""

    def __init__(
        self,
        level: Sequence[str] | None = None,
        *,
        width: int = 6,
        height: int = 6,
        boxes: int = 1,
        min_moves: int = 1,
        max_moves: int | None = None,
        max_steps: int = 100,
        symbols: str = "#_O√XPS",
        render_mode: str | None = None,
    ) -> None:
        if len(set(symbols)) != _KINDS:
            raise ConfigError(f"Sokoban: symbols {symbols!r}: {_KINDS} different characters are needed")
        if max_steps < 1:
            raise ConfigError(f"Sokoban: max_steps is {max_steps}; at least 1 is needed")
        self.render_mode = render_mode
        self._drawn: Mapping[str, Any] = {
            "width": width, "height": height, "boxes": boxes, "min_moves": min_moves, "max_moves": max_moves,
        }  # fmt: skip
        self._given = None if level is None else read_level(level)
        self._symbols, self._max_steps = symbols, max_steps
        self._level = self._given or draw_level(Draws("sokoban"), **self._drawn)[0]  # until the first reset
        self._state: State = (self._level.player, self._level.boxes)
        self._steps = 0
        shape = (self._level.height, self._level.width)
        self.observation_space = gymnasium.spaces.Box(0, _KINDS - 1, shape, np.uint8)
        self.action_space = gymnasium.spaces.Discrete(len(MOVES))  # type: ignore[assignment]

    @property
    def level(self) -> Level:
        """The level as it began."""
        return self._level

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        """Begin the level again, or draw another one."""
        super().reset(seed=seed)
        if self._given is None:
            self._level = draw_level(Draws("sokoban", int(self.np_random.integers(2**62))), **self._drawn)[0]
        self._state, self._steps = (self._level.player, self._level.boxes), 0
        return self._grid(), {"success": self._left == 0, "moved": False}

    def step(self, action: int) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        """Move, and push the box that is in the way."""
        left, state = self._left, self._state
        self._state = self._level.move(state, _MOVES[int(action)])
        self._steps += 1
        solved = self._left == 0
        reward = _STEP + _BOX * (left - self._left) + _SOLVED * solved
        truncated = self._steps >= self._max_steps and not solved
        return self._grid(), reward, solved, truncated, {"success": solved, "moved": self._state[0] != state[0]}

    @property
    def _left(self) -> int:
        """Boxes that stand on no target."""
        return len(self._state[1] - self._level.targets)

    def _grid(self) -> NDArray[np.uint8]:
        level = self._level
        cells = [[level.kind((y, x), *self._state) for x in range(level.width)] for y in range(level.height)]
        return np.array(cells, dtype=np.uint8)

    def render(self) -> str | None:
        """The grid as symbols with spaces between them, where the mode is "ansi"."""
        if self.render_mode != "ansi":
            return None
        return "\n".join(" ".join(self._symbols[kind] for kind in row) for row in self._grid().tolist())
