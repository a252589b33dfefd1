"""Levels of Sokoban: read, drawn from a seed so that each can be solved, and solved in the fewest moves.

A level is drawn backwards. From every state in which all boxes stand on the targets, moves are undone one by one; the
number of undone moves is then the length of the shortest solution, exactly, and the level begins in a state of the
length that is wanted.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from toolenvs.errors import ConfigError
from toolenvs.tasks.seeding import Draws

Cell = tuple[int, int]
"""Row and column."""
State = tuple[Cell, frozenset[Cell]]
"""Where the player stands, and the boxes."""

MOVES: dict[str, Cell] = {"Up": (-1, 0), "Down": (1, 0), "Left": (0, -1), "Right": (0, 1)}
"""Each move's step, in the order of the environment's actions."""
_KINDS = "# .*$@+"
"""Wall, floor, target, box on a target, box, player, player on a target: the usual notation of levels."""
_STEPS_PER_SIDE = 1.7
_TURNS_OF_100 = 35
"""How long the walk is that carves a room, and how often it turns: as gym-sokoban's."""
_CARVED: tuple[tuple[Cell, ...], ...] = (
    ((0, -1), (0, 1)),
    ((-1, 0), (1, 0)),
    ((0, -1), (1, 0)),
    ((0, 1), (1, 0)),
    ((0, -1), (1, -1), (1, 0)),
)
"""What is carved beside the cell that the walk stands on."""
_MOST_ROOMS = 1_000
_MOST_MOVES = 100
"""Where nothing is said, a level takes no more: a search needs an end."""
_LEAST_SIDE, _MOST_SIDE, _MOST_BOXES = 4, 16, 4


@dataclass(frozen=True, slots=True)
class Level:
    """A level as it begins."""

    height: int
    width: int
    floor: frozenset[Cell]
    """Every cell that is no wall."""
    targets: frozenset[Cell]
    boxes: frozenset[Cell]
    player: Cell

    @property
    def rows(self) -> tuple[str, ...]:
        """In the usual notation: `#` wall, `.` target, `$` box, `*` box on a target, `@` player, `+` player on one."""
        return tuple(
            "".join(_KINDS[self.kind((row, column), self.player, self.boxes)] for column in range(self.width))
            for row in range(self.height)
        )

    def kind(self, cell: Cell, player: Cell, boxes: frozenset[Cell]) -> int:
        """What stands there: 0 wall, 1 floor, 2 target, 3 box on a target, 4 box, 5 player, 6 player on a target."""
        if cell not in self.floor:
            return 0
        on_target = cell in self.targets
        if cell in boxes:
            return 3 if on_target else 4
        if cell == player:
            return 6 if on_target else 5
        return 2 if on_target else 1

    def move(self, state: State, step: Cell) -> State:
        """The state after a step; the same one where a wall, or a box that cannot be pushed, is in the way."""
        player, boxes = state
        ahead = (player[0] + step[0], player[1] + step[1])
        if ahead not in self.floor:
            return state
        if ahead not in boxes:
            return ahead, boxes
        beyond = (ahead[0] + step[0], ahead[1] + step[1])
        if beyond not in self.floor or beyond in boxes:
            return state
        return ahead, boxes - {ahead} | {beyond}


def read_level(rows: Sequence[str]) -> Level:
    """A level in the usual notation; see `Level.rows`. What is not drawn at the end of a row is wall.

    Raises:
        ConfigError: it is none: another character, not one player, or not as many boxes as targets.
    """
    if isinstance(rows, str):
        rows = rows.splitlines()
    cells = {(y, x): kind for y, row in enumerate(rows) for x, kind in enumerate(row)}
    strange = sorted({kind for kind in cells.values() if kind not in _KINDS})
    if strange:
        raise ConfigError(f"level: {strange[0]!r} is nothing in Sokoban; write it with {_KINDS!r}")
    floor, targets, boxes, players = (
        frozenset(cell for cell, kind in cells.items() if kind in kinds) for kinds in (" .*$@+", ".*+", "*$", "@+")
    )
    if len(players) != 1 or not boxes or len(boxes) != len(targets):
        found = f"{len(players)} players, {len(boxes)} boxes and {len(targets)} targets"
        raise ConfigError(f"level: it has {found}; one player, and a target for each of its boxes, are needed")
    return Level(len(rows), max(map(len, rows)), floor, targets, boxes, next(iter(players)))


def solve(level: Level, most: int = _MOST_MOVES) -> list[str] | None:
    """The fewest moves that solve a level, by name; None where more than `most` are needed, or none do."""
    return _descend(level, _distances(level.floor, level.targets, most))


def draw_level(
    draws: Draws, *, width: int = 6, height: int = 6, boxes: int = 1, min_moves: int = 1, max_moves: int | None = None
) -> tuple[Level, list[str]]:
    """A level with a wall around it, and the fewest moves that solve it. No box stands on a target when it begins.

    Args:
        draws: where its chance comes from.
        width: columns, walls included.
        height: rows, walls included.
        boxes: how many.
        min_moves: moves of the shortest solution, at least.
        max_moves: at most; None for 100.

    Raises:
        ConfigError: a number is out of range, or no such level was found.
    """
    most = _MOST_MOVES if max_moves is None else max_moves
    for name, value, low, high in (
        ("width", width, _LEAST_SIDE, _MOST_SIDE),
        ("height", height, _LEAST_SIDE, _MOST_SIDE),
        ("boxes", boxes, 1, _MOST_BOXES),
        ("min_moves", min_moves, 1, _MOST_MOVES),
        ("max_moves", most, min_moves, _MOST_MOVES),
    ):
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise ConfigError(f"Sokoban: {name} is {value!r}; give {low} to {high}, a whole number")
    for _ in range(_MOST_ROOMS):
        floor = sorted(_carve(draws, width, height))
        if len(floor) < 2 * boxes + 1:
            continue
        targets = frozenset(draws.sample(floor, boxes))
        distances = _distances(frozenset(floor), targets, most)
        fit = [state for state, moves in distances.items() if moves >= min_moves and not state[1] & targets]
        if not fit:
            continue
        length = draws.choice(sorted({distances[state] for state in fit}))
        starts = sorted((player, sorted(at)) for player, at in fit if distances[player, at] == length)
        player, at = draws.choice(starts)
        level = Level(height, width, frozenset(floor), targets, frozenset(at), player)
        moves = _descend(level, distances)
        assert moves is not None
        return level, moves
    raise ConfigError(
        f"Sokoban: of {_MOST_ROOMS} rooms of {width} x {height} none takes {min_moves} to {most} moves with {boxes} "
        "boxes: take a larger room, fewer boxes or other lengths"
    )


def _carve(draws: Draws, width: int, height: int) -> set[Cell]:
    """The floor that a random walk leaves, inside the outer wall."""
    row, column = draws.between(1, height - 2), draws.between(1, width - 2)
    steps = list(MOVES.values())
    step, floor = draws.choice(steps), {(row, column)}
    for _ in range(int(_STEPS_PER_SIDE * (width + height))):
        if draws.below(100) < _TURNS_OF_100:
            step = draws.choice(steps)
        row, column = min(max(row + step[0], 1), height - 2), min(max(column + step[1], 1), width - 2)
        around = ((row + y, column + x) for y, x in ((0, 0), *draws.choice(_CARVED)))
        floor.update((y, x) for y, x in around if 0 < y < height - 1 and 0 < x < width - 1)
    return floor


def _distances(floor: frozenset[Cell], targets: frozenset[Cell], most: int) -> dict[State, int]:
    """Every state that is solved by at most `most` moves, and by how few."""
    found: dict[State, int] = {(player, targets): 0 for player in floor - targets}
    frontier: Iterable[State] = list(found)
    for moves in range(1, most + 1):
        following: list[State] = []
        for state in frontier:
            for earlier in _undone(floor, state):
                if earlier not in found:
                    found[earlier] = moves
                    following.append(earlier)
        if not following:
            break
        frontier = following
    return found


def _undone(floor: frozenset[Cell], state: State) -> Iterable[State]:
    """The states that one move leads from to this one: the player steps back, and may have pushed what is before it."""
    (row, column), boxes = state
    for y, x in MOVES.values():
        before, ahead = (row - y, column - x), (row + y, column + x)
        if before not in floor or before in boxes:
            continue
        yield before, boxes
        if ahead in boxes:
            yield before, boxes - {ahead} | {(row, column)}


def _descend(level: Level, distances: dict[State, int]) -> list[str] | None:
    state: State = (level.player, level.boxes)
    if state not in distances:
        return None
    moves: list[str] = []
    while (left := distances[state]) > 0:
        name, state = next(
            (name, after)
            for name, step in MOVES.items()
            if distances.get(after := level.move(state, step), left) == left - 1
        )
        moves.append(name)
    return moves
